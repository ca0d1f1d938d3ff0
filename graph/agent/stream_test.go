package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/llmtest"
	"github.com/weft-go/weft/state"
	"github.com/weft-go/weft/tools"
)

func memory() graph.Options {
	return graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})}
}

// watched is a run with its chunks.
type watched struct {
	chunks []agent.Chunk
	texts  map[string]string // by message
	err    error
}

func watch(events iter.Seq2[graph.Event, error]) *watched {
	w := &watched{texts: map[string]string{}}
	for c, err := range agent.Chunks(events) {
		w.chunks = append(w.chunks, c)
		if c.Kind == agent.ChunkText {
			w.texts[c.MessageID] += c.Text
		}
		w.err = err
	}
	return w
}

func (w *watched) snapshot(t *testing.T) *graph.Snapshot {
	t.Helper()
	if len(w.chunks) == 0 || w.err != nil || w.chunks[len(w.chunks)-1].Snapshot == nil {
		t.Fatalf("the run did not end: %v", w.err)
	}
	return w.chunks[len(w.chunks)-1].Snapshot
}

// kinds lists the kinds in order, runs of one kind once.
func (w *watched) kinds() string {
	var out []string
	for _, c := range w.chunks {
		out = append(out, string(c.Kind))
	}
	return strings.Join(slices.Compact(out), " ")
}

// whole is a model that does not stream.
func whole(replies ...llm.Message) llm.Model {
	n := 0
	return llm.ModelFunc(func(context.Context, llm.Request) iter.Seq2[llm.Chunk, error] {
		n++
		return llm.Reply(replies[n-1])
	})
}

