package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/llmtest"
	"github.com/weft-go/weft/state"
	"github.com/weft-go/weft/tools"
)

func member(t *testing.T, name string, set *tools.Set, ch *state.KeyedChannel[llm.Message], model llm.Model) agent.Member {
	t.Helper()
	o := agent.Options{Messages: ch, Tools: tools.Options{Approval: tools.Approval{Rule: tools.Destructive()}}}
	a, err := agent.New(name, model, set, o)
	require.NoError(t, err)
	return agent.Member{Agent: a, Description: "It is the " + name + ".", Messages: ch}
}

// hands returns a call that hands over a task to a member.
func hands(to, task string) llm.ToolCall {
	arguments, _ := json.Marshal(map[string]string{"task": task})
	return llm.ToolCall{Name: agent.HandoverPrefix + to, Arguments: arguments}
}

// TestSupervisorHandsOverTwice proves that a supervisor can hand over to two members, one
// after the other, with shared and with separate conversations. A question of a member pauses
// the run, and a person edits the call in the next run.
func TestSupervisorHandsOverTwice(t *testing.T) {
	t.Parallel()
	for _, apart := range []bool{true, false} {
		name := map[bool]string{true: "last answer", false: "whole history"}[apart]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var sent atomic.Value
			mail := newSet(t, tools.New("send", "Sends.", func(_ context.Context, in sumInput) (string, error) {
				sent.Store(in)
				return "sent", nil
			}).Annotate(tools.Annotations{Destructive: true}))
			var writerMessages, clerkMessages *state.KeyedChannel[llm.Message]
			if apart {
				writerMessages, clerkMessages = state.Keyed("writer_messages", llm.ByID), state.Keyed("clerk_messages", llm.ByID)
			}
			writes := llmtest.NewScript(llmtest.Say("a letter").Costing(llm.Usage{Input: 1}))
			clerks := llmtest.NewScript(
				llmtest.Call("send", `{"a":1,"b":2}`).Costing(llm.Usage{Input: 1}), llmtest.Say("it is sent").Costing(llm.Usage{Input: 1}))
			boss := llmtest.NewScript(
				llmtest.Calls(hands("writer", "write a letter")).Costing(llm.Usage{Input: 1}),
				llmtest.Calls(hands("clerk", "send the letter")).Costing(llm.Usage{Input: 1}),
				llmtest.Say("all is done").Costing(llm.Usage{Input: 1}),
			)
			g, err := agent.Supervisor("boss", boss, nil, []agent.Member{
				member(t, "writer", nil, writerMessages, writes), member(t, "clerk", mail, clerkMessages, clerks),
			}, agent.Options{System: "Hand over.", Graph: memory()})
			require.NoError(t, err)
			th := g.Thread("t")
			w := watch(th.Stream(t.Context(), agent.Messages.Put(llm.User("write and send"))))
			snap := w.snapshot(t)
			open, err := agent.Approval.Open(snap)
			require.NoError(t, err)
			require.Len(t, open, 1)
			require.Equal(t, "clerk", open[0].Node)
			require.Equal(t, `{"a":1,"b":2}`, string(open[0].Prompt.Arguments))
			answer := open[0].Prompt.Edit(json.RawMessage(`{"a":5,"b":6}`))
			more := watch(th.Stream(t.Context(), agent.Approval.Answer(open[0].ID, answer)))
			snap = more.snapshot(t)
			assert.Equal(t, sumInput{5, 6}, sent.Load())
			assert.True(t, snap.Done())
			said := map[string]string{}
			for _, c := range append(w.chunks, more.chunks...) {
				said[c.Agent] += c.Text
			}
			assert.Equal(t, "a letter", said["writer"])
			assert.Equal(t, "it is sent", said["clerk"])
			assert.Equal(t, "all is done", said[""])
			got := agent.Usage.Get(snap).Total
			assert.EqualValues(t, 6, got, "tokens")
			r := agent.Result.Get(snap)
			assert.Equal(t, "boss", r.Agent)
			assert.Equal(t, agent.Answered, r.Reason)
			assert.EqualValues(t, 3, r.Turns)
			assert.EqualValues(t, 3, r.Usage.Total)
			want := "user:write and send | assistant | tool:Handed over to writer. Its task: write a letter | assistant:a letter" +
				" | assistant | tool:Handed over to clerk. Its task: send the letter | assistant"
			if apart {
				want = "user:write and send | assistant | tool:a letter | assistant | tool:it is sent | assistant:all is done"
			}
			gotRoles := roles(snap)
			assert.True(t, strings.HasPrefix(gotRoles, want))
			last := boss.Requests()[2].Messages
			role := last[len(last)-1].Role
			assert.NotEqual(t, llm.RoleAssistant, role)
			if !apart {
				return
			}
			var told []string
			for _, m := range clerks.Requests()[0].Messages {
				told = append(told, fmt.Sprintf("%s %t:%s", m.Role, m.Relayed(), m.Text()))
			}
			wantTold := []string{"user false:write and send", "user true:writer answered:\n\na letter", "user true:send the letter"}
			assert.Equal(t, wantTold, told, "the request to the clerk's model")
		})
	}
}

