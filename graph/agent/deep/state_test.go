package deep_test

import (
	"context"
	"fmt"
	"io/fs"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/checkpoint/sqlitecheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/graph/agent/deep"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/llmtest"
	"github.com/weft-go/weft/state"
	"github.com/weft-go/weft/tools"
)

// A sizes is a store that counts the bytes of its writes.
type sizes struct {
	checkpoint.Store
	bytes atomic.Int64
}

func (s *sizes) Put(ctx context.Context, c checkpoint.Checkpoint, head string) error {
	s.bytes.Add(int64(len(c.Control)))
	for _, list := range [][]checkpoint.Change{c.Changes, c.Snapshot} {
		for _, change := range list {
			s.bytes.Add(int64(len(change.Data)))
		}
	}
	return s.Store.Put(ctx, c, head)
}

func (s *sizes) PutWrites(ctx context.Context, k checkpoint.Key, writes []checkpoint.Write) error {
	for _, w := range writes {
		s.bytes.Add(int64(len(w.Data)))
	}
	return s.Store.PutWrites(ctx, k, writes)
}

// 30 tool calls over a file of 1 MB, 10 of which edit it, store at most 2 MB.
func TestCallsOverALargeFileStoreLittle(t *testing.T) {
	t.Parallel()
	line := strings.Repeat("x", 99) + "\n"
	model := modelFunc(func(r llm.Request) llmtest.Reply {
		switch n := (len(r.Messages) - 2) / 2; {
		case n < 30 && n%3 == 0:
			return llmtest.Calls(named(n, deep.EditTool, map[string]any{"file_path": "/big", "old_string": fmt.Sprint("line ", n, ":"), "new_string": "edited:"}))
		case n < 30 && n%3 == 1:
			return llmtest.Calls(named(n, deep.ReadTool, map[string]any{"file_path": "/big", "offset": 300 * n}))
		case n < 30:
			return llmtest.Calls(named(n, deep.GrepTool, map[string]any{"pattern": "edited"}))
		}
		return llmtest.Say("done")
	})
	store := &sizes{Store: memcheckpoint.New(memcheckpoint.Options{})}
	a, err := deep.New("a", model, deep.Options{Agent: agent.Options{Graph: graph.Options{Checkpoints: store}}})
	require.NoError(t, err)
	var text strings.Builder
	for i := range 10_000 {
		fmt.Fprintf(&text, "line %d:%s", i, line)
	}
	write, err := deep.State().Write(t.Context(), nil, "/big", text.String())
	require.NoError(t, err)
	snap, err := a.Thread("1").Invoke(t.Context(), append(write, agent.Messages.Put(llm.User("edit")))...)
	require.NoError(t, err)
	after, err := deep.State().Read(t.Context(), snap, "/big")
	require.NoError(t, err)
	assert.Equal(t, 10, strings.Count(after, "edited:"))
	assert.Greater(t, len(after), 1_000_000)
	t.Logf("%d bytes stored", store.bytes.Load())
	assert.Less(t, store.bytes.Load(), int64(2<<20))
}

func named(n int, name string, arguments any) llm.ToolCall {
	c := toolCall(name, arguments)
	c.ID = fmt.Sprint("call ", n)
	return c
}

// A file is read correctly while its edits are stored, and after its whole text was stored again.
func TestManyEditsOfAFile(t *testing.T) {
	t.Parallel()
	call := callTools(t, deep.FileTools(deep.State()))
	text := func(n int) string { return fmt.Sprint(n, strings.Repeat("x", 1000)) }
	call(toolCall(deep.WriteTool, map[string]any{"file_path": "a", "content": text(0)}))
	for i := range 100 {
		answer := call(toolCall(deep.EditTool, map[string]any{"file_path": "a", "old_string": text(i), "new_string": text(i + 1)}))[0]
		require.Equal(t, "Edited /a: 1 replaced.", answer.Text())
	}
	assert.Equal(t, "1\t"+text(100), call(toolCall(deep.ReadTool, map[string]any{"file_path": "a"}))[0].Text())
}

