package deep

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/state"
	"github.com/weft-go/weft/tools"
)

// The names of the tools of [FileTools].
const (
	ListTool  = "ls"
	ReadTool  = "read_file"
	WriteTool = "write_file"
	EditTool  = "edit_file"
	GlobTool  = "glob"
	GrepTool  = "grep"
)

const filesPrompt = `You have files, with the tools ls, read_file, write_file, edit_file, glob and grep. Names begin with a slash, such as /notes/a.md. Read a file before you edit it. Use files for what you will need later: notes, drafts and long results.`

// FileTools gives an agent tools for files: [ListTool], [ReadTool], [WriteTool], [EditTool],
// [GlobTool] and [GrepTool]. Patterns of glob have the syntax of doublestar: ** matches any number
// of folders. Patterns of grep are regular expressions of package regexp.
//
// The tool calls of a reply run at the same time. If several of them change one file, only the
// first one runs, and the others are answered with an error.
func FileTools(files Files) agent.Middleware {
	t := fileTools{files}
	read := tools.Annotations{Category: "files", ReadOnly: true, Idempotent: true}
	write := tools.Annotations{Category: "files", Idempotent: true}
	return agent.Middleware{
		Name: "files", System: filesPrompt, Channels: files.Channels(), WrapTool: t.wrap,
		Tools: []tools.Tool{
			tools.New(ListTool, "Lists the files and folders in a folder, with their sizes in bytes.", t.list).Annotate(read),
			tools.New(ReadTool, "Reads lines of a text file. Each line begins with its number and a tab. The end of a long line needs another call, with column.", t.read).Annotate(read),
			tools.New(WriteTool, "Writes a text file. It makes the file or replaces the whole text.", t.write).Annotate(write),
			tools.New(EditTool, "Replaces a text in a file. The old text has to be in the file once, without the line numbers of read_file.", t.edit).Annotate(write),
			tools.New(GlobTool, "Finds files by a pattern of their names. * matches within a folder, ** matches any folders.", t.glob).Annotate(read),
			tools.New(GrepTool, "Finds lines of files by a regular expression.", t.grep).Annotate(read),
		},
	}
}

type fileTools struct{ files Files }

// stateKey is the context key of the state that a tool sees.
type stateKey struct{}

// stateOf returns the state of the agent that calls a tool.
func stateOf(ctx context.Context) state.View {
	s, _ := ctx.Value(stateKey{}).(state.View)
	return s
}

// wrap gives the tools the state of the agent. It rejects a call if an earlier call of the reply
// changes the same file.
func (fileTools) wrap(ctx context.Context, c agent.ToolCall, next agent.ToolFunc) (tools.Outcome, error) {
	if name := changed(c.Call); name != "" && earlier(c, name) {
		return tools.Outcome{Message: llm.ToolError(c.Call, "Not done: another call of this reply changes "+name+". Read the file, then make this change.")}, nil
	}
	return next(context.WithValue(ctx, stateKey{}, c.State), c)
}

// changed returns the name of the file that a call changes, or "".
func changed(call llm.ToolCall) string {
	if call.Name != WriteTool && call.Name != EditTool {
		return ""
	}
	var in struct {
		Path string `json:"file_path"`
	}
	if json.Unmarshal(call.Arguments, &in) != nil {
		return ""
	}
	name, err := clean(in.Path)
	if err != nil {
		return ""
	}
	return name
}

// earlier reports whether the reply has an earlier call that changes the file.
func earlier(c agent.ToolCall, name string) bool {
	for _, m := range slices.Backward(c.Messages.Get(c.State)) {
		at := slices.IndexFunc(m.ToolCalls, func(other llm.ToolCall) bool { return other.ID == c.Call.ID })
		if m.Role == llm.RoleAssistant && at >= 0 {
			return slices.ContainsFunc(m.ToolCalls[:at], func(other llm.ToolCall) bool { return changed(other) == name })
		}
	}
	return false
}

// The limits of the results of the tools.
const (
	maxLines   = 500    // the lines that read_file returns by default
	maxLine    = 2000   // the length of a line, in bytes
	maxText    = 40_000 // the length of a result, in bytes
	maxEntries = 1000   // the entries of ls and glob
	maxMatches = 200    // the lines of grep
)

type listIn struct {
	Path string `json:"path,omitempty" jsonschema:"the folder; / if it is absent"`
}