// TestSupervisorWaitsForAllMembers proves that the supervisor's model is asked again only when
// all concurrent members have ended, even if the reply also calls another tool.
func TestSupervisorWaitsForAllMembers(t *testing.T) {
	t.Parallel()
	left, right := state.Keyed("left", llm.ByID), state.Keyed("right", llm.ByID)
	boss := llmtest.NewScript(
		llmtest.Calls(hands("left", "l"), hands("right", ""), hands("left", "more"), llm.ToolCall{Name: "add", Arguments: json.RawMessage(`{"a":1,"b":2}`)}),
		llmtest.Say("both"),
	)
	g, err := agent.Supervisor("boss", boss, newSet(t, tools.New("add", "Adds.", add)), []agent.Member{
		member(t, "left", nil, left, llmtest.Echo{}), member(t, "right", nil, right, llmtest.NewScript(end(llm.StopFilter))),
	}, agent.Options{})
	require.NoError(t, err)
	snap, err := g.Invoke(t.Context(), agent.Messages.Put(llm.User("go")))
	require.NoError(t, err)
	got := roles(snap)
	assert.True(t, strings.HasPrefix(got, "user:go | assistant | tool:l | tool:The agent did not answer: content_filter"), got)
	assert.True(t, strings.HasSuffix(got, " | tool:more | tool:3 | assistant:both"), got)
	assert.Len(t, boss.Requests(), 2)
}

// TestHandoverCanBeRejected proves that a handover can require approval.
func TestHandoverCanBeRejected(t *testing.T) {
	t.Parallel()
	boss := llmtest.NewScript(llmtest.Calls(hands("writer", "")), llmtest.Say("as you like"))
	g, err := agent.Supervisor("boss", boss, nil, []agent.Member{member(t, "writer", nil, nil, llmtest.NewScript())},
		agent.Options{Graph: memory(), Tools: tools.Options{Approval: tools.Approval{Rule: tools.Named(agent.HandoverPrefix + "*")}}})
	require.NoError(t, err)
	th := g.Thread("t")
	snap, err := th.Invoke(t.Context(), agent.Messages.Put(llm.User("go")))
	require.NoError(t, err)
	open, err := agent.Approval.Open(snap)
	require.NoError(t, err)
	require.Len(t, open, 1)
	snap, err = th.Invoke(t.Context(), agent.Approval.Answer(open[0].ID, open[0].Prompt.Reject("do it yourself")))
	require.NoError(t, err)
	got := roles(snap)
	assert.True(t, strings.HasSuffix(got, "do it yourself | assistant:as you like"))
}

