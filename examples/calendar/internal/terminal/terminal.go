// Package terminal runs the assistant at a terminal. It starts and resumes runs, passes the user's answers to them,
// and shows their progress.
package terminal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/examples/calendar/internal/assistant"
	"github.com/weft-go/weft/examples/internal/command"
	"github.com/weft-go/weft/examples/internal/console"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
	"github.com/weft-go/weft/tools"
)

// A Request has the message and the flags of a command line.
type Request struct {
	// Thread is the name of the conversation.
	Thread string
	// Message is the user's message. If it is empty, the terminal resumes an unfinished run, or else reads messages.
	Message string
	// Drop abandons an unfinished turn or an open question, and starts a turn with Message.
	Drop bool
	// At is the end of the id of a checkpoint from which the conversation continues. History lists the checkpoints.
	At      string
	History bool
	// Verbose shows the nodes and calls of a run.
	Verbose bool
}

// A Terminal executes one Request.
type Terminal struct {
	Request
	Graph *graph.Graph
	// Calendar is the path of the calendar.
	Calendar string
	Tools    *tools.Set
	// Rules says that the model is the offline model.
	Rules bool
	In    io.Reader
	Out   io.Writer

	console *console.Console
	thread  *graph.Thread
	here    *graph.Snapshot // nil for a new conversation
}

// Do executes the request. Ctrl-C cancels a run, or ends the program at the prompt.
func (t *Terminal) Do(ctx context.Context) error {
	t.console = console.New(t.In, t.Out)
	if err := t.find(ctx); err != nil {
		return err
	}
	if t.Rules && t.here == nil && !t.History {
		t.console.Say(console.Faint, "Rules answer here, and no language model. The README says how to choose one.")
	}
	switch {
	case t.History:
		return t.list(ctx)
	case t.At != "":
		return interruptible(ctx, t.goBack)
	case t.Message != "":
		return interruptible(ctx, func(ctx context.Context) error { return t.say(ctx, t.Message) })
	case t.here != nil && !t.here.Done():
		if err := interruptible(ctx, t.goOn); err != nil || !terminal(t.In) {
			return err
		}
		return t.talk(ctx)
	case terminal(t.In):
		return t.talk(ctx)
	}
	return command.Wrong("what is your request? -h shows how to ask")
}

// interruptible calls fn with a context that Ctrl-C cancels. The error then wraps context.Canceled, because the cause
// of the context does not in Go 1.26.0. A second Ctrl-C ends the program.
func interruptible(ctx context.Context, fn func(context.Context) error) error {
	inner, stop := signal.NotifyContext(ctx, os.Interrupt)
	defer stop()
	defer context.AfterFunc(inner, stop)()
	err := fn(inner)
	if err != nil && inner.Err() != nil && ctx.Err() == nil {
		return fmt.Errorf("%w: %w", context.Canceled, err)
	}
	return err
}

