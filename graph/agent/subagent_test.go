package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/llmtest"
	"github.com/weft-go/weft/state"
	"github.com/weft-go/weft/tools"
)

// answers is a model that replies with "answer to" and the last message of the request.
var answers = llm.ModelFunc(func(_ context.Context, r llm.Request) iter.Seq2[llm.Chunk, error] {
	last := r.Messages[len(r.Messages)-1]
	return llm.Reply(llm.Assistant("answer to " + last.Text()))
})

// calls returns one call of a tool for each task.
func calls(tool string, tasks ...string) llmtest.Reply {
	var list []llm.ToolCall
	for i, task := range tasks {
		arguments, _ := json.Marshal(map[string]string{"task": task})
		list = append(list, llm.ToolCall{ID: fmt.Sprint("call ", i), Name: tool, Arguments: arguments})
	}
	return llmtest.Calls(list...)
}

// Five calls of one sub-agent in one reply run as five tasks. Each sees only its task, and each
// call gets its answer.
func TestParallelCallsOfASubAgentAreAnsweredEachOnItsOwn(t *testing.T) {
	t.Parallel()
	own := state.Keyed("researcher_messages", llm.ByID)
	for name, build := range map[string]func(tool string) (*graph.Graph, error){
		"as a tool": func(string) (*graph.Graph, error) {
			researcher, err := agent.New("researcher", answers, nil, agent.Options{})
			require.NoError(t, err)
			return agent.New("boss", llmtest.NewScript(calls("researcher", "a", "b", "c", "d", "e"), llmtest.Say("ok")), nil, agent.Options{
				Use: []agent.Middleware{agent.AsTool(agent.SubAgent{Agent: researcher, Description: "It looks things up."})}, Graph: memory(),
			})
		},
		"member": func(tool string) (*graph.Graph, error) {
			return agent.Supervisor("boss", llmtest.NewScript(calls(tool, "a", "b", "c", "d", "e"), llmtest.Say("ok")), nil,
				[]agent.Member{member(t, "researcher", nil, own, answers)}, agent.Options{Graph: memory()})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g, err := build(agent.HandoverPrefix + "researcher")
			require.NoError(t, err)
			w := watch(g.Thread("1").Stream(t.Context(), agent.Messages.Put(llm.User("go"))))
			assert.Equal(t, "user:go | assistant | tool:answer to a | tool:answer to b | tool:answer to c | tool:answer to d | tool:answer to e | assistant:ok", roles(w.snapshot(t)))
			paths, finished := map[string]string{}, map[string]string{}
			for _, c := range w.chunks {
				if c.Kind == agent.ChunkText && c.Path != "" {
					paths[c.Path] += c.Text
				}
				if c.Kind == agent.ChunkToolFinished {
					finished[c.Call.ID] += c.Answer.Text()
				}
			}
			assert.Equal(t, map[string]string{
				"researcher[0]": "answer to a", "researcher[1]": "answer to b", "researcher[2]": "answer to c",
				"researcher[3]": "answer to d", "researcher[4]": "answer to e",
			}, paths, "the texts by the path of the stream")
			assert.Equal(t, map[string]string{
				"call 0": "answer to a", "call 1": "answer to b", "call 2": "answer to c", "call 3": "answer to d", "call 4": "answer to e",
			}, finished, "one end for each call, with the answer")
		})
	}
}

// Concurrent handovers to members that share the conversation of the supervisor have separate
// tasks.
func TestParallelHandoversInASharedConversationHaveTheirTasks(t *testing.T) {
	t.Parallel()
	g, err := agent.Supervisor("boss", llmtest.NewScript(calls(agent.HandoverPrefix+"researcher", "a", "b"), llmtest.Say("ok")), nil,
		[]agent.Member{member(t, "researcher", nil, nil, answers)}, agent.Options{Graph: memory()})
	require.NoError(t, err)
	snap, err := g.Thread("1").Invoke(t.Context(), agent.Messages.Put(llm.User("go")))
	require.NoError(t, err)
	assert.Equal(t, "user:go | assistant | tool:Handed over to researcher. Its task: a | tool:Handed over to researcher. Its task: b"+
		" | assistant:answer to a | assistant:answer to b | assistant:ok", roles(snap))
}

