package terminal

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTranscript(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	const want = `file        DIR/text.md (9 lines)
thread      default in DIR/q.db (a new conversation)
model       offline: rules

step  checkpoint
   0  ID  user asks: What is a loom?
   1  ID  agent calls search: limit 8, query "loom"
   2  ID  search returns file "DIR/text.md", partly 0, 1 passages, total 1

A loom is a frame for weaving cloth. The weft goes over and under the warp.

  DIR/text.md, lines 3-4 (Weaving)

   3  ID  agent answers
tokens      118 in, 22 out
`
	// The path of the folder is longer than DIR, so lines of the output break at other words.
	flat := func(text string) string { return strings.Join(strings.Fields(text), " ") }
	assert.Equal(t, flat(want), flat(f.golden(f.ask("What is a loom?"))))
	// The next run continues the conversation with the same file.
	wantAll(t, f.ask("where is it mentioned?"), "text.md (9 lines)", "(4 messages)", `"loom" is on 1 line`)
	wantAll(t, f.ask("-thread", "other", "-file", f.path("text.md"), "where is it mentioned?"), "(a new conversation)", "What do you mean?")
}

// Without -v, a user sees the answer and its place. The first answer about a file also says how to
// see more.
func TestQuiet(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	o := f.finish(f.program("-file", "text.md", "What is a loom?"))
	assert.Equal(t, outcome{done, `A loom is a frame for weaving cloth. The weft goes over and under the warp.

  text.md, lines 3-4 (Weaving)

-v shows more.
`, ""}, o)
	o = f.finish(f.program("where is it mentioned?"))
	assert.Equal(t, outcome{done, "\"loom\" is on 1 line:\n    3 | A loom is a frame for weaving cloth.\n", ""}, o)
	o = f.finish(f.program("save that"))
	assert.Equal(t, "approval    append this to quickstart-notes.md?\n            > \"loom\" is on 1 line:\n", o.out[:strings.Index(o.out, "            >     3")])
	o = f.finish(f.program("-resume", "Y"))
	assert.Regexp(t, "^Saved in .*\n$", o.out)
	f.write("other.md", "A shed is a gap.\n")
	o = f.finish(f.program("-file", "other.md", "What is a shed?"))
	assert.Equal(t, "A shed is a gap.\n\n  other.md, line 1\n\n-v shows more.\n", o.out, "the first answer about another file")
}

func TestAnswersComeFromTheFile(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	wantAll(t, f.ask("how often does weft appear?"), "2 times", "lines 4, 8")
	f.write("text.md", "weft weft\nand no more weft\n")
	wantAll(t, f.ask("how often does weft appear?"), "3 times", "lines 1, 2")
	f.write("other.txt", "nothing of the kind")
	wantAll(t, f.ask("-file", f.path("other.txt"), "how often does weft appear?"), `no "weft"`)
	wantAll(t, f.ask("how many words?"), "other.txt", "4 words")
}

func TestParallelCalls(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	wantAll(t, f.ask("summarise"), "agent calls outline\n", "agent calls count_words\n", "9 lines, 32 words and 2 headings", "6 | ## Shuttles")
}

func TestBadInput(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	f.write("binary", "a\x00b")
	f.write("latin1", "caf\xe9")
	f.write("empty", " \n")
	f.write("large", strings.Repeat("x", 8<<20+1))
	f.write("notes.txt", "This is a text and no database. It is long enough for a header, which has a hundred bytes.")
	require.NoError(t, os.Symlink("loop", f.path("loop")))
	tests := []struct {
		name, want string
		args       []string
	}{
		{"missing file", "there is no file", []string{"-file", f.path("nope"), "q"}},
		{"directory", "is a directory", []string{"-file", f.dir, "q"}},
		{"binary file", "is a binary file", []string{"-file", f.path("binary"), "q"}},
		{"not UTF-8", "is not UTF-8", []string{"-file", f.path("latin1"), "q"}},
		{"empty file", "is empty", []string{"-file", f.path("empty"), "q"}},
		{"large file", "has more than 8 MB", []string{"-file", f.path("large"), "q"}},
		{"device", "is not a regular file", []string{"-file", os.DevNull, "q"}},
		{"unreadable file", "too many", []string{"-file", f.path("loop"), "q"}},
		{"empty question", "the question is empty", []string{""}},
		{"blank question", "the question is empty", []string{" ", "\n"}},
		{"no question", "what is your question?", nil},
		{"no thread to list", `there is no conversation "default"`, []string{"-history"}},
		{"no thread to resume", `there is no conversation "t"`, []string{"-thread", "t", "-resume", "yes"}},
		{"no thread to fork", `there is no conversation "default"`, []string{"-at", "1", "q"}},
		{"bad answer", `-resume takes yes or no, not "maybe"`, []string{"-resume", "maybe"}},
		{"two answers", `-resume takes yes or no, not "yes no"`, []string{"-resume", "yes no"}},
		{"answer and question", "-resume takes no question", []string{"-resume", "yes", "q"}},
		{"history and question", "-history takes no question", []string{"-history", "q"}},
		{"two verbs", "-draw and -history cannot be given together", []string{"-draw", "-history"}},
		{"at and resume", "-at and -resume cannot", []string{"-at", "1", "-resume", "no"}},
		{"drop alone", "-drop goes with a new question", []string{"-drop"}},
		{"unknown flag", "not defined: -colour", []string{"-colour", "q"}},
		{"flag without value", "needs an argument: -resume", []string{"-resume"}},
		{"flag with empty value", "-thread needs a value", []string{"-thread", "", "q"}},
		{"flag behind the question", "flags must come before the question: -file", []string{"q", "-file", "x"}},
		{"negative pace", "-pace is negative", []string{"-pace", "-1s", "q"}},
		{"no pace", "invalid value", []string{"-pace", "fast", "q"}},
		{"no database", "does not hold conversations", []string{"-db", f.path("notes.txt"), "-file", f.path("text.md"), "q"}},
		{"database is a folder", "cannot store conversations in", []string{"-db", f.dir, "-file", f.path("text.md"), "q"}},
		{"folder of the database, no file", "cannot store conversations in nope/q.db", []string{"-db", "nope/q.db", "q"}},
		{"folder of the notes", "cannot save notes in", []string{"-notes", f.path("nope/notes.md"), "-file", f.path("text.md"), "q"}},
		{"folder of the notes that is a file", "is not a folder", []string{"-notes", f.path("text.md/notes.md"), "-file", f.path("text.md"), "q"}},
		{"thread that cannot be shown", `"a\x1bb" has characters`, []string{"-thread", "a\x1bb", "q"}},
		{"folder of the database", "cannot store conversations in", []string{"-db", f.path("nope/q.db"), "-file", f.path("text.md"), "q"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g := folder{t, f.dir}
			g.refuse(tt.want, tt.args...)
		})
	}
	assert.NoFileExists(t, f.path("q.db"), "bad input made a database")
}

