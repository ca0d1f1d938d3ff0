// Package terminal connects a person at a terminal to the platform: it sends messages, answers questions, and prints
// orders, memories and scenes.
package terminal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/examples/designer/internal/kai"
	"github.com/weft-go/weft/examples/designer/internal/studio"
	"github.com/weft-go/weft/examples/internal/command"
	"github.com/weft-go/weft/examples/internal/console"
	"github.com/weft-go/weft/examples/internal/models"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/tools"
)

// A Terminal serves one user of a platform, at a terminal.
type Terminal struct {
	*kai.Platform
	// Work starts to learn turns in the background, until the program ends.
	Work func()
	// Model is the name of the model.
	Model string
	In    io.Reader
	Out   io.Writer

	console    *console.Console
	interrupts chan os.Signal // Ctrl-C, also between two turns
}

// A Request is a command of the user.
type Request struct {
	Agent, Conversation, Workspace string
	// Message is sent to the agent. Without one the terminal resumes an unfinished turn, or reads messages.
	Message string
	// If one of these is set, the terminal only prints the graph, the orders, the memories, or the model of a scene.
	Draw, Orders, Memories bool
	Scene                  string
}

// local is the user of a terminal.
const local = "local"

// Do executes a request. Ctrl-C ends a turn, or the program if no turn runs.
func (t Terminal) Do(ctx context.Context, r Request) error {
	t.console, t.interrupts = console.New(t.In, t.Out), make(chan os.Signal, 1)
	if r.Draw || r.Scene != "" || r.Orders || r.Memories {
		return t.print(ctx, r)
	}
	turn := kai.Turn{User: local, Workspace: r.Workspace, Agent: r.Agent, Conversation: r.Conversation}
	snap, err := t.Snapshot(ctx, turn)
	signal.Notify(t.interrupts, os.Interrupt) // until here Ctrl-C ends the program
	defer signal.Stop(t.interrupts)
	switch {
	case errors.Is(err, kai.ErrUnknownAgent):
		return command.Wrong("%v", err)
	case err != nil && !errors.Is(err, checkpoint.ErrNotFound):
		return err
	case r.Message != "":
		if snap == nil && t.Model == models.Offline {
			t.console.Say(console.Faint, "Rules answer here, and no language model. The README says how to choose one.")
		}
		return t.interruptible(ctx, func(ctx context.Context) error { return t.say(ctx, turn, r.Message) })
	case err == nil && !snap.Done() && len(snap.Pauses) == 0:
		return t.interruptible(ctx, func(ctx context.Context) error { return t.show(t.Resume(ctx, turn)) })
	}
	t.Work() // a conversation takes long, so its turns are learned meanwhile
	t.console.Say(console.Faint, "model: %s\nconversation: %s", t.Model, r.Conversation)
	if snap != nil {
		t.ask(snap)
	}
	return t.converse(ctx, turn)
}

// interruptible calls fn with a context that Ctrl-C ends. A second Ctrl-C ends the program at once.
func (t Terminal) interruptible(ctx context.Context, fn func(context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan struct{})
	var watch sync.WaitGroup
	watch.Go(func() {
		for n := 0; ; n++ {
			select {
			case <-t.interrupts:
				if n > 0 {
					os.Exit(interrupted)
				}
				cancel()
			case <-done:
				return
			}
		}
	})
	defer watch.Wait()
	defer close(done)
	return fn(ctx)
}

// interrupted is the exit status of a program that Ctrl-C has ended.
const interrupted = 130

// converse reads messages until the input ends.
func (t Terminal) converse(ctx context.Context, turn kai.Turn) error {
	for {
		var text string
		var given bool
		t.console.Prompt("> ")
		err := t.interruptible(ctx, func(ctx context.Context) (err error) {
			text, given, err = t.console.Line(ctx)
			return err
		})
		if err != nil && !errors.Is(err, context.Canceled) {
			return err
		}
		if !given || err != nil {
			return ctx.Err() // Ctrl-C at the prompt is no error
		}
		if text = strings.TrimSpace(text); text == "" {
			continue
		}
		err = t.interruptible(ctx, func(ctx context.Context) error { return t.say(ctx, turn, text) })
		if errors.Is(err, context.Canceled) && ctx.Err() == nil {
			t.console.Say(console.Amber, "Stopped.")
			continue
		}
		if err != nil {
			return err
		}
	}
}

// print prints the graph, a scene, the orders or the memories.
func (t Terminal) print(ctx context.Context, r Request) error {
	switch {
	case r.Draw:
		g, err := t.Graph(r.Agent)
		if err != nil {
			return command.Wrong("%v", err)
		}
		fmt.Fprint(t.Out, g.Mermaid())
	case r.Scene != "":
		scene, err := t.Scene(ctx, local, r.Scene)
		if errors.Is(err, studio.ErrNotFound) {
			return command.Wrong("there is no scene %q", r.Scene)
		}
		fmt.Fprint(t.Out, scene.Model)
		return err
	case r.Orders:
		orders, err := t.Orders(ctx, local)
		for _, order := range orders {
			fmt.Fprintf(t.Out, "%s of quote %s: %.2f €\n", order.ID, order.QuoteID, order.Total)
		}
		return err
	case r.Memories:
		q := memory.FactQuery{Reach: memory.Reach{Scope: memory.Scope{User: local, Workspace: r.Workspace}, AnyAgent: true}}
		for f, err := range t.Facts.List(ctx, q) {
			if err != nil {
				return err
			}
			fmt.Fprintf(t.Out, "%s: %s\n", f.Kind, tools.VisibleLine(f.Content))
		}
	}
	return nil
}