// Three of five concurrent sub-agents ask a question. Each answer is given to a new build of the
// agents, as in another process. A sub-agent that has ended does not run again.
func TestQuestionsOfSubAgentsComeBackInOtherProcesses(t *testing.T) {
	t.Parallel()
	store := memcheckpoint.New(memcheckpoint.Options{})
	ran := map[string]int{}
	sub := llm.ModelFunc(func(_ context.Context, r llm.Request) iter.Seq2[llm.Chunk, error] {
		task, last := r.Messages[0].Text(), r.Messages[len(r.Messages)-1]
		switch {
		case last.Role == llm.RoleTool:
			return llm.Reply(llm.Assistant(task + ": " + last.Text()))
		case strings.HasPrefix(task, "mail"):
			return llm.Reply(llm.Assistant("", llm.ToolCall{ID: "send " + task, Name: "send", Arguments: json.RawMessage(`{"to":"` + task + `"}`)}))
		}
		return llm.Reply(llm.Assistant("answer to " + task))
	})
	boss := func() *graph.Thread {
		send := tools.New("send", "Sends.", func(_ context.Context, in struct {
			To string `json:"to"`
		},
		) (string, error) {
			ran[in.To]++
			return "sent to " + in.To, nil
		})
		o := agent.Options{Tools: tools.Options{Approval: tools.Approval{Rule: tools.Named("send")}}}
		mailer, err := agent.New("mailer", sub, newSet(t, send), o)
		require.NoError(t, err)
		model := llm.ModelFunc(func(ctx context.Context, r llm.Request) iter.Seq2[llm.Chunk, error] {
			reply := llmtest.Say("ok")
			if len(r.Messages) == 1 {
				reply = calls("mailer", "mail 0", "a", "mail 1", "b", "mail 2")
			}
			return llmtest.NewScript(reply).Stream(ctx, r)
		})
		g, err := agent.New("boss", model, nil, agent.Options{
			Use: []agent.Middleware{agent.AsTool(agent.SubAgent{Agent: mailer, Description: "It mails."})}, Graph: graph.Options{Checkpoints: store, MaxParallel: 1},
		})
		require.NoError(t, err)
		return g.Thread("1")
	}
	snap, err := boss().Invoke(t.Context(), agent.Messages.Put(llm.User("go")))
	require.NoError(t, err)
	for i := range 3 {
		open, err := agent.Approval.Open(snap)
		require.NoError(t, err)
		require.Len(t, open, 3-i)
		q := open[len(open)-1]
		assert.JSONEq(t, fmt.Sprintf(`{"to":"mail %d"}`, 2-i), string(q.Prompt.Arguments))
		snap, err = boss().Invoke(t.Context(), agent.Approval.Answer(q.ID, q.Prompt.Approve()))
		require.NoError(t, err)
	}
	assert.Equal(t, "user:go | assistant | tool:mail 0: sent to mail 0 | tool:answer to a | tool:mail 1: sent to mail 1 | tool:answer to b"+
		" | tool:mail 2: sent to mail 2 | assistant:ok", roles(snap))
	assert.Equal(t, map[string]int{"mail 0": 1, "mail 1": 1, "mail 2": 1}, ran)
}

