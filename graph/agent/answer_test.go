package agent_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/llmtest"
	"github.com/weft-go/weft/state"
	"github.com/weft-go/weft/tools"
)

type grading struct {
	Grade  string `json:"grade" enum:"good,bad"`
	Reason string `json:"reason,omitempty"`
}

// TestStructuredAnswerInTheLoop proves that a call of the answer tool ends the run without
// another request, that the model can correct a wrong answer, and that the model is asked
// for the answer after a text.
func TestStructuredAnswerInTheLoop(t *testing.T) {
	t.Parallel()
	sum, good := llmtest.Call("add", `{"a":3,"b":4}`), llmtest.Call("answer", `{"grade":"good"}`)
	meh := llmtest.Call("answer", `{"grade":"meh"}`)
	both := llmtest.Calls(llm.ToolCall{Name: "add", Arguments: []byte(`{"a":3,"b":4}`)}, llm.ToolCall{Name: "answer", Arguments: []byte(`{"grade":"bad"}`)})
	spoken := llmtest.Calls(llm.ToolCall{Name: "answer", Arguments: []byte(`{"grade":"good"}`)})
	spoken.Message.Parts = []llm.Part{llm.Text("Well done.")}
	const fits = `{"grade":"good"}`
	tests := []struct {
		name    string
		replies []llmtest.Reply
		o       agent.Options
		turns   int
		reason  agent.Reason
		told    string // a part of the conversation in the last request
		last    string // the last message
	}{
		{"at once", []llmtest.Reply{good}, agent.Options{}, 1, agent.Answered, "", fits},
		{"after a tool", []llmtest.Reply{sum, good}, agent.Options{}, 2, agent.Answered, "7", fits},
		{"with a text", []llmtest.Reply{spoken}, agent.Options{}, 1, agent.Answered, "", "Well done.\n\n" + fits},
		{"outside the enum", []llmtest.Reply{meh, good}, agent.Options{}, 2, agent.Answered, `This does not fit: grade: want one of "good", "bad", got the string "meh". Call answer again`, fits},
		{"beside another call", []llmtest.Reply{both, good}, agent.Options{}, 2, agent.Answered, "then call answer alone", fits},
		{"after a text", []llmtest.Reply{llmtest.Say("fine"), good}, agent.Options{}, 1, agent.Answered, "Now give the answer", "fine"},
		{"outside the enum after a text", []llmtest.Reply{llmtest.Say("fine"), meh, good}, agent.Options{}, 1, agent.Answered, `want one of "good", "bad"`, "fine"},
		{"wrong until the last turn", []llmtest.Reply{meh, llmtest.Say("fine"), good}, agent.Options{MaxTurns: 2}, 2, agent.OutOfTurn, "Now give the answer", "fine"},
		{"withheld by a middleware", []llmtest.Reply{good, llmtest.Say("fine"), good}, agent.Options{Use: []agent.Middleware{requests(func(r *llm.Request) {
			r.Tools = nil
		})}}, 2, agent.Answered, `tool "answer" is not available in this turn`, "fine"},
		{"JSON by a middleware", []llmtest.Reply{llmtest.Say("fine"), llmtest.Say(fits)}, agent.Options{Use: []agent.Middleware{requests(func(r *llm.Request) {
			r.Tools, r.Format = nil, llm.Format{Type: llm.FormatJSON}
		})}}, 1, agent.Answered, "Now give the answer", "fine"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for i := range tt.replies {
				tt.replies[i] = tt.replies[i].Costing(llm.Usage{Input: 1})
			}
			script := llmtest.NewScript(tt.replies...)
			tt.o.Answer = agent.Structured[grading]()
			g := newAgent(t, script, newSet(t, tools.New("add", "Adds.", add)), tt.o)
			snap, err := g.Invoke(t.Context(), agent.Messages.Put(llm.User("go")))
			require.NoError(t, err)
			require.Zero(t, script.Remaining())
			answer, err := agent.Answer[grading](snap)
			require.NoError(t, err)
			assert.Equal(t, "good", answer.Grade)
			r := agent.Result.Get(snap)
			assert.Equal(t, tt.reason, r.Reason)
			assert.Equal(t, tt.turns, r.Turns)
			assert.EqualValues(t, len(tt.replies), r.Usage.Total, "the usage of %d requests", len(tt.replies))
			last, _ := agent.Messages.Last(snap)
			assert.Equal(t, llm.RoleAssistant, last.Role)
			assert.Equal(t, tt.last, last.Text())
			assert.Empty(t, last.ToolCalls)
			requests := script.Requests()
			var told []string
			for _, m := range requests[len(requests)-1].Messages {
				told = append(told, m.Text())
			}
			assert.Contains(t, strings.Join(told, "\n"), tt.told)
		})
	}
}

// TestAnswerToolHasItsOwnName proves that the answer tool does not hide a tool of the set.
func TestAnswerToolHasItsOwnName(t *testing.T) {
	t.Parallel()
	script := llmtest.NewScript(llmtest.Call("answer", `{"a":3,"b":4}`), llmtest.Call("answer_", `{"grade":"bad"}`))
	g := newAgent(t, script, newSet(t, tools.New("answer", "Adds.", add)), agent.Options{Answer: agent.Structured[grading]()})
	snap, err := g.Invoke(t.Context(), agent.Messages.Put(llm.User("go")))
	require.NoError(t, err)
	answer, err := agent.Answer[grading](snap)
	require.NoError(t, err)
	assert.Equal(t, grading{Grade: "bad"}, answer)
	assert.Equal(t, "7", agent.Messages.Get(snap)[2].Text())
}

// TestSupervisorGetsAStructuredAnswer proves that the supervisor gets the structured
// answer of a member as text.
func TestSupervisorGetsAStructuredAnswer(t *testing.T) {
	t.Parallel()
	own := state.Keyed("judge_messages", llm.ByID)
	model := llmtest.NewScript(llmtest.Call("answer", `{"grade":"good"}`))
	judge, err := agent.New("judge", model, nil, agent.Options{Answer: agent.Structured[grading](), Messages: own})
	require.NoError(t, err)
	boss := llmtest.NewScript(llmtest.Call(agent.HandoverPrefix+"judge", `{"task":"grade it"}`), llmtest.Say("It is good."))
	g, err := agent.Supervisor("boss", boss, nil, []agent.Member{{Agent: judge, Description: "Grades.", Messages: own}}, agent.Options{})
	require.NoError(t, err)
	_, err = g.Invoke(t.Context(), agent.Messages.Put(llm.User("go")))
	require.NoError(t, err)
	told := boss.Requests()[1].Messages
	assert.Equal(t, `{"grade":"good"}`, told[len(told)-1].Text())
}

func TestAnswerOfAStateInWhichNoAgentHasRun(t *testing.T) {
	t.Parallel()
	v, err := state.NewView([]state.Handle{agent.Result})
	require.NoError(t, err)
	_, err = agent.Answer[int](v)
	require.ErrorIs(t, err, agent.ErrNoAnswer)
	assert.EqualError(t, err, "agent: there is no structured answer: no agent has ended in this thread")
}
