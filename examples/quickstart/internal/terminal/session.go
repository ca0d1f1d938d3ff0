package terminal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/sqlitecheckpoint"
	"github.com/weft-go/weft/examples/quickstart/internal/offline"
	"github.com/weft-go/weft/examples/quickstart/internal/reader"
	"github.com/weft-go/weft/examples/quickstart/internal/textfile"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/state"
)

// A session is one run of this program: a conversation, its file and the user.
type session struct {
	options
	program Program
	console *console
	lines   *input
	typed   bool         // a person types the lines
	talking bool         // the lines are questions and answers
	hinted  bool         // the hint was shown
	intro   bytes.Buffer // shown when the run has begun
	desk    *reader.Desk
	thread  *graph.Thread
	from    *graph.Thread   // thread, or its checkpoint that -at names
	here    *graph.Snapshot // the snapshot of from; nil in a new conversation
	path    string          // of the text
	model   string          // its description
}

// do executes the command line.
func (p Program) do(ctx context.Context, o options, c *console) (err error) {
	s := &session{program: p, options: o, console: c, desk: &reader.Desk{}, typed: c.terminal(c.in)}
	if o.draw {
		return s.draw()
	}
	s.lines = newInput(ctx, c.in)
	if s.pace < 0 && c.terminal(c.out) {
		s.pace = 12 * time.Millisecond
	}
	model, name, err := p.Model(ctx, max(s.pace, 0))
	if err != nil {
		return wrong("%v", err)
	}
	s.model = name
	if err := s.precheck(ctx); err != nil {
		return err
	}
	store, err := sqlitecheckpoint.Open(ctx, o.db, sqlitecheckpoint.Options{})
	if err != nil {
		return o.cannotOpen(err)
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	if err := s.begin(ctx, store, model); err != nil {
		return err
	}
	switch {
	case o.history:
		return s.list(ctx)
	case o.resume != "":
		yes, _ := yesOrNo(o.resume)
		return s.answer(ctx, yes)
	case o.question != "":
		return s.ask(ctx)
	case s.at == "" && !unfinished(s.here):
		return s.converse(ctx)
	}
	return s.goOn(ctx)
}

func (s *session) draw() error {
	g, err := reader.New(offline.Model{}, s.desk, nil)
	if err == nil {
		s.console.say(g.Mermaid())
	}
	return err
}

// precheck finds errors in the input before a database is created.
func (s *session) precheck(ctx context.Context) error {
	if _, err := os.Stat(s.db); !errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err := reader.CheckFolder(filepath.Dir(s.db)); err != nil {
		return s.cannotOpen(err)
	}
	if err := s.mustBegin(ctx); err != nil {
		return err
	}
	return s.openText()
}

// cannotOpen returns the error for a database that cannot be opened. The function explain handles
// files of another format.
func (o options) cannotOpen(err error) error {
	if errors.Is(err, checkpoint.ErrFormat) || errors.Is(err, context.Canceled) {
		return err
	}
	return wrong("cannot store conversations in %s; name another file with -db (%v)", o.db, err)
}

// mustBegin is called if there is no conversation. It returns an error if the command needs one.
func (s *session) mustBegin(ctx context.Context) error {
	if s.history || s.resume != "" || s.at != "" {
		return wrong("there is no conversation %q in %s", s.options.thread, s.db)
	}
	if s.question != "" || s.typed || s.lines.more(ctx) {
		return nil
	}
	return wrong("what is your question? -h shows how to ask")
}

// begin reads the conversation and its file.
func (s *session) begin(ctx context.Context, store checkpoint.Store, model llm.Model) error {
	g, err := reader.New(model, s.desk, store)
	if err != nil {
		return err
	}
	s.thread = g.Thread(s.options.thread)
	s.from = s.thread
	s.here, err = s.thread.Snapshot(ctx)
	if errors.Is(err, checkpoint.ErrNotFound) {
		err = s.mustBegin(ctx)
	}
	if err != nil || s.history {
		return err
	}
	if s.here != nil && s.here.Done() && s.question+s.resume+s.at == "" && !s.typed && !s.lines.more(ctx) {
		return wrong("nothing is unfinished in conversation %q; what is your question?", s.options.thread)
	}
	if s.at != "" {
		if err := s.goBack(ctx); err != nil {
			return err
		}
	}
	return s.openText()
}

// openText opens the file of the flag -file, else the file of the conversation, else
// the README.
func (s *session) openText() (err error) {
	path, hint := s.file, ""
	if path == "" && s.here != nil {
		path, hint = reader.File.Get(s.here), " (the conversation is about it; name another one with -file)"
	}
	if path == "" {
		if path = readme(); path == "" {
			return wrong("there is no README.md here; name a text with -file")
		}
	}
	if s.desk.Text, err = textfile.Open(short(path)); err != nil {
		return wrong("%v%s", err, hint)
	}
	if s.path, err = filepath.Abs(path); err != nil {
		return err
	}
	if s.notes == "" {
		s.notes = filepath.Join(filepath.Dir(s.db), "quickstart-notes.md")
	}
	if s.desk.Notes, err = filepath.Abs(s.notes); err != nil {
		return err
	}
	if err := reader.CheckFolder(filepath.Dir(s.desk.Notes)); err != nil {
		return wrong("cannot save notes in %s; name another file with -notes (%v)", s.notes, err)
	}
	return nil
}

// ask starts a turn: a write to a channel is new input. On a handle from Thread.At it
// starts a branch.
func (s *session) ask(ctx context.Context) error {
	if s.at == "" && s.here != nil && len(s.here.Pauses) > 0 && !s.drop {
		return wrong("conversation %q waits for your answer: %s; or ask with -drop and leave it unanswered",
			s.options.thread, s.command("-resume yes|no"))
	}
	intro := s.head()
	if s.at == "" && s.here != nil && !s.here.Done() {
		intro.line("note", "the question before stays unfinished; -history lists it")
	}
	return s.run(ctx, reader.File.Put(s.path), agent.Messages.Put(llm.User(s.question)))
}

// goOn starts a run without input. It resumes a run that was stopped or killed, or runs
// the next step of a checkpoint again.
func (s *session) goOn(ctx context.Context) error {
	intro := s.head()
	if s.at == "" && len(s.here.Pauses) > 0 {
		s.console.say(s.intro.String())
		return s.pending(ctx, s.here)
	}
	if s.here.Done() {
		intro.line("note", "nothing was due at this checkpoint; the next question continues from it")
	}
	return s.run(ctx, s.edit(graph.Continue())...)
}

// answer answers every open question. Each question has an id, so a late answer cannot
// reach another question.
func (s *session) answer(ctx context.Context, yes bool) error {
	open, err := reader.Approve.Open(s.here)
	if err != nil {
		return err
	}
	if len(open) == 0 {
		return wrong("conversation %q waits for no answer", s.options.thread)
	}
	intro := s.head()
	if s.verbose {
		for _, q := range open {
			intro.approval(q.Prompt)
		}
		intro.line("answer", s.resume)
	}
	return s.run(ctx, s.edit(answers(open, yes)...)...)
}

func answers(open []graph.OpenQuestion[reader.Note], yes bool) []state.Write {
	answer := "no"
	if yes {
		answer = "yes"
	}
	var writes []state.Write
	for _, q := range open {
		writes = append(writes, reader.Approve.Answer(q.ID, answer))
	}
	return writes
}

// edit adds the file to the writes of a resumed run if -file names another file.
func (s *session) edit(writes ...state.Write) []state.Write {
	if s.path != reader.File.Get(s.here) {
		writes = append(writes, reader.File.Put(s.path))
	}
	return writes
}

// run runs the agent and shows its events, until it answers or asks a question.
func (s *session) run(ctx context.Context, writes ...state.Write) error {
	w := watcher{console: s.console, verbose: s.verbose, answer: s.console.wrapped()}
	for event, err := range s.from.Stream(ctx, writes...) {
		if err != nil {
			w.endLine()
			return s.halted(ctx, err)
		}
		s.console.say(s.intro.String())
		s.intro.Reset()
		w.show(event)
	}
	if err := s.pending(ctx, w.end); err != nil {
		return err
	}
	s.hint()
	return nil
}

// hint prints the hint of the program after the first answer about a file.
func (s *session) hint() {
	if s.here != nil && reader.File.Get(s.here) == s.path || s.verbose || s.hinted {
		return
	}
	s.hinted = true
	s.console.dim(s.program.Hint)
}

// pending shows the open questions. On a terminal the user can answer at once.
func (s *session) pending(ctx context.Context, at *graph.Snapshot) error {
	open, err := reader.Approve.Open(at)
	if err != nil || len(open) == 0 {
		return err
	}
	for _, q := range open {
		s.console.approval(q.Prompt)
	}
	if s.typed || s.talking {
		yes, given, err := s.confirm(ctx)
		if err != nil {
			return err
		}
		if given {
			s.from, s.here = s.thread, at // the answer resumes this run
			return s.run(ctx, answers(open, yes)...)
		}
	}
	s.console.line("answer", s.command("-resume yes")+"   (or no)")
	return nil
}

// confirm asks until the user answers yes or no. Given is false at the end of input.
func (s *session) confirm(ctx context.Context) (yes, given bool, err error) {
	for {
		s.console.say("yes or no?  ")
		answer, given, err := s.lines.line(ctx)
		if err != nil {
			s.console.say("\n")
			return false, false, &stoppedError{"stopped; the question stays open"}
		}
		if !given {
			s.console.say("\n")
			return false, false, nil
		}
		if yes, ok := yesOrNo(answer); ok {
			return yes, true, nil
		}
	}
}

// halted returns the error for a failed run. For a cancelled run, it says how to resume.
func (s *session) halted(ctx context.Context, err error) error {
	if ctx.Err() == nil {
		return err
	}
	at, lookErr := s.thread.Snapshot(context.WithoutCancel(ctx))
	switch {
	case errors.Is(lookErr, checkpoint.ErrNotFound):
		return &stoppedError{"stopped before anything was stored"}
	case lookErr != nil:
		return fmt.Errorf("%w; and %w", err, lookErr)
	case at.Done():
		return &stoppedError{"stopped"}
	}
	return &stoppedError{"stopped; to resume: " + s.command("")}
}

// head returns a console for the lines above a run. They are shown when the run has
// started, so that a run with an error shows only the error.
func (s *session) head() *console {
	c := &console{in: s.console.in, out: &s.intro}
	if !s.verbose {
		return c
	}
	messages := "a new conversation"
	if s.here != nil {
		messages = fmt.Sprintf("%d messages", agent.Messages.Len(s.here))
	}
	c.line("file", fmt.Sprintf("%s (%d lines)", short(s.path), s.desk.Text.Len()))
	c.line("thread", fmt.Sprintf("%s in %s (%s)", s.options.thread, s.db, messages))
	c.line("model", s.model)
	return c
}