// A sub-agent sees only its task, even if it has the channels of its caller. The caller does not
// see its conversation, but its usage is added to the usage of the caller.
func TestSubAgentSeesItsTaskAlone(t *testing.T) {
	t.Parallel()
	files := state.Map[string, string]("files")
	secret := state.Last[string]("secret")
	script := llmtest.NewScript(llmtest.Call("look", `{}`).Costing(llm.Usage{Input: 3}), llmtest.Say("seen").Costing(llm.Usage{Input: 4}))
	var sees []string
	look := tools.New("look", "Looks.", func(context.Context, struct{}) (tools.Result, error) {
		return tools.Result{Text: "nothing", Update: state.Update{files.Put(map[string]string{"b": "2"})}}, nil
	})
	sub, err := agent.New("sub", script, newSet(t, look), agent.Options{
		Channels: []state.Handle{files, secret},
		Use: []agent.Middleware{{BeforeModel: func(_ context.Context, r agent.Run) (state.Update, error) {
			sees = append(sees, fmt.Sprint(r.Messages.Len(r.State), " ", files.Get(r.State), " ", secret.Get(r.State)))
			return nil, nil
		}}},
	})
	require.NoError(t, err)
	boss := llmtest.NewScript(calls("helper", "look").Costing(llm.Usage{Input: 1}), llmtest.Say("ok").Costing(llm.Usage{Input: 2}))
	g, err := agent.New("boss", boss, nil, agent.Options{
		Channels: []state.Handle{files, secret},
		Use: []agent.Middleware{agent.AsTool(agent.SubAgent{
			Agent: sub, Name: "helper", Description: "It helps.", Private: []state.Handle{secret},
		})},
		Graph: memory(),
	})
	require.NoError(t, err)
	snap, err := g.Thread("1").Invoke(t.Context(), secret.Put("x"), files.Put(map[string]string{"a": "1"}), agent.Messages.Put(llm.User("go"), llm.Assistant("yes?"), llm.User("look")))
	require.NoError(t, err)
	assert.Equal(t, []string{"1 map[a:1] ", "3 map[a:1 b:2] "}, sees)
	assert.Equal(t, "user:go | assistant:yes? | user:look | assistant | tool:seen | assistant:ok", roles(snap))
	assert.Equal(t, map[string]string{"a": "1", "b": "2"}, files.Get(snap))
	assert.Equal(t, "x", secret.Get(snap))
	assert.EqualValues(t, 10, agent.Usage.Get(snap).Total)
	assert.EqualValues(t, 3, agent.Result.Get(snap).Usage.Total)
	assert.Equal(t, "boss", agent.Result.Get(snap).Agent)
	assert.True(t, script.Requests()[0].Messages[0].Relayed(), "the task is not the user's word")
}

// Any graph with a conversation can be a sub-agent.
func TestPlainGraphIsASubAgent(t *testing.T) {
	t.Parallel()
	b := graph.New("shout", agent.Messages)
	b.Node("shout", func(_ context.Context, s state.View) (state.Update, error) {
		task, _ := agent.Messages.Last(s)
		return state.Update{agent.Messages.Put(llm.Assistant(strings.ToUpper(task.Text())))}, nil
	})
	b.Edge(graph.Start, "shout")
	shout, err := b.Compile(graph.Options{})
	require.NoError(t, err)
	g, err := agent.New("boss", llmtest.NewScript(calls("shout", "hello"), llmtest.Say("ok")), nil, agent.Options{
		Use: []agent.Middleware{agent.AsTool(agent.SubAgent{Agent: shout, Description: "It shouts."})},
	})
	require.NoError(t, err)
	snap, err := g.Invoke(t.Context(), agent.Messages.Put(llm.User("go")))
	require.NoError(t, err)
	assert.Equal(t, "user:go | assistant | tool:HELLO | assistant:ok", roles(snap))
}

// The error of a sub-agent is the result of its call. The other calls get their answers.
func TestFailureOfASubAgentIsItsAnswer(t *testing.T) {
	t.Parallel()
	model := llm.ModelFunc(func(ctx context.Context, r llm.Request) iter.Seq2[llm.Chunk, error] {
		switch r.Messages[0].Text() {
		case "fail":
			return llmtest.NewScript(llmtest.Fail(errors.New("no quota"))).Stream(ctx, r)
		case "panic":
			panic("boom")
		}
		return answers(ctx, r)
	})
	sub, err := agent.New("sub", model, nil, agent.Options{})
	require.NoError(t, err)
	g, err := agent.New("boss", llmtest.NewScript(calls("sub", "fail", "a", "panic"), llmtest.Say("ok")), nil, agent.Options{
		Use: []agent.Middleware{agent.AsTool(agent.SubAgent{Agent: sub, Description: "It helps."})}, Graph: memory(),
	})
	require.NoError(t, err)
	snap, err := g.Thread("1").Invoke(t.Context(), agent.Messages.Put(llm.User("go")))
	require.NoError(t, err)
	messages := agent.Messages.Get(snap)
	require.Len(t, messages, 6)
	assert.Equal(t, llm.StatusError, messages[2].Status)
	assert.Contains(t, messages[2].Text(), "no quota")
	assert.Equal(t, "answer to a", messages[3].Text())
	assert.Equal(t, llm.StatusError, messages[4].Status)
	assert.Contains(t, messages[4].Text(), "boom")
}

