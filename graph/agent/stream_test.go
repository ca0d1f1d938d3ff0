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

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

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

// watched has the chunks of a run and its error.
type watched struct {
	chunks []agent.Chunk
	texts  map[string]string // the streamed text by message id
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
	require.NoError(t, w.err)
	require.NotEmpty(t, w.chunks)
	require.NotNil(t, w.chunks[len(w.chunks)-1].Snapshot, "the run did not end")
	return w.chunks[len(w.chunks)-1].Snapshot
}

// kinds returns the kinds of the chunks in order. Equal neighbours are listed once.
func (w *watched) kinds() string {
	var out []string
	for _, c := range w.chunks {
		out = append(out, string(c.Kind))
	}
	return strings.Join(slices.Compact(out), " ")
}

// whole returns a model that does not stream its replies.
func whole(replies ...llm.Message) llm.Model {
	n := 0
	return llm.ModelFunc(func(context.Context, llm.Request) iter.Seq2[llm.Chunk, error] {
		n++
		return llm.Reply(replies[n-1])
	})
}

// TestUpdatesOfAnAgentAreRead proves that the channels of an agent can read the update of each of the agent's tasks.
func TestUpdatesOfAnAgentAreRead(t *testing.T) {
	t.Parallel()
	set := newSet(t, tools.New("count", "Counts.", func(context.Context, struct{}) (int, error) { return 2, nil }))
	g := newAgent(t, llmtest.NewScript(llmtest.Call("count", `{}`), llmtest.Say("Two.")), set, agent.Options{})
	var texts []string
	for ev, err := range g.Stream(t.Context(), agent.Messages.Put(llm.User("count"))) {
		require.NoError(t, err)
		if done, ok := ev.(graph.TaskFinished); ok {
			wrote, err := state.NewView([]state.Handle{agent.Messages, agent.Result, agent.Usage}, done.Update...)
			require.NoError(t, err, done.At().Node)
			for _, m := range agent.Messages.All(wrote) {
				texts = append(texts, done.At().Node+": "+m.Text())
			}
		}
	}
	assert.Equal(t, []string{"agent: ", "tools: 2", "agent: Two."}, texts)
}

// TestChunksOfRun proves that a run has the same kinds of chunks in the same order, whether
// the model streams or not, and that the texts equal the stored message.
func TestChunksOfRun(t *testing.T) {
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
			if m.Role == llm.RoleAssistant {
				assert.Equal(t, m.Text(), w.texts[m.ID], "the text of the chunks, %s", name)
			}
		}
		want := "node_started turn reasoning tool_call usage node_finished " +
			"node_started tool_started progress value tool_finished node_finished " +
			"node_started turn text usage outcome node_finished end"
		assert.Equal(t, want, w.kinds(), name)
		for _, c := range w.chunks {
			if c.Kind != agent.ChunkEnd {
				assert.NotEmpty(t, c.Node, "%s: the node of %s", name, c.Kind)
				assert.NotEmpty(t, c.Task, "%s: the task of %s", name, c.Kind)
				assert.Empty(t, c.Agent, "%s: the agent of %s", name, c.Kind)
			}
			if c.Kind == agent.ChunkToolFinished {
				assert.Equal(t, "count", c.Call.Name, name)
				assert.Equal(t, "2", c.Answer.Text(), name)
			}
			_, err := json.Marshal(c)
			require.NoError(t, err, name)
		}
	}
}

// TestAStopIsStreamed proves that if a run is stopped, the stream has the text of the last message once, in chunks
// like those of a reply, and equal to the stored text.
func TestAStopIsStreamed(t *testing.T) {
	t.Parallel()
	closed := agent.Middleware{Name: "hours", BeforeModel: func(context.Context, agent.Run) (state.Update, error) {
		return nil, agent.Stop(llm.Assistant("We are closed."))
	}}
	call := llmtest.Call("add", `{"a":1,"b":1}`)
	for name, c := range map[string]struct {
		model   llm.Model
		options agent.Options
		want    string
	}{
		"a middleware":          {llmtest.NewScript(), agent.Options{Use: []agent.Middleware{closed}}, "We are closed."},
		"the most turns":        {llmtest.NewScript(call), agent.Options{MaxTurns: 1}, "I stopped: the limit of model calls for one request (1) is reached."},
		"a refusal":             {llmtest.NewScript(llmtest.Fail(&llm.Error{Kind: llm.ErrContentFilter})), agent.Options{}, "I stopped: the provider refused or filtered the reply."},
		"a reply that has text": {llmtest.NewScript(stopping(llmtest.Say("so"), llm.StopFilter)), agent.Options{}, "so"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newAgent(t, c.model, newSet(t, tools.New("add", "Adds.", add)), c.options)
			w := watch(g.Stream(t.Context(), agent.Messages.Put(llm.User("go"))))
			last, _ := agent.Messages.Last(w.snapshot(t))
			assert.Equal(t, c.want, last.Text())
			assert.Equal(t, c.want, w.texts[last.ID], "the text of the chunks")
		})
	}
}