func (t fileTools) list(ctx context.Context, in listIn) (string, error) {
	dir, err := clean(in.Path)
	if err != nil {
		return "", err
	}
	all, err := t.files.List(ctx, stateOf(ctx), dir)
	if err != nil {
		return "", err
	}
	var lines []string
	for _, f := range all {
		rest := strings.TrimPrefix(strings.TrimPrefix(f.Name, dir), "/")
		line := fmt.Sprintf("%s (%d bytes)", f.Name, f.Size)
		if folder, _, deeper := strings.Cut(rest, "/"); deeper {
			line = strings.TrimSuffix(dir, "/") + "/" + folder + "/"
		}
		if len(lines) == 0 || lines[len(lines)-1] != line {
			lines = append(lines, line)
		}
	}
	return entries(lines, "The folder has no files."), nil
}

// entries joins lines, up to a limit. Without lines, it returns the text in the argument none.
func entries(lines []string, none string) string {
	if len(lines) == 0 {
		return none
	}
	more := ""
	if len(lines) > maxEntries {
		more = fmt.Sprintf("\n… and %d more", len(lines)-maxEntries)
		lines = lines[:maxEntries]
	}
	return strings.Join(lines, "\n") + more
}

type readIn struct {
	Path   string `json:"file_path" jsonschema:"the name of the file"`
	Offset int    `json:"offset,omitempty" jsonschema:"the number of lines to skip"`
	Limit  int    `json:"limit,omitempty" jsonschema:"the number of lines to read; 500 if it is absent"`
	Column int    `json:"column,omitempty" jsonschema:"the number of bytes to skip in the first of these lines, if it is long"`
}

