package terminal

import (
	"context"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Without a question, the lines of the input are questions and answers.
func TestConversation(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	cmd := f.program("-file", "text.md")
	cmd.Stdin = strings.NewReader("What is a loom?\n\nsave that\nperhaps\nyes\nhow often does it appear?\nquit\nnot read\n")
	o := f.finish(cmd)
	assert.Equal(t, done, o.status, o.err)
	wantAll(t, o.out, "A loom is a frame", "> A loom is a frame", "yes or no?  yes or no?  Saved in ", `"loom" 1 time`)
	assert.Equal(t, 1, strings.Count(o.out, "-v shows more."), o.out)
	assert.Contains(t, f.read(notesFile), "A loom is a frame")
	// The next process continues the conversation. Without a line, it reports that nothing is
	// unfinished.
	cmd = f.program()
	cmd.Stdin = strings.NewReader("where is it mentioned?")
	wantAll(t, f.finish(cmd).out, `"loom" is on 1 line`)
	f.check(f.finish(f.program()), refused, "nothing is unfinished")
}

// At a terminal, the program says what the conversation is about and how to end it.
func TestConversationAtATerminal(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	var out, errs strings.Builder
	status := quickstart.Run(t.Context(), []string{"-db", f.path("q.db"), "-file", f.path("text.md")},
		person{strings.NewReader("what is a loom?\n")}, screen{&out}, &errs)
	assert.Equal(t, done, status, errs.String())
	wantAll(t, out.String(), "text.md, 9 lines. Ask about it.", "offline:", "rules.", "> \x1b[0m", "A loom is a frame", "\x1b[2m")
	assert.NotContains(t, out.String(), "-v shows more.", "the beginning of the conversation says it")
}

// Ctrl-C at the prompt ends the program without a wait for another line.
func TestStopAtThePrompt(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	r, w := io.Pipe()
	defer w.Close()
	ctx, cancel := context.WithCancel(t.Context())
	var errs strings.Builder
	status := quickstart.Run(ctx, []string{"-db", f.path("q.db"), "-file", f.path("text.md")}, person{r}, &trigger{text: "> ", do: cancel}, &errs)
	assert.Equal(t, stopped, status)
	assert.Empty(t, errs.String())
}

// The program writes colours to a terminal only, and not if NO_COLOR is set.
func TestColours(t *testing.T) { //nolint:paralleltest // it sets a variable of the process
	f := newFolder(t)
	show := func(thread string, out io.Writer) {
		status := quickstart.Run(t.Context(), []string{"-db", f.path("q.db"), "-thread", thread, "-pace", "0", "-file", f.path("text.md"), "what is a loom?"}, strings.NewReader(""), out, io.Discard)
		require.Equal(t, done, status)
	}
	var file, terminal, plain strings.Builder
	show("file", &file)
	assert.NotContains(t, file.String(), "\x1b")
	show("terminal", screen{&terminal})
	assert.Contains(t, terminal.String(), "\x1b[2m")
	t.Setenv("NO_COLOR", "1")
	show("plain", screen{&plain})
	assert.Equal(t, file.String(), plain.String())
}

// screen is the output to a terminal.
type screen struct{ io.Writer }

func (screen) Terminal() bool { return true }
