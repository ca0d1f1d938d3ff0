package main

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
	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/memory"
)

// console is the user's end.
type console struct {
	in       io.Reader
	out, err io.Writer
}

// local is the user of a terminal.
const local = "local"

// talk is what the program does at a terminal.
func (o options) talk(ctx context.Context, s *service, c console, model string) error {
	if o.draw || o.scene != "" || o.orders || o.memories {
		return o.print(ctx, s, c)
	}
	t := kai.Turn{User: local, Workspace: o.workspace, Agent: o.agent, Conversation: o.conversation}
	snap, err := s.Snapshot(ctx, t)
	switch {
	case errors.Is(err, kai.ErrUnknownAgent):
		return wrong("%v", err)
	case err != nil && !errors.Is(err, checkpoint.ErrNotFound):
		return err
	case o.message != "":
		return say(ctx, s.Platform, c, t, o.message)
	case err == nil && !snap.Done() && len(snap.Pauses) == 0:
		return c.show(s.Resume(ctx, t))
	}
	s.work() // this takes longer than a turn
	fmt.Fprintf(c.out, "model: %s\nconversation: %s\n", model, o.conversation)
	lines := bufio.NewScanner(c.in)
	for lines.Scan() {
		if text := strings.TrimSpace(lines.Text()); text != "" {
			if err := say(ctx, s.Platform, c, t, text); err != nil {
				return err
			}
		}
	}
	return lines.Err()
}

// print prints what the flags ask for.
func (o options) print(ctx context.Context, s *service, c console) error {
	switch {
	case o.draw:
		g, err := s.Graph(o.agent)
		if err != nil {
			return wrong("%v", err)
		}
		fmt.Fprint(c.out, g.Mermaid())
	case o.scene != "":
		scene, err := s.Scene(ctx, local, o.scene)
		if errors.Is(err, studio.ErrNotFound) {
			return wrong("there is no scene %q", o.scene)
		}
		fmt.Fprint(c.out, scene.Model)
		return err
	case o.orders:
		orders, err := s.Orders(ctx, local)
		for _, order := range orders {
			fmt.Fprintf(c.out, "%s of quote %s: %.2f €\n", order.ID, order.QuoteID, order.Total)
		}
		return err
	case o.memories:
		q := memory.Query{Scope: memory.Scope{User: local, Workspace: o.workspace}, AnyAgent: true}
		for f, err := range s.Facts.List(ctx, q) {
			if err != nil {
				return err
			}
			fmt.Fprintf(c.out, "%s: %s\n", f.Kind, f.Content)
		}
	}
	return nil
}

// say is a message, or the answer to the questions that are open.
func say(ctx context.Context, p *kai.Platform, c console, t kai.Turn, text string) error {
	word, reason, _ := strings.Cut(text, " ")
	yes, no := strings.EqualFold(word, "yes") && reason == "", strings.EqualFold(word, "no")
	snap, err := p.Snapshot(ctx, t)
	if err != nil && !errors.Is(err, checkpoint.ErrNotFound) {
		return err
	}
	if !yes && !no || snap == nil || len(snap.Pauses) == 0 {
		t.Input = text
		return c.show(p.Stream(ctx, t))
	}
	open, err := agent.Approval.Pending(snap)
	if err != nil {
		return err
	}
	for _, q := range open {
		decision := q.Prompt.Reject(reason)
		if yes {
			decision = q.Prompt.Approve()
		}
		if err := c.show(p.Answer(ctx, t, q.ID, decision)); err != nil {
			return err
		}
	}
	return nil
}

// show shows what happens.
func (c console) show(chunks iter.Seq2[kai.Chunk, error]) error {
	for chunk, err := range chunks {
		if err != nil {
			return err
		}
		switch chunk.Kind {
		case agent.ChunkText:
			fmt.Fprint(c.out, chunk.Text)
		case agent.ChunkToolStarted:
			fmt.Fprintf(c.out, "[%s %s]\n", chunk.Call.Name, chunk.Call.Text())
		case agent.ChunkToolFinished:
			if chunk.Answer.Status == llm.StatusError {
				fmt.Fprintf(c.out, "[%s: %s]\n", chunk.Call.Name, chunk.Answer.Text())
			}
		case kai.ProductsFound:
			fmt.Fprintf(c.out, "[%d products]\n", len(chunk.Products))
		case kai.JobStarted:
			fmt.Fprintf(c.out, "[scene %s, %s]\n", chunk.Job.ID, chunk.Job.Status)
		case agent.ChunkApproval:
			fmt.Fprintf(c.out, "May %s be called with %s?\nAnswer \"yes\", or \"no\" and a reason.\n", chunk.Question.Tool, chunk.Question.Arguments)
		case agent.ChunkEnd:
			r := chunk.Result
			fmt.Fprintf(c.out, "\n(%s, %d iterations, %d tokens, turn %d)\n", r.Reason, r.Iterations, r.TotalTokens, r.Turns)
		}
	}
	return nil
}