func TestBadInputOfAConversation(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	f.ask("hello")
	before := f.ask("-history")
	f.refuse("waits for no answer", "-resume", "yes")
	f.refuse("nothing is unfinished")
	f.refuse("has no checkpoint zzz", "-at", "zzz", "q")
	f.refuse("2 checkpoints of conversation \"default\" have - in their id", "-at", "-")
	f.refuse(`there is no conversation "other"`, "-thread", "other", "-history")
	f.refuse("what is your question?", "-thread", "other")
	require.NoError(t, os.Remove(f.path("text.md")))
	f.refuse("the conversation is about it; name another one with -file", "hello")
	assert.Equal(t, before, f.ask("-history"), "a refused run left something")
}

func TestHelpAndDrawing(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	wantAll(t, f.ask("-h"), "-resume yes|no", "-history", "resumes a run that was stopped")
	out := f.ask("-draw")
	wantAll(t, out, "flowchart TD\n", `["agent"]`, `["tools"]`)
	assert.NoFileExists(t, f.path("q.db"), "a drawing made a database")
}

func TestHistory(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	f.ask("how many lines?")
	const want = `checkpoint  step  source  time                 next          last message
ID     3  loop    TIME  -             assistant: The file has 9 lines, 32 words and 168…
ID     2  loop    TIME  agent         tool count_words: {"from":1,"to":9,"lines":9,"wor…
ID     1  loop    TIME  tools         calls count_words
ID     0  input   TIME  agent         user: how many lines?
`
	assert.Equal(t, want, f.golden(f.ask("-history")))
	for range 13 {
		f.ask("how many lines?")
	}
	wantAll(t, f.ask("-history"), "and 6 older ones\n")
}

func TestFork(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	f.ask("what is a loom?")
	f.ask("what is a shuttle?")
	ids := f.ids()
	// At the end of the first turn, "it" is the loom.
	first := ids[4]
	wantAll(t, f.ask("-at", first, "where is it mentioned?"), `"loom" is on 1 line`, "(4 messages)")
	wantAll(t, f.ask("-history"), "(that followed "+first+")", `assistant: "loom" is on 1 line`, "user: what is a shuttle?")
	wantAll(t, f.ask("how often does it appear?"), `"loom" 1 time`)
	// The other branch is still there.
	wantAll(t, f.ask("-at", ids[0], "where is it mentioned?"), `"shuttle" is on`)
}

func TestReplay(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	f.ask("how many lines?")
	ids := f.ids()
	f.write("text.md", "one line")
	// The call of count_words is due again at this checkpoint, and counts the changed file.
	out := f.ask("-at", ids[2])
	wantAll(t, out, "count_words returns characters 9, from 1, lines 1,", "The file has 1 line,")
	wantNone(t, out, "calls")
	wantAll(t, f.ask("-at", ids[0]), "nothing was due at this checkpoint")
	wantAll(t, f.ask("-history"), "fork", "assistant: The file has 9 lines")
	// A part of the id is enough.
	wantAll(t, f.ask("-at", ids[1][2:], "-file", f.path("text.md")), "The file has 9 lines")
}

func TestStop(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	f.check(f.runWith(ctx, strings.NewReader(""), "hello"), stopped, "stopped")
}