// A sub-agent that fails adds nothing to the usage, although its earlier turns had a cost.
func TestFailedSubAgentAddsNoUsage(t *testing.T) {
	t.Parallel()
	look := tools.New("look", "Looks.", func(context.Context, struct{}) (string, error) { return "seen", nil })
	failing := llmtest.NewScript(llmtest.Call("look", `{}`).Costing(llm.Usage{Input: 5}), llmtest.Fail(errors.New("no quota")))
	sub, err := agent.New("sub", failing, newSet(t, look), agent.Options{})
	require.NoError(t, err)
	boss := llmtest.NewScript(calls("sub", "a").Costing(llm.Usage{Input: 1}), llmtest.Say("ok").Costing(llm.Usage{Input: 2}))
	g, err := agent.New("boss", boss, nil, agent.Options{
		Use: []agent.Middleware{agent.AsTool(agent.SubAgent{Agent: sub, Description: "It helps."})}, Graph: memory(),
	})
	require.NoError(t, err)
	snap, err := g.Thread("1").Invoke(t.Context(), agent.Messages.Put(llm.User("go")))
	require.NoError(t, err)
	assert.EqualValues(t, 3, agent.Usage.Get(snap).Input)
}

// An error of the store in a sub-agent fails the run, and is not the result of the call.
func TestFailedStoreInASubAgentFailsTheRun(t *testing.T) {
	t.Parallel()
	sub, err := agent.New("sub", answers, nil, agent.Options{})
	require.NoError(t, err)
	boss := llmtest.NewScript(calls("sub", "a"), llmtest.Say("ok"))
	g, err := agent.New("boss", boss, nil, agent.Options{
		Use:   []agent.Middleware{agent.AsTool(agent.SubAgent{Agent: sub, Description: "It helps."})},
		Graph: graph.Options{Checkpoints: &failingStore{Store: memcheckpoint.New(memcheckpoint.Options{})}},
	})
	require.NoError(t, err)
	_, err = g.Thread("1").Invoke(t.Context(), agent.Messages.Put(llm.User("go")))
	require.ErrorIs(t, err, errDisk)
	assert.Equal(t, 1, boss.Remaining(), "the model was not asked again")
}

var errDisk = errors.New("the disk is full")

// A failingStore returns an error for the checkpoints of subgraphs.
type failingStore struct{ checkpoint.Store }

func (s *failingStore) Put(ctx context.Context, c checkpoint.Checkpoint, head string) error {
	if c.Namespace != "" {
		return errDisk
	}
	return s.Store.Put(ctx, c, head)
}

// Tools of an agent can read the state, although the state is not stored with each call.
func TestToolsReadTheStateByReference(t *testing.T) {
	t.Parallel()
	type count int
	files := state.Map[string, string]("files")
	ls := tools.New("ls", "Lists.", func(_ context.Context, in struct{ Files tools.Bound[count] }) (string, error) {
		return fmt.Sprint(in.Files.Value(), " files"), nil
	})
	var script []llmtest.Reply
	for range 30 {
		script = append(script, llmtest.Call("ls", `{}`))
	}
	store := &countingStore{Store: memcheckpoint.New(memcheckpoint.Options{})}
	g := newAgent(t, llmtest.NewScript(append(script, llmtest.Say("done"))...), newSet(t, ls), agent.Options{
		MaxTurns: 40, Channels: []state.Handle{files}, Graph: graph.Options{Checkpoints: store},
		Tools: tools.Options{Bind: tools.Bindings{tools.Bind(func(_ context.Context, s state.View) (count, error) { return count(len(files.Get(s))), nil })}},
	})
	_, err := g.Thread("1").Update(t.Context(), graph.Start, files.Put(map[string]string{"big": strings.Repeat("x", 1<<20)}))
	require.NoError(t, err)
	store.bytes = 0
	snap, err := g.Thread("1").Invoke(t.Context(), agent.Messages.Put(llm.User("go")))
	require.NoError(t, err)
	assert.Equal(t, "1 files", agent.Messages.Get(snap)[2].Text())
	t.Logf("30 calls over 1 MB of state store %d bytes", store.bytes)
	assert.Less(t, store.bytes, 200_000)
}