// The message of a Stop may be one that cannot be streamed as a reply, such as a user message.
func TestAStopMayHaveAnyMessage(t *testing.T) {
	t.Parallel()
	message := llm.User("Come back tomorrow.")
	stop := agent.Middleware{BeforeModel: func(context.Context, agent.Run) (state.Update, error) { return nil, agent.Stop(message) }}
	w := watch(newAgent(t, llmtest.NewScript(), nil, agent.Options{Use: []agent.Middleware{stop}}).Stream(t.Context(), agent.Messages.Put(llm.User("go"))))
	last, _ := agent.Messages.Last(w.snapshot(t))
	assert.Equal(t, llm.RoleUser, last.Role)
	assert.Equal(t, message.Text(), last.Text())
}

// TestChunksOfFailure proves that the last chunk of a failed run is a ChunkError.
func TestChunksOfFailure(t *testing.T) {
	t.Parallel()
	broken := errors.New("no quota")
	g := newAgent(t, llmtest.NewScript(llmtest.Fail(broken)), nil, agent.Options{})
	w := watch(g.Stream(t.Context(), agent.Messages.Put(llm.User("hi"))))
	got, want := w.kinds(), "node_started turn node_finished error"
	assert.Equal(t, want, got)
	for _, c := range w.chunks[2:] {
		assert.Contains(t, c.Problem, "no quota", "%s says %q", c.Kind, c.Problem)
	}
	require.ErrorIs(t, w.err, broken)
}

// TestAskInAnyNode proves that a node of an ordinary graph can stream a reply with Ask, and
// that the reader may leave the loop early.
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
	require.NoError(t, err)
	w := watch(g.Stream(t.Context()))
	snap := w.snapshot(t)
	for id, text := range w.texts {
		want := id + " " + text
		assert.Equal(t, want, note.Get(snap))
		assert.Equal(t, "warp and weft", text)
	}
	for c, err := range agent.Chunks(g.Stream(t.Context())) {
		require.NoError(t, err)
		if c.Kind == agent.ChunkText {
			break
		}
	}
}

// TestConcurrentAgentsAreSeparate proves that the chunks of two concurrent agents name
// their agent, that each has its own conversation, and that their usage is summed.
func TestConcurrentAgentsAreSeparate(t *testing.T) {
	t.Parallel()
	left, right := state.Keyed("left", llm.ByID), state.Keyed("right", llm.ByID)
	b := graph.New("pair", left, right, agent.Usage)
	for name, ch := range map[string]*state.KeyedChannel[llm.Message]{"left": left, "right": right} {
		reply := llmtest.Say("I am the " + name + " one").Costing(llm.Usage{Input: 3, Output: 4})
		a, err := agent.New(name, llmtest.NewScript(reply), nil, agent.Options{Messages: ch})
		require.NoError(t, err)
		b.Subgraph(name, a)
		b.Edge(graph.Start, name)
	}
	g, err := b.Compile(graph.Options{})
	require.NoError(t, err)
	w := watch(g.Stream(t.Context(), left.Put(llm.User("who?")), right.Put(llm.User("who?"))))
	said := map[string]string{}
	for _, c := range w.chunks {
		said[c.Agent] += c.Text
	}
	snap := w.snapshot(t)
	for name, ch := range map[string]*state.KeyedChannel[llm.Message]{"left": left, "right": right} {
		want := "I am the " + name + " one"
		last, _ := ch.Last(snap)
		assert.Equal(t, want, last.Text())
		assert.Equal(t, want, said[name])
		assert.Equal(t, name, last.Name)
	}
	got := agent.Usage.Get(snap).Total
	assert.EqualValues(t, 14, got, "tokens")
}