func TestChunks(t *testing.T) {
	t.Parallel()
	set := newSet(t, tools.New("count", "Counts.", func(ctx context.Context, _ struct{}) (int, error) {
		tools.Report(ctx, tools.Progress{Done: 1, Total: 2})
		graph.Emit(ctx, "products found")
		return 2, nil
	}))
	streaming := llmtest.NewScript(
		llmtest.Call("count", `{}`).Thinking("hm").Costing(llm.Usage{Input: 10, Output: 5}),
		llmtest.Say("There are exactly two of them.").Costing(llm.Usage{Input: 20, Output: 6}),
	)
	counting := llm.Assistant("", llm.ToolCall{ID: "c1", Name: "count"})
	counting.Parts = []llm.Part{{Type: llm.PartReasoning, Text: "hm"}}
	for name, model := range map[string]llm.Model{
		"streaming": streaming,
		"at once":   whole(counting, llm.Assistant("There are exactly two of them.")),
	} {
		g := newAgent(t, model, set, agent.Options{})
		w := watch(g.Stream(t.Context(), agent.Messages.Put(llm.User("count"))))
		snap := w.snapshot(t)
		for _, m := range agent.Messages.All(snap) {
			if m.Role == llm.RoleAssistant && w.texts[m.ID] != m.Text() {
				t.Errorf("%s: the chunks make %q, want %q", name, w.texts[m.ID], m.Text())
			}
		}
		want := "node_started turn reasoning tool_call usage node_finished " +
			"node_started tool_started progress value tool_finished node_finished " +
			"node_started turn text usage outcome node_finished end"
		if w.kinds() != want {
			t.Errorf("%s: got  %s\nwant %s", name, w.kinds(), want)
		}
		for _, c := range w.chunks {
			if c.Kind != agent.ChunkEnd && (c.Node == "" || c.Task == "" || c.Agent != "") {
				t.Errorf("%s: %s has node %q, task %q, agent %q", name, c.Kind, c.Node, c.Task, c.Agent)
			}
			if c.Kind == agent.ChunkToolFinished && (c.Call.Name != "count" || c.Answer.Text() != "2") {
				t.Errorf("%s: got %+v", name, c)
			}
			if _, err := json.Marshal(c); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

func TestChunksOfFailure(t *testing.T) {
	t.Parallel()
	broken := errors.New("no quota")
	g := newAgent(t, llmtest.NewScript(llmtest.Fail(broken)), nil, agent.Options{})
	w := watch(g.Stream(t.Context(), agent.Messages.Put(llm.User("hi"))))
	if got, want := w.kinds(), "node_started turn node_finished error"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	for _, c := range w.chunks[2:] {
		if !strings.Contains(c.Problem, "no quota") {
			t.Errorf("%s says %q", c.Kind, c.Problem)
		}
	}
	if !errors.Is(w.err, broken) {
		t.Errorf("got %v", w.err)
	}
}

// Any node speaks by Ask, and a run may be left in the middle.
func TestAskInAnyNode(t *testing.T) {
	t.Parallel()
	note := state.Last[string]("note")
	b := graph.New("notes", note)
	b.Node("write", func(ctx context.Context, _ state.View) (state.Update, error) {
		reply, err := agent.Ask(ctx, llmtest.NewScript(llmtest.Say("warp and weft")), llm.Request{Messages: []llm.Message{llm.User("?")}})
		return state.Update{note.Put(reply.ID + " " + reply.Text())}, err
	})
	b.Edge(graph.Start, "write")
	g, err := b.Compile(graph.Options{})
	if err != nil {
		t.Fatal(err)
	}
	w := watch(g.Stream(t.Context()))
	snap := w.snapshot(t)
	for id, text := range w.texts {
		if want := id + " " + text; note.Get(snap) != want || text != "warp and weft" {
			t.Errorf("got %q, want %q", note.Get(snap), want)
		}
	}
	for c, err := range agent.Chunks(g.Stream(t.Context())) {
		if err != nil {
			t.Fatal(err)
		}
		if c.Kind == agent.ChunkText {
			break
		}
	}
}

// Two agents in one graph, each with a conversation of its own: what they say is
// told apart, and what they cost is added up.
func TestAgentsSideBySide(t *testing.T) {
	t.Parallel()
	left, right := state.Keyed("left", llm.ByID), state.Keyed("right", llm.ByID)
	b := graph.New("pair", left, right, agent.Usage)
	for name, ch := range map[string]*state.KeyedChannel[llm.Message]{"left": left, "right": right} {
		reply := llmtest.Say("I am the " + name + " one").Costing(llm.Usage{Input: 3, Output: 4})
		a, err := agent.New(name, llmtest.NewScript(reply), nil, agent.Options{Messages: ch})
		if err != nil {
			t.Fatal(err)
		}
		b.Subgraph(name, a)
		b.Edge(graph.Start, name)
	}
	g, err := b.Compile(graph.Options{})
	if err != nil {
		t.Fatal(err)
	}
	w := watch(g.Stream(t.Context(), left.Put(llm.User("who?")), right.Put(llm.User("who?"))))
	said := map[string]string{}
	for _, c := range w.chunks {
		said[c.Agent] += c.Text
	}
	snap := w.snapshot(t)
	for name, ch := range map[string]*state.KeyedChannel[llm.Message]{"left": left, "right": right} {
		want := "I am the " + name + " one"
		if last, _ := ch.Last(snap); last.Text() != want || said[name] != want || last.Name != name {
			t.Errorf("%s said %q, streamed %q", last.Name, last.Text(), said[name])
		}
	}
	if got := agent.Usage.Get(snap).Total; got != 14 {
		t.Errorf("%d tokens, want 14", got)
	}
}

// Several calls wait for a person; each is shown with the agent that asks.
func TestChunksOfPause(t *testing.T) {
	t.Parallel()
	set := newSet(t, tools.New("send", "Sends.", func(context.Context, sumInput) (string, error) { return "sent", nil }),
		tools.New("ask", "Asks.", func(ctx context.Context, _ struct{}) (string, error) {
			_, err := approve.Wait(ctx, "well?")
			return "", err
		}))
	inner := newAgent(t, llmtest.NewScript(llmtest.Calls(
		llm.ToolCall{Name: "send", Arguments: json.RawMessage(`{"a":1,"b":2}`)}, llm.ToolCall{Name: "ask"},
	)), set, agent.Options{Tools: tools.Options{Approval: tools.Approval{Rule: tools.Named("send")}}})
	b := graph.New("outer", agent.Messages)
	b.Subgraph("clerk", inner)
	b.Edge(graph.Start, "clerk")
	g, err := b.Compile(memory())
	if err != nil {
		t.Fatal(err)
	}
	w := watch(g.Thread("t").Stream(t.Context(), agent.Messages.Put(llm.User("go"))))
	var got []string
	for _, c := range w.chunks {
		if c.Pause != nil {
			line := fmt.Sprint(c.Kind, " ", c.Agent, " ", c.Node, " ", c.Task)
			if c.Question != nil {
				line += " " + c.Question.Tool + string(c.Question.Arguments)
			}
			got = append(got, line)
		}
	}
	want := []string{`approval clerk tools tools[0] send{"a":1,"b":2}`, "pause clerk tools tools[1]"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
