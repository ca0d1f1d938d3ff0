package deep_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/graph/agent/deep"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/llmtest"
	"github.com/weft-go/weft/state"
	"github.com/weft-go/weft/tools"
)

// The tools give the same answers with every implementation of Files.
func TestToolsOverEachKindOfFiles(t *testing.T) {
	t.Parallel()
	type in map[string]any
	long := strings.Repeat("y", 3000)
	steps := []struct {
		tool string
		in   in
		want string
		fail bool
	}{
		{deep.ListTool, in{}, "The folder has no files.", false},
		{deep.WriteTool, in{"file_path": "p/notes/a.md", "content": "one\ntwo\ntwo\n"}, "Wrote /p/notes/a.md, 12 bytes.", false},
		{deep.WriteTool, in{"file_path": "/p/./notes//b.go", "content": "package b"}, "Wrote /p/notes/b.go, 9 bytes.", false},
		{deep.WriteTool, in{"file_path": "/p/top.md", "content": ""}, "Wrote /p/top.md, 0 bytes.", false},
		{deep.WriteTool, in{"file_path": "/p/long", "content": long}, "Wrote /p/long, 3000 bytes.", false},
		{deep.ListTool, in{"path": "/p"}, "/p/long (3000 bytes)\n/p/notes/\n/p/top.md (0 bytes)", false},
		{deep.ListTool, in{"path": "/none"}, "The folder has no files.", false},
		{deep.ReadTool, in{"file_path": "/p/notes/a.md"}, "1\tone\n2\ttwo\n3\ttwo", false},
		{deep.ReadTool, in{"file_path": "/p/notes/a.md", "offset": 1, "limit": 1}, "2\ttwo\n… 1 more lines; continue with offset 2", false},
		{deep.ReadTool, in{"file_path": "/p/notes/a.md", "offset": 3}, "/p/notes/a.md has 3 lines; offset is 3", true},
		{deep.ReadTool, in{"file_path": "/p/top.md"}, "The file is empty.", false},
		{deep.ReadTool, in{"file_path": "/p/long"}, "1\t" + long[:2000] + "… (1000 more bytes; continue with offset 0 and column 2000)", false},
		{deep.ReadTool, in{"file_path": "/p/long", "column": 2000}, "1\t" + long[2000:], false},
		{deep.ReadTool, in{"file_path": "/p/long", "column": 3001}, "line 1 of /p/long has 3000 bytes; column is 3001", true},
		{deep.ReadTool, in{"file_path": "/p/notes/a.md", "offset": 1, "limit": math.MaxInt}, "2\ttwo\n3\ttwo", false},
		{deep.ReadTool, in{"file_path": "/p/none"}, "/p/none: file does not exist; find its name with ls or glob", true},
		{deep.EditTool, in{"file_path": "/p/notes/a.md", "old_string": "two", "new_string": "2"}, "old_string is 2 times in /p/notes/a.md; add lines around it, or set replace_all", true},
		{deep.EditTool, in{"file_path": "/p/notes/a.md", "old_string": "none", "new_string": "2"}, "old_string is not in /p/notes/a.md; read the file again, and copy the text without line numbers", true},
		{deep.EditTool, in{"file_path": "/p/notes/a.md", "old_string": "", "new_string": "2"}, "old_string is empty; write a whole file with write_file", true},
		{deep.EditTool, in{"file_path": "/p/notes/a.md", "old_string": "two", "new_string": "2", "replace_all": true}, "Edited /p/notes/a.md: 2 replaced.", false},
		{deep.ReadTool, in{"file_path": "/p/notes/a.md"}, "1\tone\n2\t2\n3\t2", false},
		{deep.GlobTool, in{"pattern": "**/*.md"}, "/p/notes/a.md\n/p/top.md", false},
		{deep.GlobTool, in{"pattern": "*.{go,md}", "path": "/p/notes"}, "/p/notes/a.md\n/p/notes/b.go", false},
		{deep.GlobTool, in{"pattern": "*"}, "No file matches.", false},
		{deep.GlobTool, in{"pattern": "[" /* not closed */}, `"[" is not a valid pattern`, true},
		{deep.GrepTool, in{"pattern": "^(one|pack)"}, "/p/notes/a.md:1: one\n/p/notes/b.go:1: package b", false},
		{deep.GrepTool, in{"pattern": "2", "path": "/p/notes/a.md"}, "/p/notes/a.md:2: 2\n/p/notes/a.md:3: 2", false},
		{deep.GrepTool, in{"pattern": "b", "glob": "**/*.md"}, "No line matches.", false},
		{deep.GrepTool, in{"pattern": "("}, "error parsing regexp: missing closing ): `(`", true},
		{deep.WriteTool, in{"file_path": "/", "content": "x"}, `"/": not the name of a file: it is a folder`, true},
		{deep.WriteTool, in{"file_path": "../x", "content": "x"}, `"../x": not the name of a file: it has ".."; name the file from the root, such as /notes/a.md`, true},
		{deep.ReadTool, in{"file_path": "a\\b"}, `"a\\b": not the name of a file: it has a backslash; separate folders by /`, true},
		{deep.ReadTool, in{"file_path": "a\u202eb"}, `"a\u202eb": not the name of a file: it has an invisible character`, true},
	}
	root, err := os.OpenRoot(t.TempDir())
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, root.Close()) })
	project, err := os.OpenRoot(t.TempDir())
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, project.Close()) })
	for name, files := range map[string]deep.Files{
		"state": deep.State(), "folder": deep.Dir(root),
		"mounted": deep.Mount(deep.State(), map[string]deep.Files{"/p/notes": deep.Dir(project)}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			call := callTools(t, deep.FileTools(files))
			for _, s := range steps {
				answer := call(toolCall(s.tool, s.in))[0]
				want := strings.ReplaceAll(s.want, "file does not exist", fs.ErrNotExist.Error())
				if s.fail {
					assert.Contains(t, answer.Text(), want)
				} else {
					assert.Equal(t, want, answer.Text(), "%s %v", s.tool, s.in)
				}
				assert.Equal(t, s.fail, answer.Status == llm.StatusError, "%s %v", s.tool, s.in)
			}
		})
	}
}