// TestSupervisorRunsOutOfTurns proves that MaxTurns ends the run of a supervisor that always
// hands over.
func TestSupervisorRunsOutOfTurns(t *testing.T) {
	t.Parallel()
	boss := llmtest.NewScript(slices.Repeat([]llmtest.Reply{llmtest.Calls(hands("writer", "again"))}, 3)...)
	g, err := agent.Supervisor("boss", boss, nil, []agent.Member{member(t, "writer", nil, nil, llmtest.Echo{})}, agent.Options{MaxTurns: 3})
	require.NoError(t, err)
	snap, err := g.Invoke(t.Context(), agent.Messages.Put(llm.User("go")))
	require.NoError(t, err)
	r := agent.Result.Get(snap)
	assert.Equal(t, agent.OutOfTurn, r.Reason)
	assert.Equal(t, "boss", r.Agent)
	assert.EqualValues(t, 3, r.Turns)
}

// TestAbandonedHandoverIsDropped proves that a handover of a failed run is not executed by
// a run with new input.
func TestAbandonedHandoverIsDropped(t *testing.T) {
	t.Parallel()
	own := state.Keyed("own", llm.ByID)
	boss := llmtest.NewScript(llmtest.Calls(hands("writer", "a letter")), llmtest.Calls(hands("writer", "a poem")), llmtest.Say("done"))
	writer := llmtest.NewScript(llmtest.Fail(errors.New("no quota")), llmtest.Say("a poem it is"))
	g, err := agent.Supervisor("boss", boss, nil, []agent.Member{member(t, "writer", nil, own, writer)},
		agent.Options{Graph: memory(), Tools: tools.Options{OnError: tools.ReturnErrors}})
	require.NoError(t, err)
	th := g.Thread("t")
	_, err = th.Invoke(t.Context(), agent.Messages.Put(llm.User("a letter")))
	require.Error(t, err)
	snap, err := th.Invoke(t.Context(), agent.Messages.Put(llm.User("a poem instead")))
	require.NoError(t, err)
	got := asked(writer.Requests()[1])
	assert.Equal(t, "a letter,a poem instead,a poem", got, "the request to the writer's model")
	told := roles(snap)
	assert.True(t, strings.HasSuffix(told, "user:a poem instead | assistant | tool:a poem it is | assistant:done"))
}

// TestSharedConversationEndsWithUserMessage proves that agents can share a conversation,
// and that the request of the second agent does not end with the reply of the first one.
func TestSharedConversationEndsWithUserMessage(t *testing.T) {
	t.Parallel()
	critic := llmtest.NewScript(llmtest.Say("too long"))
	b := graph.New("row", agent.Messages)
	for name, model := range map[string]llm.Model{"author": llmtest.NewScript(llmtest.Say("a text")), "critic": critic} {
		a, err := agent.New(name, model, nil, agent.Options{})
		require.NoError(t, err)
		b.Subgraph(name, a)
	}
	b.Edge(graph.Start, "author")
	b.Edge("author", "critic")
	g, err := b.Compile(graph.Options{})
	require.NoError(t, err)
	snap, err := g.Invoke(t.Context(), agent.Messages.Put(llm.User("write")))
	require.NoError(t, err)
	last := critic.Requests()[0].Messages[2]
	got := roles(snap)
	assert.Equal(t, "user:write | assistant:a text | assistant:too long", got)
	assert.Equal(t, llm.RoleUser, last.Role)
}