// A countingStore counts the bytes that it stores.
type countingStore struct {
	checkpoint.Store
	bytes int
}

func (s *countingStore) Put(ctx context.Context, c checkpoint.Checkpoint, head string) error {
	s.bytes += len(c.Control)
	for _, ch := range c.Changes {
		s.bytes += len(ch.Data)
	}
	s.count(c.Writes)
	return s.Store.Put(ctx, c, head)
}

func (s *countingStore) PutWrites(ctx context.Context, k checkpoint.Key, writes []checkpoint.Write) error {
	s.count(writes)
	return s.Store.PutWrites(ctx, k, writes)
}

func (s *countingStore) count(writes []checkpoint.Write) {
	for _, w := range writes {
		s.bytes += len(w.Data)
	}
}

// New refuses a sub-agent that is nil, that has the name of its caller, or that does not have the channel in
// SubAgent.Messages.
func TestSubAgentIsChecked(t *testing.T) {
	t.Parallel()
	own := state.Keyed("own", llm.ByID)
	sub, err := agent.New("sub", answers, nil, agent.Options{Messages: own})
	require.NoError(t, err)
	for want, s := range map[string]agent.SubAgent{
		`agent "boss": middleware 1: its Agent is nil`:                                 {},
		`middleware "sub": agent "sub" has no channel "messages"; its conversation is`: {Agent: sub},
		`middleware "boss": it has the same name as the agent`:                         {Agent: sub, Name: "boss", Messages: own},
	} {
		_, err := agent.New("boss", answers, nil, agent.Options{Use: []agent.Middleware{agent.AsTool(s)}})
		require.ErrorContains(t, err, want)
	}
	_, err = agent.New("boss", answers, nil, agent.Options{Use: []agent.Middleware{
		agent.AsTool(agent.SubAgent{Agent: sub, Description: "One.", Messages: own}), agent.AsTool(agent.SubAgent{Agent: sub, Name: "again", Description: "Two.", Messages: own}),
	}})
	require.NoError(t, err)
}

// TestStructuredAnswerOfASubAgentIsItsResult proves that the result of a call has the structured answer
// of the sub-agent, given by the answer tool or after a text, and that the result is an error without such an answer.
func TestStructuredAnswerOfASubAgentIsItsResult(t *testing.T) {
	t.Parallel()
	const fits = `{"grade":"good"}`
	for _, tt := range []struct {
		name    string
		replies []llmtest.Reply
		want    string
		status  llm.Status
	}{
		{"by the tool", []llmtest.Reply{llmtest.Call("answer", fits)}, fits, llm.StatusSuccess},
		{"after a text", []llmtest.Reply{llmtest.Say("Fine."), llmtest.Say(fits)}, "Fine.\n\n" + fits, llm.StatusSuccess},
		{"unfit", []llmtest.Reply{llmtest.Say("Fine."), llmtest.Say("no"), llmtest.Say("no")}, "Fine.\n\nThe agent did not give its structured answer: ", llm.StatusError},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			sub, err := agent.New("sub", llmtest.NewScript(tt.replies...), nil, agent.Options{Answer: agent.Structured[grading]()})
			require.NoError(t, err)
			boss := newAgent(t, llmtest.NewScript(llmtest.Call("sub", `{"task":"grade"}`), llmtest.Say("ok")), nil, agent.Options{
				Use: []agent.Middleware{agent.AsTool(agent.SubAgent{Agent: sub, Description: "It grades."})},
			})
			snap, err := boss.Invoke(t.Context(), agent.Messages.Put(llm.User("go")))
			require.NoError(t, err)
			result := agent.Messages.Get(snap)[2]
			assert.True(t, strings.HasPrefix(result.Text(), tt.want), result.Text())
			assert.Equal(t, tt.status, result.Status)
		})
	}
}