// terminal reports whether in is a terminal.
func terminal(in io.Reader) bool {
	f, ok := in.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// find reads the newest state of the conversation. It returns an error if an unfinished turn is about another
// calendar, unless the request lists the history or drops the turn.
func (t *Terminal) find(ctx context.Context) (err error) {
	t.thread = t.Graph.Thread(t.Thread)
	if t.here, err = t.thread.Snapshot(ctx); errors.Is(err, checkpoint.ErrNotFound) {
		t.here, err = nil, nil
	}
	if err == nil && !t.History && t.here != nil && !t.here.Done() && !t.Drop {
		if about := assistant.SessionContext.Get(t.here)["calendar"]; about != t.Calendar {
			return command.Wrong("what is not finished in this conversation is about %s; name it with -calendar", about)
		}
	}
	return err
}

// say starts a turn, or answers the open question. Another request leaves the question open.
func (t *Terminal) say(ctx context.Context, text string) error {
	open := assistant.Waiting(t.here)
	switch {
	case t.here == nil || t.here.Done():
		return t.run(ctx, t.thread, t.ask(text)...)
	case t.Drop:
		return t.run(ctx, t.thread, append(t.ask(text), assistant.PendingConfirmation.Put(nil), assistant.UserConfirmation.Put(nil))...)
	case open == nil:
		return command.Wrong("the request before this one is not finished: run it without a message to go on, or ask with -drop")
	case assistant.IsAnswer(text):
		return t.run(ctx, t.thread, open.Answer(text)...)
	case open.Late:
		t.console.Say("", "That is no yes or no, so I did nothing. Ask again when this is answered:")
		t.waits()
		return nil
	}
	return t.run(ctx, t.thread, t.ask(text)...)
}

func (t *Terminal) ask(text string) []state.Write {
	return append(assistant.Ask(t.Thread, text), assistant.SessionContext.Put(map[string]string{"calendar": t.Calendar}))
}

// goOn resumes an unfinished run, or shows the open question again.
func (t *Terminal) goOn(ctx context.Context) error {
	if len(t.here.Pauses) > 0 {
		t.waits()
		return nil
	}
	return t.run(ctx, t.thread)
}

// talk reads messages from the user and runs them. It ends at the end of the input, or with Ctrl-C at the prompt.
func (t *Terminal) talk(ctx context.Context) error {
	for {
		var text string
		var given bool
		err := interruptible(ctx, func(ctx context.Context) (err error) {
			t.console.Prompt("> ") // inside, so that Ctrl-C works as soon as the prompt is visible
			text, given, err = t.console.Line(ctx)
			return err
		})
		if !given {
			fmt.Fprintln(t.Out)
		}
		switch {
		case err != nil && !errors.Is(err, context.Canceled):
			return err
		case !given:
			return ctx.Err() // Ctrl-C at the prompt is no error
		}
		if text = strings.TrimSpace(text); text == "" {
			continue
		}
		err = interruptible(ctx, func(ctx context.Context) error { return t.next(ctx, text) })
		if errors.Is(err, context.Canceled) && ctx.Err() == nil {
			t.console.Say(console.Amber, "Stopped.")
			continue
		}
		if err != nil {
			return err
		}
	}
}

// next runs a message on the newest state of the conversation. It abandons a turn that was stopped. A question from
// before that turn stays open.
func (t *Terminal) next(ctx context.Context, text string) error {
	if err := t.find(ctx); err != nil {
		return err
	}
	t.Drop = false
	if t.here != nil && !t.here.Done() && assistant.Waiting(t.here) == nil {
		return t.run(ctx, t.thread, t.ask(text)...)
	}
	return t.say(ctx, text)
}

// list shows the checkpoints, newest first.
func (t *Terminal) list(ctx context.Context) error {
	for info, err := range t.thread.History(ctx, graph.HistoryQuery{}) {
		if err != nil {
			return err
		}
		at, err := t.thread.At(info.ID).Snapshot(ctx)
		if err != nil {
			return err
		}
		next := strings.Join(info.Next, ",")
		if next == "" {
			next = "-"
		}
		fmt.Fprintf(t.Out, "%s  %s  %-20s %s\n", info.ID[max(0, len(info.ID)-10):], info.Time.Local().Format(time.DateTime), next, clip(assistant.UserMessage.Get(at)))
	}
	return nil
}

// goBack continues from an earlier checkpoint, on a new branch. It does not undo the side effects of tools since
// then.
func (t *Terminal) goBack(ctx context.Context) error {
	var found []string
	for info, err := range t.thread.History(ctx, graph.HistoryQuery{}) {
		if err != nil {
			return err
		}
		if strings.HasSuffix(info.ID, t.At) {
			found = append(found, info.ID)
		}
	}
	if len(found) != 1 {
		return command.Wrong("%d checkpoints of the conversation end in %s; -history lists them", len(found), t.At)
	}
	if t.Message != "" {
		return t.run(ctx, t.thread.At(found[0]), t.ask(t.Message)...)
	}
	return t.run(ctx, t.thread.At(found[0]), graph.Continue())
}