// Files are stored in the thread: a new agent with the store, opened again, edits them, and an earlier
// checkpoint still has the earlier text.
func TestStateFilesAreInTheThread(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "deep.db")
	run := func(test func(g *graph.Graph), calls ...llm.ToolCall) {
		store, err := sqlitecheckpoint.Open(t.Context(), path, sqlitecheckpoint.Options{})
		require.NoError(t, err)
		defer func() { assert.NoError(t, store.Close()) }()
		model := modelFunc(func(r llm.Request) llmtest.Reply {
			if r.Messages[len(r.Messages)-1].Role == llm.RoleTool {
				return llmtest.Say("done")
			}
			return llmtest.Calls(calls...)
		})
		g, err := deep.New("a", model, deep.Options{Agent: agent.Options{Graph: graph.Options{Checkpoints: store}}})
		require.NoError(t, err)
		test(g)
	}
	read := func(s state.View) string {
		text, err := deep.State().Read(t.Context(), s, "/a")
		require.NoError(t, err)
		return text
	}
	var first string
	run(func(g *graph.Graph) {
		snap, err := g.Thread("1").Invoke(t.Context(), agent.Messages.Put(llm.User("write")))
		require.NoError(t, err)
		first = snap.ID
		assert.Equal(t, "one", read(snap))
	}, named(1, deep.WriteTool, map[string]any{"file_path": "a", "content": "one"}))
	run(func(g *graph.Graph) {
		snap, err := g.Thread("1").Invoke(t.Context(), agent.Messages.Put(llm.User("edit")))
		require.NoError(t, err)
		assert.Equal(t, "two", read(snap))
		snap, err = g.Thread("1").At(first).Snapshot(t.Context())
		require.NoError(t, err)
		assert.Equal(t, "one", read(snap))
	}, named(2, deep.EditTool, map[string]any{"file_path": "/a", "old_string": "one", "new_string": "two"}))
}

// Concurrent sub-agents write files, and all edit one file. No file and no edit is lost. Large
// edits also store the whole file.
func TestSubAgentsShareFiles(t *testing.T) {
	t.Parallel()
	for name, pad := range map[string]string{"small edits": "", "large edits": strings.Repeat("+", 5<<10)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			worker := modelFunc(func(r llm.Request) llmtest.Reply {
				task := r.Messages[1].Text()
				switch len(r.Messages) {
				case 2:
					return llmtest.Calls(named(1, deep.EditTool, map[string]any{"file_path": "/shared", "old_string": "[" + task + "]", "new_string": "done " + task + pad}),
						named(2, deep.WriteTool, map[string]any{"file_path": "/" + task, "content": task}))
				}
				return llmtest.Say("ready")
			})
			boss := modelFunc(func(r llm.Request) llmtest.Reply {
				switch len(r.Messages) {
				case 2:
					return llmtest.Calls(named(0, deep.WriteTool, map[string]any{"file_path": "/shared", "content": "[a] [b] [c] [d]" + strings.Repeat("x", 30<<10)}))
				case 4: // edits of 60 KiB are stored as edits
					return llmtest.Calls(named(1, deep.EditTool, map[string]any{"file_path": "/shared", "old_string": strings.Repeat("x", 30<<10), "new_string": strings.Repeat("y", 30<<10)}))
				case 6:
					return llmtest.Calls(named(2, "worker", map[string]any{"task": "a"}), named(3, "worker", map[string]any{"task": "b"}), named(4, "worker", map[string]any{"task": "c"}))
				case 10:
					return llmtest.Calls(named(5, "worker", map[string]any{"task": "d"}))
				}
				return llmtest.Say("done")
			})
			g, err := deep.New("boss", boss, deep.Options{SubAgents: []deep.SubAgent{{Name: "worker", Description: "Works.", Model: worker}}})
			require.NoError(t, err)
			snap, err := g.Invoke(t.Context(), agent.Messages.Put(llm.User("go")))
			require.NoError(t, err)
			text, err := deep.State().Read(t.Context(), snap, "/shared")
			require.NoError(t, err)
			assert.Equal(t, "done a done b done c done d", strings.NewReplacer("+", "", "y", "").Replace(text))
			list, err := deep.State().List(t.Context(), snap, "/")
			require.NoError(t, err)
			files := []deep.File{{Name: "/a", Size: 1}, {Name: "/b", Size: 1}, {Name: "/c", Size: 1}, {Name: "/d", Size: 1}, {Name: "/shared", Size: len(text)}}
			assert.Equal(t, files, list)
			_, err = deep.State().Read(t.Context(), snap, "/none")
			require.ErrorIs(t, err, fs.ErrNotExist)
		})
	}
}

