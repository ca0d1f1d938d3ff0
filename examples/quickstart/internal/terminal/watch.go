package terminal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/state"
)

// A watcher shows the events of a run: the answer as it is written, and with -v the
// steps of the run.
type watcher struct {
	console *console
	verbose bool
	answer  *wrapper
	end     *graph.Snapshot // the state at the end of the run
	seen    int             // the number of messages that were shown, or are older than the run
	asked   string          // the question, until its line is shown
	stored  string          // the checkpoint that the next line names
	midLine bool            // an answer is being written
}

// show shows an event. It ignores other kinds of events; see graph.Event.
func (w *watcher) show(event graph.Event) {
	switch e := event.(type) {
	case graph.RunStarted:
		w.begin(e)
	case graph.StepStarted:
		if w.asked != "" {
			w.step(e.At().Step-1, w.asked) // the input's checkpoint is stored by now
			w.asked = ""
		}
	case graph.Emitted:
		// A node emits any value. The agent's model node emits chunks.
		if chunk, ok := e.Value.(llm.Chunk); ok && chunk.Kind == llm.ChunkText {
			w.text(chunk.Text)
		}
	case graph.Checkpointed:
		w.stored = e.ID // this event comes before the StateChanged of its step
	case graph.StateChanged:
		w.endLine()
		w.messages(e.At().Step, e.State)
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

func (w *watcher) begin(e graph.RunStarted) {
	if w.verbose {
		w.console.sayf("\n%4s  %-*s\n", "step", shortID, "checkpoint")
	}
	w.seen = agent.Messages.Len(e.State)
	if last, ok := agent.Messages.Last(e.State); ok && !e.Resumed {
		w.asked = "user asks: " + last.Text()
	}
}

// outcome shows the reason for which a run stopped without an answer, and with -v its tokens.
func (w *watcher) outcome(o agent.Outcome) {
	if o.Problem != "" {
		w.console.line("stopped", string(o.Reason)+": "+o.Problem)
	}
	if o.Usage.Total > 0 && w.verbose {
		w.console.line("tokens", fmt.Sprintf("%d in, %d out", o.Usage.Input, o.Usage.Output))
	}
}

// text shows a piece of an answer.
func (w *watcher) text(piece string) {
	if !w.midLine && piece != "" {
		if w.verbose {
			w.console.say("\n")
		}
		w.midLine = true
	}
	w.answer.write(piece)
}

func (w *watcher) endLine() {
	if w.midLine {
		w.answer.write("\n")
		if w.verbose {
			w.console.say("\n")
		}
		w.midLine = false
	}
}

// maxStep is the greatest number of characters of the description of a step.
const maxStep = 100

// step shows one event of a step, with -v.
func (w *watcher) step(step int, what string) {
	if w.verbose {
		w.console.sayf("%4d  %-*s  %s\n", step, shortID, brief(w.stored), clip(what, maxStep))
		w.stored = ""
	}
}

// messages shows the tool calls and the results that a superstep added. The method text has already
// shown the texts of the model.
func (w *watcher) messages(step int, s state.View) {
	for i, m := range agent.Messages.All(s) {
		if i < w.seen {
			continue
		}
		for _, c := range m.ToolCalls {
			w.step(step, "agent calls "+c.Name+readable(c.Text(), ": "))
		}
		switch {
		case m.Role == llm.RoleTool:
			w.step(step, m.Name+readable(m.Text(), " returns "))
		case m.Role == llm.RoleAssistant && len(m.ToolCalls) == 0:
			w.step(step, "agent answers")
		}
	}
	w.seen = agent.Messages.Len(s)
}

// readable describes a JSON object in words: query "loom", limit 5, 3 lines.
func readable(text, before string) string {
	var fields map[string]any
	if json.Unmarshal([]byte(text), &fields) != nil {
		return before + text
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		words := strings.ReplaceAll(name, "_", " ")
		switch v := fields[name].(type) {
		case []any:
			parts = append(parts, strconv.Itoa(len(v))+" "+words)
		case string:
			parts = append(parts, words+" "+strconv.Quote(v))
		default:
			parts = append(parts, fmt.Sprint(words, " ", v))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return before + strings.Join(parts, ", ")
}