// If one reply changes a file several times, only the first change is made.
func TestOneChangeOfAFileInAReply(t *testing.T) {
	t.Parallel()
	call := callTools(t, deep.FileTools(deep.State()))
	answers := call(
		toolCall(deep.WriteTool, map[string]any{"file_path": "/a", "content": "first"}),
		toolCall(deep.WriteTool, map[string]any{"file_path": "//a/.", "content": "second"}),
		toolCall(deep.WriteTool, map[string]any{"file_path": "/b", "content": "other"}))
	assert.Equal(t, "Wrote /a, 5 bytes.", answers[0].Text())
	assert.Equal(t, "Not done: another call of this reply changes /a. Read the file, then make this change.", answers[1].Text())
	assert.Equal(t, llm.StatusError, answers[1].Status)
	assert.Equal(t, "Wrote /b, 5 bytes.", answers[2].Text())
	assert.Equal(t, "1\tfirst", call(toolCall(deep.ReadTool, map[string]any{"file_path": "/a"}))[0].Text())
}

func TestResultsAreBounded(t *testing.T) {
	t.Parallel()
	call := callTools(t, deep.FileTools(deep.State()))
	var text strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&text, "match %d %s\n", i, strings.Repeat("x", 150))
	}
	call(toolCall(deep.WriteTool, map[string]any{"file_path": "/a", "content": text.String()}))
	for _, c := range []llm.ToolCall{
		toolCall(deep.ReadTool, map[string]any{"file_path": "/a", "limit": 3000}), toolCall(deep.GrepTool, map[string]any{"pattern": "match"}),
	} {
		answer := call(c)[0].Text()
		assert.Less(t, len(answer), 45_000)
		assert.Contains(t, answer, "more", c.Name)
	}
	var calls []llm.ToolCall
	for i := range 1100 {
		calls = append(calls, toolCall(deep.WriteTool, map[string]any{"file_path": fmt.Sprint("/many/", i), "content": ""}))
	}
	call(calls...)
	assert.Contains(t, call(toolCall(deep.ListTool, map[string]any{"path": "/many"}))[0].Text(), "\n… and 100 more")
}

