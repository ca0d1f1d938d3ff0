package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/state"
)

// watcher shows the events of a run as they come.
type watcher struct {
	console console
	end     *graph.Snapshot // where the run ended
	seen    int             // messages that were shown, or were there before
	stored  string          // the checkpoint of what is shown next
	midLine bool            // an answer is being written
}

// show shows an event. There are more kinds than these; see graph.Event.
func (w *watcher) show(event graph.Event) {
	switch e := event.(type) {
	case graph.RunStarted:
		w.seen = agent.Messages.Len(e.State)
	case graph.StepStarted:
		w.checkpoint() // that of the input
	case graph.Emitted:
		// A node emits what it likes. The agent's model node emits chunks.
		if chunk, ok := e.Value.(llm.Chunk); ok && chunk.Kind == llm.ChunkText {
			w.text(chunk.Text)
		}
	case graph.Checkpointed:
		w.stored = e.ID // comes before the change that it holds is shown
	case graph.StateChanged:
		w.endLine()
		w.messages(e.State)
		w.checkpoint()
	case graph.TaskFinished:
		if e.Err != nil && !errors.Is(e.Err, context.Canceled) {
			w.endLine()
			w.console.line("failed", e.Err.Error())
		}
	case graph.RunEnded:
		w.end = e.Snapshot
		w.outcome(agent.Result.Get(e.Snapshot))
	}
}

// outcome shows what a run cost, and why it stopped if not with an answer.
func (w *watcher) outcome(o agent.Outcome) {
	if o.Problem != "" {
		w.console.line("stopped", string(o.Reason)+": "+o.Problem)
	}
	if o.Usage.Total > 0 {
		w.console.line("tokens", fmt.Sprintf("%d in, %d out", o.Usage.Input, o.Usage.Output))
	}
}

func (w *watcher) checkpoint() {
	if w.stored != "" {
		w.console.line("checkpoint", brief(w.stored))
		w.stored = ""
	}
}

// text shows a piece of an answer.
func (w *watcher) text(piece string) {
	if !w.midLine && piece != "" {
		w.console.say("\n")
		w.midLine = true
	}
	w.console.say(piece)
}

func (w *watcher) endLine() {
	if w.midLine {
		w.console.say("\n\n")
		w.midLine = false
	}
}

// messages shows the tool calls and the results that a superstep added. Texts
// of the model were shown as they came.
func (w *watcher) messages(s state.View) {
	for i, m := range agent.Messages.All(s) {
		if i < w.seen {
			continue
		}
		for _, c := range m.ToolCalls {
			w.console.line("call", clip(c.Name+" "+c.Text(), 100))
		}
		if m.Role == llm.RoleTool {
			w.console.line("result", clip(m.Name+" "+m.Text(), 100))
		}
	}
	w.seen = agent.Messages.Len(s)
}
