package terminal

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"

	"github.com/weft-go/weft/examples/calendar/internal/assistant"
	"github.com/weft-go/weft/examples/internal/console"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/state"
	"github.com/weft-go/weft/tools"
)

// run runs the graph. It shows the progress, the answer and the open question.
func (t *Terminal) run(ctx context.Context, from *graph.Thread, writes ...state.Write) error {
	defer t.console.End()
	for chunk, err := range agent.Chunks(from.Stream(ctx, writes...)) {
		if err != nil {
			return err
		}
		switch chunk.Kind {
		case agent.ChunkText:
			if chunk.Node == assistant.SynthesizeResponse {
				t.console.Print(chunk.Text)
			}
		case agent.ChunkEnd:
			t.here = chunk.Snapshot
		default:
			t.progress(chunk)
		}
	}
	t.waits()
	return nil
}

// progress shows a step of a run.
func (t *Terminal) progress(chunk agent.Chunk) {
	switch {
	case t.Verbose && chunk.Kind == agent.ChunkNodeStarted && chunk.Path == "":
		t.console.Say(console.Faint, "node       %s", chunk.Node)
	case t.Verbose && chunk.Kind == agent.ChunkToolStarted:
		t.console.Say(console.Faint, "call       %s %s", chunk.Call.Name, tools.VisibleLine(chunk.Call.Text()))
	case t.Verbose && chunk.Kind == agent.ChunkToolFinished:
		t.console.Say(console.Faint, "answer     %s", clip(chunk.Answer.Text()))
	case chunk.Kind == agent.ChunkToolStarted:
		if text := t.words(*chunk.Call); text != "" {
			t.console.Say(console.Faint, "· %s", text)
		}
	}
}

// words describes a call for a person. It returns "" for a tool that is not in t.Tools, and for a destructive call of
// the planner, which does not run before the user has confirmed it.
func (t *Terminal) words(c llm.ToolCall) string {
	name, arguments, planned := c.Name, c.Arguments, c.Name == tools.InvokeTool
	if planned {
		var in struct {
			Tool   string          `json:"tool_name"`
			Params json.RawMessage `json:"params"`
		}
		if json.Unmarshal(c.Arguments, &in) != nil {
			return ""
		}
		name, arguments = in.Tool, in.Params
	}
	tool, ok := t.Tools.Lookup(name)
	if !ok || planned && tool.Annotations().Destructive {
		return ""
	}
	text := tool.Annotations().Title
	var about struct{ Title, Query, Subject string }
	if json.Unmarshal(arguments, &about) == nil && about.Title+about.Query+about.Subject != "" {
		text += ": " + clip(cmp.Or(about.Title, about.Query, about.Subject))
	}
	return text
}

// waits shows the open question, if any.
func (t *Terminal) waits() {
	if c := assistant.Waiting(t.here); c != nil {
		t.console.Say(console.Bold, "%s", c.Message)
	}
}

// clip returns the beginning of a text as one line.
func clip(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if r := []rune(text); len(r) > 100 {
		text = string(r[:99]) + "…"
	}
	return tools.VisibleLine(text)
}
