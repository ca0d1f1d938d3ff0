// Package terminal is how a person reaches the platform at a terminal: a message, the answer to a question, a look at
// what there is.
package terminal

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/examples/designer/internal/kai"
	"github.com/weft-go/weft/examples/designer/internal/studio"
	"github.com/weft-go/weft/examples/internal/command"
	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/tools"
)

// A Terminal is the user's end.
type Terminal struct {
	*kai.Platform
	// Work learns what was said, in the background, until the program ends.
	Work func()
	// Model is what the model is called.
	Model string
	In    io.Reader
	Out   io.Writer
}

// A Request is what the user asks for.
type Request struct {
	Agent, Conversation, Workspace string
	// Message is said. Without one the terminal goes on with a turn that broke off, or reads messages.
	Message string
	// Instead, it prints one of these: the graph, the orders, what is known, the model of a scene.
	Draw, Orders, Memories bool
	Scene                  string
}

// local is the user of a terminal.
const local = "local"

// Do does what the user asks for.
func (t Terminal) Do(ctx context.Context, r Request) error {
	if r.Draw || r.Scene != "" || r.Orders || r.Memories {
		return t.print(ctx, r)
	}
	turn := kai.Turn{User: local, Workspace: r.Workspace, Agent: r.Agent, Conversation: r.Conversation}
	snap, err := t.Snapshot(ctx, turn)
	switch {
	case errors.Is(err, kai.ErrUnknownAgent):
		return command.Wrong("%v", err)
	case err != nil && !errors.Is(err, checkpoint.ErrNotFound):
		return err
	case r.Message != "":
		return t.say(ctx, turn, r.Message)
	case err == nil && !snap.Done() && len(snap.Pauses) == 0:
		return t.show(t.Resume(ctx, turn))
	}
	t.Work() // this takes longer than a turn
	fmt.Fprintf(t.Out, "model: %s\nconversation: %s\n", t.Model, r.Conversation)
	lines := bufio.NewScanner(t.In)
	for lines.Scan() {
		if text := strings.TrimSpace(lines.Text()); text != "" {
			if err := t.say(ctx, turn, text); err != nil {
				return err
			}
		}
	}
	return lines.Err()
}

// print prints what is asked for.
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
			fmt.Fprintf(t.Out, "%s: %s\n", f.Kind, f.Content)
		}
	}
	return nil
}

// say is a message, or the answer to the questions that are open.
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

// show shows what happens.
func (t Terminal) show(chunks iter.Seq2[kai.Chunk, error]) error {
	for chunk, err := range chunks {
		if err != nil {
			return err
		}
		switch chunk.Kind {
		case agent.ChunkText:
			fmt.Fprint(t.Out, chunk.Text)
		case agent.ChunkToolStarted:
			fmt.Fprintf(t.Out, "[%s %s]\n", chunk.Call.Name, chunk.Call.Text())
		case agent.ChunkToolFinished:
			if chunk.Answer.Status == llm.StatusError {
				fmt.Fprintf(t.Out, "[%s: %s]\n", chunk.Call.Name, chunk.Answer.Text())
			}
		case kai.ProductsFound:
			fmt.Fprintf(t.Out, "[%d products]\n", len(chunk.Products))
		case kai.JobStarted:
			fmt.Fprintf(t.Out, "[scene %s, %s]\n", chunk.Job.ID, chunk.Job.Status)
		case agent.ChunkApproval:
			fmt.Fprintf(t.Out, "May %s be called with this?\n%s\nAnswer \"yes\", or \"no\" and a reason.\n", tools.VisibleLine(chunk.Question.Tool), chunk.Prompt)
		case agent.ChunkEnd:
			r := chunk.Result
			fmt.Fprintf(t.Out, "\n(%s, %d iterations, %d tokens, turn %d)\n", r.Reason, r.Iterations, r.TotalTokens, r.Turns)
		}
	}
	return nil
}