func TestMountNeedsFolders(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"", "/", "/../a"} {
		assert.Panics(t, func() { deep.Mount(deep.State(), map[string]deep.Files{name: deep.State()}) }, name)
	}
}

// A mounted tree hides the files of the root in its folder.
func TestMountedTreeHidesTheRoot(t *testing.T) {
	t.Parallel()
	below, err := os.OpenRoot(t.TempDir())
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, below.Close()) })
	above, err := os.OpenRoot(t.TempDir())
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, above.Close()) })
	require.NoError(t, errors.Join(above.Mkdir("p", 0o755), above.WriteFile("p/hidden", []byte("x"), 0o644), above.WriteFile("px", []byte("x"), 0o644), below.WriteFile("seen", []byte("x"), 0o644)))
	files := deep.Mount(deep.Dir(above), map[string]deep.Files{"/p": deep.Dir(below)})
	list, err := files.List(t.Context(), nil, "/")
	require.NoError(t, err)
	assert.Equal(t, []deep.File{{Name: "/p/seen", Size: 1}, {Name: "/px", Size: 1}}, list)
	_, err = files.Read(t.Context(), nil, "/p/hidden")
	require.ErrorIs(t, err, fs.ErrNotExist)
}

// A moved result is in its file, and the images and writes of the tool are kept.
func TestLongResultsAreMoved(t *testing.T) {
	t.Parallel()
	var reported atomic.Int32
	reports := state.Sum[int]("reports")
	long := strings.Repeat("é", 9000)
	tool := tools.New("report", "Reports.", func(_ context.Context, in struct{ Long bool }) (tools.Result, error) {
		r := tools.Result{
			Text: "short", Parts: []llm.Part{llm.Text("part"), llm.ImageURL("https://example.com/a.png")},
			Update: state.Update{reports.Put(1)},
		}
		if in.Long {
			r.Text = long
		}
		return r, nil
	})
	call := callTools(t, deep.FileTools(deep.State()), deep.MoveResults(deep.State(), deep.Results{Folder: "r"}), agent.Middleware{
		Tools: []tools.Tool{tool}, Channels: []state.Handle{reports},
		Prompt: func(_ context.Context, r agent.Run) (string, error) {
			reported.Store(int32(reports.Get(r.State)))
			return "", nil
		},
	})
	answers := call(toolCall("report", map[string]any{"Long": true}), toolCall("report", map[string]any{"Long": false}))
	assert.Contains(t, answers[0].Text(), "bytes and is in the file /r/")
	assert.Less(t, len(answers[0].Text()), 1200)
	assert.Equal(t, "shortpart", answers[1].Text())
	for _, answer := range answers {
		assert.Equal(t, "https://example.com/a.png", answer.Parts[len(answer.Parts)-1].URL)
	}
	assert.Equal(t, int32(2), reported.Load(), "writes of the tool")
	names := call(toolCall(deep.GlobTool, map[string]any{"pattern": "r/*"}))[0].Text()
	assert.Contains(t, answers[0].Text(), names)
	found := call(toolCall(deep.GrepTool, map[string]any{"pattern": "^é+part$|^é+$", "path": names}))[0].Text()
	assert.Contains(t, found, names+":1: éé")
}