func (t fileTools) read(ctx context.Context, in readIn) (string, error) {
	name, text, err := t.text(ctx, in.Path)
	if err != nil {
		return "", err
	}
	lines := strings.SplitAfter(text, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	switch {
	case len(lines) == 0:
		return "The file is empty.", nil
	case in.Offset < 0 || in.Offset >= len(lines):
		return "", fmt.Errorf("%s has %d lines; offset is %d", name, len(lines), in.Offset)
	case in.Column < 0 || in.Column > len(lines[in.Offset]):
		return "", fmt.Errorf("line %d of %s has %d bytes; column is %d", in.Offset+1, name, len(lines[in.Offset]), in.Column)
	case in.Limit <= 0:
		in.Limit = maxLines
	}
	var b strings.Builder
	at, end := in.Offset, in.Offset+min(in.Limit, len(lines)-in.Offset)
	for ; at < end && b.Len() < maxText; at++ {
		line, column, most := strings.TrimRight(lines[at], "\r\n"), 0, maxLine
		if at == in.Offset && in.Column > 0 {
			column, most = in.Column, maxText
		}
		fmt.Fprintf(&b, "%d\t%s\n", at+1, piece(line, at, column, most))
	}
	if at < len(lines) {
		fmt.Fprintf(&b, "… %d more lines; continue with offset %d", len(lines)-at, at)
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}

// text reads a file. It returns the cleaned name and the text.
func (t fileTools) text(ctx context.Context, name string) (string, string, error) {
	name, err := clean(name)
	if err != nil {
		return "", "", err
	}
	text, err := t.files.Read(ctx, stateOf(ctx), name)
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%s: %w; find its name with ls or glob", name, fs.ErrNotExist)
	}
	return name, text, err
}

type writeIn struct {
	Path    string `json:"file_path" jsonschema:"the name of the file"`
	Content string `json:"content" jsonschema:"the whole text of the file"`
}

func (t fileTools) write(ctx context.Context, in writeIn) (tools.Result, error) {
	name, err := clean(in.Path)
	if err == nil && name == "/" {
		err = fmt.Errorf("%q: %w: it is a folder", in.Path, ErrName)
	}
	if err != nil {
		return tools.Result{}, err
	}
	update, err := t.files.Write(ctx, stateOf(ctx), name, in.Content)
	return tools.Result{Text: fmt.Sprintf("Wrote %s, %d bytes.", name, len(in.Content)), Update: update}, err
}

type editIn struct {
	Path string `json:"file_path" jsonschema:"the name of the file"`
	Old  string `json:"old_string" jsonschema:"the text to replace, exactly as it is in the file"`
	New  string `json:"new_string" jsonschema:"the text that replaces it"`
	All  bool   `json:"replace_all,omitempty" jsonschema:"replace every occurrence; otherwise the old text has to be unique"`
}

func (t fileTools) edit(ctx context.Context, in editIn) (tools.Result, error) {
	name, text, err := t.text(ctx, in.Path)
	if err != nil {
		return tools.Result{}, err
	}
	found := strings.Count(text, in.Old)
	switch {
	case in.Old == "":
		return tools.Result{}, errors.New("old_string is empty; write a whole file with write_file")
	case found == 0:
		return tools.Result{}, fmt.Errorf("old_string is not in %s; read the file again, and copy the text without line numbers", name)
	case found > 1 && !in.All:
		return tools.Result{}, fmt.Errorf("old_string is %d times in %s; add lines around it, or set replace_all", found, name)
	}
	e := edit{name: name, old: in.Old, new: in.New, all: in.All, result: strings.ReplaceAll(text, in.Old, in.New)}
	update, err := store(ctx, stateOf(ctx), t.files, e)
	return tools.Result{Text: fmt.Sprintf("Edited %s: %d replaced.", name, found), Update: update}, err
}

type globIn struct {
	Pattern string `json:"pattern" jsonschema:"such as **/*.go"`
	Path    string `json:"path,omitempty" jsonschema:"the folder in which to look; / if it is absent"`
}

func (t fileTools) glob(ctx context.Context, in globIn) (string, error) {
	names, err := t.find(ctx, in.Path, in.Pattern)
	return entries(names, "No file matches."), err
}

// find returns the names of the files in a folder that match a pattern. Without a pattern, it
// returns all of them, and the path may be a file.
func (t fileTools) find(ctx context.Context, path, pattern string) (names []string, err error) {
	dir, err := clean(path)
	if err != nil {
		return nil, err
	}
	if pattern = strings.TrimPrefix(pattern, "/"); !doublestar.ValidatePattern(pattern) {
		return nil, fmt.Errorf("%q is not a valid pattern", pattern)
	}
	all, err := t.files.List(ctx, stateOf(ctx), dir)
	if len(all) == 0 && pattern == "" {
		if _, rerr := t.files.Read(ctx, stateOf(ctx), dir); rerr == nil {
			return []string{dir}, nil
		}
	}
	for _, f := range all {
		rest := strings.TrimPrefix(strings.TrimPrefix(f.Name, dir), "/")
		if pattern == "" || doublestar.MatchUnvalidated(pattern, rest) {
			names = append(names, f.Name)
		}
	}
	return names, err
}

type grepIn struct {
	Pattern string `json:"pattern" jsonschema:"a regular expression (RE2)"`
	Path    string `json:"path,omitempty" jsonschema:"a file, or the folder in which to look; / if it is absent"`
	Glob    string `json:"glob,omitempty" jsonschema:"a pattern of the names of the files, such as **/*.md"`
}

func (t fileTools) grep(ctx context.Context, in grepIn) (string, error) {
	pattern, err := regexp.Compile(in.Pattern)
	if err != nil {
		return "", err
	}
	names, err := t.find(ctx, in.Path, in.Glob)
	if err != nil {
		return "", err
	}
	m := matches{pattern: pattern}
	size := 0
	for _, name := range names {
		text, err := t.files.Read(ctx, stateOf(ctx), name)
		if errors.Is(err, ErrNotText) || errors.Is(err, ErrTooLarge) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
			continue
		}
		if err == nil && ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		if err != nil {
			return "", err
		}
		if size += len(text); size > 10*maxSize {
			m.lines = append(m.lines, "… the files are too large to search all; name a folder or a glob")
			break
		}
		if !m.add(name, text) {
			m.lines = append(m.lines, "… and more; use a narrower pattern")
			break
		}
	}
	return entries(m.lines, "No line matches."), nil
}

// matches collects lines that match a pattern.
type matches struct {
	pattern *regexp.Regexp
	lines   []string
	size    int
}

// add adds the matching lines of a file. It returns false if there are more matches than a result may have.
func (m *matches) add(name, text string) bool {
	number := 0
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		number++
		at := m.pattern.FindStringIndex(line)
		if at == nil {
			continue
		}
		if len(m.lines) >= maxMatches || m.size > maxText {
			return false
		}
		m.lines = append(m.lines, fmt.Sprintf("%s:%d: %s", name, number, around(line, at[0])))
		m.size += len(m.lines[len(m.lines)-1])
	}
	return true
}
