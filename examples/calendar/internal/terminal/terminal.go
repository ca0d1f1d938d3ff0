// Package terminal is how a person reaches the assistant at a terminal: it starts, resumes and answers runs, and shows
// what happens in them.
package terminal

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/examples/calendar/internal/assistant"
	"github.com/weft-go/weft/examples/internal/command"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/state"
)

// A Request is what the user asks for.
type Request struct {
	// Thread is the name of the conversation.
	Thread string
	// Message is said. Without one the terminal goes on with what was not finished, or reads messages.
	Message string
	// Drop leaves what was not finished, or not answered.
	Drop bool
	// At goes back to the checkpoint whose id ends so, and History lists them.
	At      string
	History bool
}

// A Terminal is one use of a conversation.
type Terminal struct {
	Request
	Graph *graph.Graph
	// Calendar is the path of the calendar.
	Calendar string
	In       io.Reader
	Out      io.Writer

	thread *graph.Thread
	here   *graph.Snapshot // nil for a new conversation
}

// Do does what the user asks for.
func (t *Terminal) Do(ctx context.Context) error {
	if err := t.find(ctx); err != nil {
		return err
	}
	switch {
	case t.History:
		return t.list(ctx)
	case t.At != "":
		return t.goBack(ctx)
	case t.Message != "":
		return t.say(ctx, t.Message)
	case t.here != nil && !t.here.Done():
		return t.goOn(ctx)
	case terminal(t.In):
		return t.talk(ctx)
	}
	return command.Wrong("what is your request? -h shows how to ask")
}

// find finds where the conversation is.
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

// say begins a turn, or answers the question that is open.
func (t *Terminal) say(ctx context.Context, text string) error {
	open := assistant.Waiting(t.here)
	switch {
	case t.here == nil || t.here.Done() || t.Drop:
		return t.run(ctx, t.thread, t.ask(text)...)
	case open != nil:
		return t.run(ctx, t.thread, open.Answer(text)...)
	}
	return command.Wrong("the request before this one is not finished: run it without a message to go on, or ask with -drop")
}

func (t *Terminal) ask(text string) []state.Write {
	return append(assistant.Ask(t.Thread, text), assistant.SessionContext.Put(map[string]string{"calendar": t.Calendar}))
}

// goOn goes on where a run was killed, or asks again what it waits for.
func (t *Terminal) goOn(ctx context.Context) error {
	if len(t.here.Pauses) > 0 {
		t.waits()
		return nil
	}
	return t.run(ctx, t.thread)
}

// talk takes what the user types.
func (t *Terminal) talk(ctx context.Context) error {
	lines := bufio.NewScanner(t.In)
	for fmt.Fprint(t.Out, "> "); lines.Scan(); fmt.Fprint(t.Out, "> ") {
		text := strings.TrimSpace(lines.Text())
		if text == "" || ctx.Err() != nil {
			continue
		}
		if err := t.say(ctx, text); err != nil {
			return err
		}
	}
	return lines.Err()
}

// run runs the graph, and shows what happens.
func (t *Terminal) run(ctx context.Context, from *graph.Thread, writes ...state.Write) error {
	for chunk, err := range agent.Chunks(from.Stream(ctx, writes...)) {
		if err != nil {
			return err
		}
		switch chunk.Kind {
		case agent.ChunkNodeStarted:
			if chunk.Path == "" {
				fmt.Fprintf(t.Out, "node       %s\n", chunk.Node)
			}
		case agent.ChunkToolStarted:
			fmt.Fprintf(t.Out, "call       %s %s\n", chunk.Call.Name, chunk.Call.Text())
		case agent.ChunkToolFinished:
			fmt.Fprintf(t.Out, "answer     %s\n", clip(chunk.Answer.Text()))
		case agent.ChunkText:
			if chunk.Node == assistant.SynthesizeResponse {
				fmt.Fprint(t.Out, chunk.Text)
			}
		case agent.ChunkEnd:
			t.here = chunk.Snapshot
		}
	}
	fmt.Fprintln(t.Out)
	t.waits()
	return nil
}

// waits shows the question that is open, if any.
func (t *Terminal) waits() {
	if c := assistant.Waiting(t.here); c != nil {
		fmt.Fprintln(t.Out, c.Message)
	}
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

// goBack goes on from an earlier checkpoint, on a branch of its own. What tools
// have done since then stays done.
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

func clip(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if r := []rune(text); len(r) > 100 {
		return string(r[:99]) + "…"
	}
	return text
}

// terminal reports whether a person is at the other end.
func terminal(in io.Reader) bool {
	f, ok := in.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	null, nullErr := os.Stat(os.DevNull)
	return err == nil && info.Mode()&os.ModeCharDevice != 0 && (nullErr != nil || !os.SameFile(info, null))
}