// Two concurrent sub-agents edit one file several times. Each edit also stores the whole file. The
// file has the edits of both.
func TestSubAgentsMakeSeveralLargeEdits(t *testing.T) {
	t.Parallel()
	const rounds = 3
	pad := strings.Repeat("+", 40<<10)
	mark := func(task string, round int) string { return fmt.Sprintf("[%s%d]", task, round) }
	worker := modelFunc(func(r llm.Request) llmtest.Reply {
		round := (len(r.Messages) - 2) / 2
		if round == rounds {
			return llmtest.Say("ready")
		}
		task := r.Messages[1].Text()
		return llmtest.Calls(named(round, deep.EditTool, map[string]any{
			"file_path": "/shared", "old_string": mark(task, round) + pad, "new_string": mark(task, round+1) + pad,
		}))
	})
	boss := modelFunc(func(r llm.Request) llmtest.Reply {
		switch len(r.Messages) {
		case 2:
			return llmtest.Calls(named(0, deep.WriteTool, map[string]any{"file_path": "/shared", "content": mark("a", 0) + pad + mark("b", 0) + pad}))
		case 4:
			return llmtest.Calls(named(1, "worker", map[string]any{"task": "a"}), named(2, "worker", map[string]any{"task": "b"}))
		}
		return llmtest.Say("done")
	})
	g, err := deep.New("boss", boss, deep.Options{MaxTokens: 1_000_000, SubAgents: []deep.SubAgent{{Name: "worker", Description: "Works.", Model: worker}}})
	require.NoError(t, err)
	snap, err := g.Invoke(t.Context(), agent.Messages.Put(llm.User("go")))
	require.NoError(t, err)
	text, err := deep.State().Read(t.Context(), snap, "/shared")
	require.NoError(t, err)
	assert.Equal(t, "[a3][b3]", strings.ReplaceAll(text, "+", ""))
}

// A result above the limit is cut off and moved to a file, which can be read.
func TestResultOverTheLimitFitsIntoAFile(t *testing.T) {
	t.Parallel()
	long := tools.New("long", "Long.", func(context.Context, struct{}) (string, error) {
		return strings.Repeat("line\n", 1<<20), nil
	})
	model := modelFunc(func(r llm.Request) llmtest.Reply {
		if len(r.Messages) == 2 {
			return llmtest.Calls(toolCall("long", nil))
		}
		return llmtest.Say("done")
	})
	g, err := deep.New("a", model, deep.Options{Tools: []tools.Tool{long}})
	require.NoError(t, err)
	snap, err := g.Invoke(t.Context(), agent.Messages.Put(llm.User("go")))
	require.NoError(t, err)
	list, err := deep.State().List(t.Context(), snap, "/results")
	require.NoError(t, err)
	require.Len(t, list, 1)
	text, err := deep.State().Read(t.Context(), snap, list[0].Name)
	require.NoError(t, err)
	assert.InDelta(t, 512<<10, len(text), 1000)
	assert.Contains(t, text[len(text)-1000:], "cut")
}

// The cost of an edit of a large file does not grow with the number of earlier edits: after many edits,
// it is no more than after 64. The test is not parallel, since it measures the memory that the process
// allocates.
func TestManyEditsOfALargeFileStayCheap(t *testing.T) {
	text := strings.Repeat("x", 100_000)
	n, last := 0, 200
	model := modelFunc(func(llm.Request) llmtest.Reply {
		n++
		switch {
		case n == 1:
			return llmtest.Calls(named(n, deep.WriteTool, map[string]any{"file_path": "/big", "content": "edit 1." + text}))
		case n <= last:
			return llmtest.Calls(named(n, deep.EditTool, map[string]any{"file_path": "/big", "old_string": fmt.Sprintf("edit %d.", n-1), "new_string": fmt.Sprintf("edit %d.", n)}))
		}
		return llmtest.Say("done")
	})
	g, err := agent.New("a", model, nil, agent.Options{MaxTurns: 1000, Use: []agent.Middleware{deep.FileTools(deep.State())}})
	require.NoError(t, err)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	snap, err := g.Invoke(t.Context(), agent.Messages.Put(llm.User("go")))
	require.NoError(t, err)
	runtime.ReadMemStats(&after)
	got, err := deep.State().Read(t.Context(), snap, "/big")
	require.NoError(t, err)
	assert.Equal(t, fmt.Sprintf("edit %d.", last)+text, got)
	// An edit makes at most 64 texts of 100 kB. The limit is 80 texts for each edit.
	assert.Less(t, (after.TotalAlloc-before.TotalAlloc)>>20, uint64(last*100_000*80>>20))
}