// TestSupervisorCanBeMember proves that a supervisor can be a member of another one.
func TestSupervisorCanBeMember(t *testing.T) {
	t.Parallel()
	inner, err := agent.Supervisor("lead", llmtest.NewScript(llmtest.Calls(hands("writer", "")), llmtest.Say("led")), nil,
		[]agent.Member{member(t, "writer", nil, nil, llmtest.NewScript(llmtest.Say("written")))}, agent.Options{})
	require.NoError(t, err)
	g, err := agent.Supervisor("boss", llmtest.NewScript(llmtest.Calls(hands("lead", "")), llmtest.Say("done")), nil,
		[]agent.Member{{Agent: inner}}, agent.Options{})
	require.NoError(t, err)
	w := watch(g.Stream(t.Context(), agent.Messages.Put(llm.User("go"))))
	said := map[string]string{}
	for _, c := range w.chunks {
		said[c.Agent] += c.Text
	}
	require.NoError(t, w.err)
	assert.Equal(t, "written", said["writer"])
	assert.Equal(t, "led", said["lead"])
	assert.Equal(t, "done", said[""])
}

// TestTeamIsChecked proves that Supervisor returns an error for an invalid team.
func TestTeamIsChecked(t *testing.T) {
	t.Parallel()
	writer := member(t, "writer", nil, nil, llmtest.Echo{})
	odd := member(t, "an odd name", nil, nil, llmtest.Echo{})
	taken := newSet(t, tools.New(agent.HandoverPrefix+"writer", "Taken.", add))
	own := state.Keyed("own", llm.ByID)
	tests := []struct {
		want string
		name string
		set  *tools.Set
		team []agent.Member
		o    agent.Options
	}{
		{"the team is empty", "boss", nil, nil, agent.Options{}},
		{"member 1: its Agent is nil", "boss", nil, []agent.Member{{}}, agent.Options{}},
		{"member 1: it has the same name as the agent", "writer", nil, []agent.Member{writer}, agent.Options{}},
		{"two tools named", "boss", taken, []agent.Member{writer}, agent.Options{}},
		{"two tools named", "boss", nil, []agent.Member{writer, writer}, agent.Options{}},
		{"an odd name", "boss", nil, []agent.Member{odd}, agent.Options{}},
		{"MaxTurns", "boss", nil, []agent.Member{writer}, agent.Options{MaxTurns: -1}},
		{`member 1: agent "writer" has no channel "own"`, "boss", nil, []agent.Member{{Agent: writer.Agent, Messages: own}}, agent.Options{}},
		{`member 1: agent "own" has no channel "messages"`, "boss", nil, []agent.Member{{Agent: member(t, "own", nil, own, llmtest.Echo{}).Agent}}, agent.Options{}},
		{"member 1: its Agent is nil", "boss", nil, []agent.Member{{}}, agent.Options{}},
	}
	for _, tt := range tests {
		_, err := agent.Supervisor(tt.name, llmtest.Echo{}, tt.set, tt.team, tt.o)
		require.Error(t, err)
		require.ErrorContains(t, err, tt.want)
	}
}

// TestFailedMemberResumes proves that with tools.ReturnErrors an error of a member fails the
// run, and that the next run resumes the member and does not ask the supervisor's model again.
func TestFailedMemberResumes(t *testing.T) {
	t.Parallel()
	broken := errors.New("no quota")
	boss := llmtest.NewScript(llmtest.Calls(hands("writer", "")), llmtest.Say("done"))
	own := state.Keyed("own", llm.ByID)
	g, err := agent.Supervisor("boss", boss, nil,
		[]agent.Member{member(t, "writer", nil, own, llmtest.NewScript(llmtest.Fail(broken), llmtest.Say("written")))},
		agent.Options{Graph: memory(), Tools: tools.Options{OnError: tools.ReturnErrors}})
	require.NoError(t, err)
	th := g.Thread("t")
	_, err = th.Invoke(t.Context(), agent.Messages.Put(llm.User("go")))
	ne, ok := errors.AsType[*graph.NodeError](err)
	require.True(t, ok)
	require.ErrorIs(t, err, broken)
	require.Contains(t, []string{agent.ModelNode, "writer"}, ne.Node)
	snap, err := th.Invoke(t.Context())
	require.NoError(t, err)
	got := roles(snap)
	assert.Equal(t, "user:go | assistant | tool:written | assistant:done", got)
	assert.LessOrEqual(t, boss.Remaining(), 0)
}