func TestSkillsAreDescribed(t *testing.T) {
	t.Parallel()
	model := llmtest.NewScript(llmtest.Say("ok"))
	a, err := agent.New("a", model, nil, agent.Options{
		Use:   []agent.Middleware{deep.Skills(deep.State(), "/skills", "none")},
		Graph: graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})},
	})
	require.NoError(t, err)
	guide, err := os.ReadFile("testdata/release-notes/SKILL.md") // docs/deep.md shows it
	require.NoError(t, err)
	input := []string{
		"/skills/release-notes/SKILL.md", string(guide),
		"/skills/good/SKILL.md", "---\r\nname: good\r\ndescription: >\r\n  Two\r\n  lines\u202e.\r\nlicense: MIT\r\n---\r\nDo it.",
		"/skills/bad/SKILL.md", "no front matter",
		"/skills/worse/SKILL.md", "---\nname: [\n---\n",
		"/skills/empty/SKILL.md", "---\nname: empty\n---\n",
		"/skills/deep/er/SKILL.md", "---\nname: not here\ndescription: x\n---\n",
		"/skills/good/other.md", "---\nname: not this\ndescription: x\n---\n",
	}
	thread := a.Thread("1")
	for i := 0; i < len(input); i += 2 {
		u, err := deep.State().Write(t.Context(), nil, input[i], input[i+1])
		require.NoError(t, err)
		_, err = thread.Update(t.Context(), graph.Start, u...)
		require.NoError(t, err)
	}
	_, err = thread.Invoke(t.Context(), agent.Messages.Put(llm.User("go")))
	require.NoError(t, err)
	prompt := model.Requests()[0].Messages[0].Text()
	lines := strings.Split(prompt, "\n")
	require.Len(t, lines, 6, prompt)
	assert.Contains(t, prompt, "\n- release-notes: How to write the release notes of this project. (/skills/release-notes/SKILL.md)\n")
	assert.Contains(t, prompt, "\n- good: Two lines")
	assert.NotContains(t, prompt, "\u202e")
	assert.Contains(t, prompt, "- bad: This skill cannot be used: SKILL.md does not begin with front matter")
	assert.Contains(t, prompt, "- worse: This skill cannot be used: yaml:")
	assert.Contains(t, prompt, "- empty: This skill cannot be used: the front matter of SKILL.md needs a name and a description")
}

// brokenFiles is a Files in which some files cannot be read.
type brokenFiles struct {
	deep.Files
	broken map[string]error
}

func (f brokenFiles) List(context.Context, state.View, string) (list []deep.File, err error) {
	for name := range f.broken {
		list = append(list, deep.File{Name: name})
	}
	return list, nil
}

func (f brokenFiles) Read(_ context.Context, _ state.View, name string) (string, error) {
	if err := f.broken[name]; err != nil {
		return "", err
	}
	return "\ufeff---\nname: " + strings.Repeat("n", 5000) + "\ndescription: Long.\n---\n", nil
}

// The prompt says why a skill cannot be read, and has only the beginning of a long description.
func TestBrokenSkillsAreToldApart(t *testing.T) {
	t.Parallel()
	files := brokenFiles{deep.State(), map[string]error{
		"/skills/binary/SKILL.md": deep.ErrNotText, "/skills/large/SKILL.md": deep.ErrTooLarge, "/skills/locked/SKILL.md": fs.ErrPermission,
		"/skills/gone/SKILL.md": fs.ErrNotExist, "/skills/long/SKILL.md": nil,
	}}
	model := llmtest.NewScript(llmtest.Say("ok"))
	a, err := agent.New("a", model, nil, agent.Options{Use: []agent.Middleware{deep.Skills(files, "/skills")}})
	require.NoError(t, err)
	_, err = a.Invoke(t.Context(), agent.Messages.Put(llm.User("go")))
	require.NoError(t, err)
	prompt := model.Requests()[0].Messages[0].Text()
	for _, name := range []string{"binary", "large", "locked"} {
		assert.Contains(t, prompt, "- "+name+": This skill cannot be used: ")
	}
	assert.NotContains(t, prompt, "gone")
	assert.Contains(t, prompt, ": Long. (/skills/long/SKILL.md)")
	assert.Less(t, len(prompt), 1000)
}

// New returns an error, and Skills and MoveResults panic, for a text that is not the name of a folder.
func TestFoldersAreCheckedWhenTheAgentIsMade(t *testing.T) {
	t.Parallel()
	_, err := deep.New("a", llmtest.NewScript(), deep.Options{Skills: []string{"/skills", "../secrets"}})
	require.ErrorIs(t, err, deep.ErrName)
	require.ErrorContains(t, err, "Options.Skills")
	assert.PanicsWithValue(t, `deep: Skills: "../x" is not the name of a folder`, func() { deep.Skills(deep.State(), "../x") })
	assert.PanicsWithValue(t, `deep: MoveResults: "../x" is not the name of a folder`, func() { deep.MoveResults(deep.State(), deep.Results{Folder: "../x"}) })
}