// say sends a message, or answers all open questions with yes or no.
func (t Terminal) say(ctx context.Context, turn kai.Turn, text string) error {
	word, reason, _ := strings.Cut(text, " ")
	yes, no := strings.EqualFold(word, "yes") && reason == "", strings.EqualFold(word, "no")
	snap, err := t.Snapshot(ctx, turn)
	if err != nil && !errors.Is(err, checkpoint.ErrNotFound) {
		return err
	}
	if !yes && !no || snap == nil || len(snap.Pauses) == 0 {
		turn.Input = text
		return t.show(t.Stream(ctx, turn))
	}
	open, err := agent.Approval.Open(snap)
	if err != nil {
		return err
	}
	for _, q := range open {
		decision := q.Prompt.Reject(reason)
		if yes {
			decision = q.Prompt.Approve()
		}
		if err := t.show(t.Answer(ctx, turn, q.ID, decision)); err != nil {
			return err
		}
	}
	return nil
}

// show prints the chunks of a run.
func (t Terminal) show(chunks iter.Seq2[kai.Chunk, error]) error {
	defer t.console.End()
	for chunk, err := range chunks {
		if err != nil {
			return err
		}
		switch chunk.Kind {
		case agent.ChunkText:
			t.console.Print(chunk.Text)
		case agent.ChunkToolStarted:
			t.console.Say(console.Faint, "· %s%s", t.title(chunk.Call.Name), details(*chunk.Call))
		case agent.ChunkToolFinished:
			if chunk.Answer.Status == llm.StatusError {
				t.console.Say(console.Amber, "· %s: %s", t.title(chunk.Call.Name), chunk.Answer.Text())
			}
		case kai.JobStarted:
			t.console.Say(console.Faint, "· scene %s: print it with -scene %[1]s", chunk.Job.ID)
		case agent.ChunkApproval:
			t.question(*chunk.Question)
		case agent.ChunkEnd:
			if r := chunk.Result; r.Reason == kai.Exhausted {
				t.console.Say(console.Amber, "The model still called tools after %d requests, so the turn ended.", r.Iterations)
			}
		}
	}
	return nil
}

// title returns the name of a tool for people.
func (t Terminal) title(name string) string {
	for _, one := range t.Tools() {
		if one.Name() == name {
			return one.Annotations().Title
		}
	}
	return name
}

// details returns the arguments of a call in words.
func details(c llm.ToolCall) string {
	var args map[string]any
	if json.Unmarshal(c.Arguments, &args) != nil {
		return ""
	}
	delete(args, "limit")
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(args)) {
		switch value := args[name].(type) {
		case string, float64, bool:
			parts = append(parts, fmt.Sprintf("%s %v", strings.ReplaceAll(name, "_", " "), value))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return ": " + strings.Join(parts, ", ")
}

// ask prints the open questions.
func (t Terminal) ask(snap *graph.Snapshot) {
	open, err := agent.Approval.Open(snap)
	if err != nil {
		return // the next answer reports the error
	}
	for _, q := range open {
		t.question(q.Prompt)
	}
}

// question asks a person to approve a call, and shows the preview or arguments and the bound values.
func (t Terminal) question(q tools.Question) {
	t.console.Say(console.Bold, "%s?", t.title(q.Tool))
	var bill kai.Bill
	var products []struct {
		ID    string  `json:"id"`
		Name  string  `json:"name"`
		Price float64 `json:"price"`
	}
	switch {
	case json.Unmarshal(q.Preview, &bill) == nil && len(bill.Lines) > 0:
		if bill.QuoteID != "" {
			t.console.Say("", "  of quote %s", tools.VisibleLine(bill.QuoteID))
		}
		for _, l := range bill.Lines {
			t.console.Say("", "  %d × %s %s at %.2f € = %.2f €", l.Quantity, tools.VisibleLine(l.ID), tools.VisibleLine(l.Name), l.Price, l.Sum)
		}
		t.console.Say(console.Bold, "  Total: %.2f €", bill.Total)
	case json.Unmarshal(q.Preview, &products) == nil:
		for _, p := range products {
			t.console.Say("", "  %s %s", tools.VisibleLine(p.ID), tools.VisibleLine(p.Name))
		}
	default:
		t.console.Say("", "%s", q.Text())
	}
	for _, bound := range q.Bound {
		t.console.Say(console.Faint, "  for %s", tools.VisibleLine(bound.Text))
	}
	if q.Problem != "" {
		t.console.Say(console.Amber, "  asked again: %s", tools.VisibleLine(q.Problem))
	}
	t.console.Say(console.Faint, "Answer \"yes\", or \"no\" and a reason.")
}
