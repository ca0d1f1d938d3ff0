package terminal

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/examples/quickstart/internal/offline"
	"github.com/weft-go/weft/examples/quickstart/internal/reader"
	"github.com/weft-go/weft/examples/quickstart/internal/textfile"
	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/llm"
)

const notesFile = "quickstart-notes.md"

func TestApproval(t *testing.T) {
	t.Parallel()
	tests := []struct{ answer, want, notes string }{
		{"yes", "Saved in ", "- looms are big\n"},
		{"no", "You said no, so nothing was written.", ""},
		{"Y", "Saved in ", "- looms are big\n"},
		{"NO", "You said no, so nothing was written.", ""},
	}
	for _, tt := range tests {
		t.Run(tt.answer, func(t *testing.T) {
			t.Parallel()
			f := newFolder(t)
			out := f.ask("save a note that looms are big")
			wantAll(t, out, "approval    append this to "+f.path(notesFile)+"?\n            > looms are big\n", "-db "+f.path("q.db")+" -resume yes")
			require.Empty(t, f.read(notesFile), "there are notes before the answer")
			wantAll(t, f.ask("-resume", tt.answer), "answer      "+tt.answer, tt.want)
			got := f.read(notesFile)
			assert.True(t, strings.HasPrefix(got, tt.notes), got)
			assert.Equal(t, tt.notes == "", got == "", got)
			f.refuse("waits for no answer", "-resume", tt.answer)
		})
	}
}

func TestQuestionWhileApprovalIsOpen(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	f.ask("save a note that looms are big")
	f.refuse("waits for your answer", "what is a loom?")
	wantAll(t, f.ask("-history"), "waits       for your answer")
	wantAll(t, f.ask(), "> looms are big", "-resume yes")
	wantAll(t, f.ask("-drop", "what is a loom?"), "stays unfinished", "A loom is a frame")
	f.refuse("waits for no answer", "-resume", "yes")
	// The history still has the checkpoint of the question.
	asked := ""
	for _, line := range strings.Split(f.ask("-history"), "\n") {
		if strings.Contains(line, "calls save_note") {
			asked = anID.FindString(line)
		}
	}
	wantAll(t, f.ask("-at", asked), "> looms are big")
	wantAll(t, f.ask("-resume", "yes"), "Saved in ")
}

// A note cannot change the terminal output of the question about it.
func TestApprovalShowsControlCharacters(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	o := f.run("save a note that looms\x1b[1A\x1b[2Kare\u202e big")
	assert.Contains(t, o.out, `> looms\u001b[1A\u001b[2Kare\u202e big`+"\n")
	wantNone(t, o.out, "\x1b", "\u202e")
}

func TestSaveThat(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	f.ask("-notes", f.path("mine.md"), "how often does weft appear?")
	f.ask("-notes", f.path("mine.md"), "save that")
	// The note goes to the file that the user agreed to, whatever the flags are now.
	f.ask("-notes", f.path("others.md"), "-resume", "yes")
	assert.Regexp(t, `^- The file has "weft" 2 times`, f.read("mine.md"))
	f.ask("save lines 3-4")
	f.ask("-resume", "yes")
	assert.Regexp(t, `^- 3 \| A loom is a frame for weaving cloth.\n  4 \| The weft`, f.read(notesFile))
	wantAll(t, f.ask("-notes", f.dir, "save a note that x"), "is not a file to write notes in")
}

// person is the input of a user at a terminal.
type person struct{ io.Reader }

func (person) Terminal() bool { return true }

func TestTerminal(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	type_ := func(lines string, args ...string) outcome {
		return f.runWith(t.Context(), person{strings.NewReader(lines)}, args...)
	}
	o := type_("perhaps\nYES\n", "save a note that looms are big")
	wantAll(t, o.out, "yes or no?  yes or no?  ", "Saved in ")
	assert.Regexp(t, "^- looms are big\n", f.read(notesFile))
	wantAll(t, type_("n\n", "save a note that looms are small").out, "You said no")
	// Nobody answers. Later runs answer: one at the end of the conversation, one at a checkpoint.
	wantAll(t, type_("", "save a note that looms are new").out, "-resume yes")
	wantAll(t, type_("no\n").out, "You said no")
	ids := f.ids()
	wantAll(t, type_("yes\n", "-at", ids[2]).out, "> looms are new", "Saved in ")
}

func TestStopAtTheQuestion(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	r, w := io.Pipe()
	defer w.Close()
	ctx, cancel := context.WithCancel(t.Context())
	out := &trigger{text: "yes or no?", do: cancel}
	var errs strings.Builder
	status := quickstart.Run(ctx, f.args([]string{"save a note that looms are big"}), person{r}, out, &errs)
	f.check(outcome{status, "", errs.String()}, stopped, "the question stays open")
	wantAll(t, f.ask("-resume", "yes"), "Saved in ")
}

// trigger calls do when the text is written to it.
type trigger struct {
	text string
	do   func()
	all  strings.Builder
}

func (w *trigger) Write(p []byte) (int, error) {
	w.all.Write(p)
	if strings.Contains(w.all.String(), w.text) {
		w.do()
	}
	return len(p), nil
}

// interrupted is a store that cancels the run, as Ctrl-C does, after the note was written and
// before its result is stored.
type interrupted struct {
	checkpoint.Store
	notes  string
	cancel context.CancelFunc
}

func (s *interrupted) PutWrites(ctx context.Context, k checkpoint.Key, writes []checkpoint.Write) error {
	if _, err := os.Stat(s.notes); err == nil && s.cancel != nil {
		s.cancel()
		s.cancel = nil
		<-ctx.Done()
		return ctx.Err()
	}
	return s.Store.PutWrites(ctx, k, writes)
}

// A run that was cancelled after a note was written, but before its result was stored, runs the
// tool again when it is resumed. The file must have the note once.
func TestNoteIsWrittenOnce(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "notes.md")
	synctest.Test(t, func(t *testing.T) { noteIsWrittenOnce(t, path) })
}

func noteIsWrittenOnce(t *testing.T, path string) {
	t.Helper()
	doc, err := textfile.Parse("text.md", []byte(text))
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	store := &interrupted{Store: memcheckpoint.New(memcheckpoint.Options{}), notes: path, cancel: cancel}
	g, err := reader.New(offline.Model{}, &reader.Desk{Text: doc, Notes: path}, store)
	require.NoError(t, err)
	th := g.Thread("t")
	snap, err := th.Invoke(ctx, agent.Messages.Put(llm.User("save a note that looms are big")))
	require.NoError(t, err)
	open, err := reader.Approve.Open(snap)
	require.NoError(t, err)
	require.Len(t, open, 1)
	_, err = th.Invoke(ctx, reader.Approve.Answer(open[0].ID, "yes"))
	require.ErrorIs(t, err, context.Canceled, "the run was not interrupted")
	snap, err = th.Invoke(t.Context())
	require.NoError(t, err)
	m, _ := agent.Messages.Last(snap)
	assert.Regexp(t, "^Saved in ", m.Text())
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, 1, strings.Count(string(data), "looms are big"), "%s", data)
}