// TestChunksOfPause proves that each waiting call has one chunk, which names the agent.
func TestChunksOfPause(t *testing.T) {
	t.Parallel()
	set := newSet(t, tools.New("send", "Sends\u202e.", func(context.Context, sumInput) (string, error) { return "sent", nil }),
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
	require.NoError(t, err)
	w := watch(g.Thread("t").Stream(t.Context(), agent.Messages.Put(llm.User("go"))))
	var got []string
	for _, c := range w.chunks {
		if c.Pause != nil {
			line := fmt.Sprint(c.Kind, " ", c.Agent, " ", c.Node, " ", c.Task)
			if c.Question != nil {
				line += " " + c.Prompt
			}
			got = append(got, line)
		}
	}
	want := []string{"approval clerk tools tools[0] send: Sends\\u202e.\narguments: {\"a\":1,\"b\":2}", "pause clerk tools tools[1]"}
	assert.Equal(t, want, got)
}

// TestJSONOfAChunkHasItsValue proves that the JSON of a chunk has the value that a node emitted, and the text of a value
// that cannot be encoded.
func TestJSONOfAChunkHasItsValue(t *testing.T) {
	t.Parallel()
	values := []any{map[string]int{"done": 3}, "half", llm.Text("part"), 0, func() {}}
	b := graph.New("triage", agent.Messages)
	b.Node("triage", func(ctx context.Context, _ state.View) (state.Update, error) {
		for _, v := range values {
			graph.Emit(ctx, v)
		}
		return nil, nil
	})
	b.Edge(graph.Start, "triage")
	g, err := b.Compile(graph.Options{})
	require.NoError(t, err)
	var got []string
	for _, c := range watch(g.Stream(t.Context(), agent.Messages.Put(llm.User("hi")))).chunks {
		if c.Kind != agent.ChunkValue {
			continue
		}
		data, err := json.Marshal(c)
		require.NoError(t, err)
		var read struct{ Value json.RawMessage }
		require.NoError(t, json.Unmarshal(data, &read))
		got = append(got, string(read.Value))
	}
	require.Len(t, got, len(values))
	assert.Equal(t, []string{`{"done":3}`, `"half"`, `{"type":"text","text":"part"}`, "0"}, got[:4])
	assert.Contains(t, got[4], `"0x`)
}

// The chunk of a finished call has the answer that the model reads: a middleware may have changed it, or answered the
// call itself.
func TestAFinishedCallHasTheAnswerOfTheMiddleware(t *testing.T) {
	t.Parallel()
	secret := tools.New("secret", "Tells.", func(context.Context, struct{}) (string, error) { return "the password is 1234", nil })
	other := tools.New("other", "Is not run.", func(context.Context, struct{}) (string, error) { return "", errors.New("it ran") })
	set, err := tools.NewSet(secret, other)
	require.NoError(t, err)
	g := newAgent(t, llmtest.NewScript(llmtest.Calls(llm.ToolCall{Name: "secret"}, llm.ToolCall{Name: "other"}), llmtest.Say("ok")), set, agent.Options{
		Graph: memory(),
		Use: []agent.Middleware{{WrapTool: func(ctx context.Context, c agent.ToolCall, next agent.ToolFunc) (tools.Outcome, error) {
			if c.Call.Name == "other" {
				return tools.Outcome{Message: llm.ToolResult(c.Call, "answered before")}, nil
			}
			out, err := next(ctx, c)
			if err == nil {
				out.Message = llm.ToolResult(c.Call, "hidden")
			}
			return out, err
		}}},
	})
	w := watch(g.Thread("t").Stream(t.Context(), agent.Messages.Put(llm.User("go"))))
	require.NoError(t, w.err)
	finished := map[string]string{}
	for _, c := range w.chunks {
		if c.Kind == agent.ChunkToolFinished {
			assert.NotContains(t, finished, c.Call.Name, "the call ended twice")
			finished[c.Call.Name] = c.Answer.Text()
		}
	}
	assert.Equal(t, map[string]string{"secret": "hidden", "other": "answered before"}, finished)
}
