package agent_test

import (
	"errors"
	"io"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/llmtest"
	"github.com/weft-go/weft/tools"
)

type verdict struct {
	Score  int    `json:"score"`
	Reason string `json:"reason"`
}

// TestStructuredAnswerIsRepairedOnce proves that the model is asked once more after a
// structured answer that does not match its type, and that the usage includes both
// requests.
func TestStructuredAnswerIsRepairedOnce(t *testing.T) {
	t.Parallel()
	good, bad := llmtest.Call("answer", `{"score":7,"reason":"fine"}`), llmtest.Call("answer", `{"score":"seven"}`)
	tests := []struct {
		name    string
		replies []llmtest.Reply
		want    agent.Reason
	}{
		{"at once", []llmtest.Reply{good}, agent.Answered},
		{"repaired", []llmtest.Reply{bad, good}, agent.Answered},
		{"wrong twice", []llmtest.Reply{bad, bad}, agent.Unfit},
		{"filtered", []llmtest.Reply{llmtest.Fail(&llm.Error{Kind: llm.ErrContentFilter})}, agent.Filtered},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			replies := append([]llmtest.Reply{llmtest.Call("add", `{"a":3,"b":4}`), llmtest.Say("seven")}, tt.replies...)
			for i := range replies {
				if replies[i].Err == nil {
					replies[i] = replies[i].Costing(llm.Usage{Input: 1})
				}
			}
			script := llmtest.NewScript(replies...)
			g := newAgent(t, script, newSet(t, tools.New("add", "Adds.", add)), agent.Options{System: "Judge.", Answer: agent.Structured[verdict](), Graph: memory()})
			snap, err := g.Thread("t").Invoke(t.Context(), agent.Messages.Put(llm.User("go")))
			require.NoError(t, err)
			answer, err := agent.Answer[verdict](snap)
			r := agent.Result.Get(snap)
			require.Equal(t, tt.want, r.Reason)
			if tt.want == agent.Answered {
				require.NoError(t, err)
				assert.Equal(t, verdict{7, "fine"}, answer)
			} else {
				require.ErrorIs(t, err, agent.ErrNoAnswer)
			}
			require.Zero(t, script.Remaining())
			if tt.want != agent.Filtered { // a refusal has no usage
				assert.Len(t, script.Requests(), int(r.Usage.Total))
				assert.Equal(t, r.Usage.Total, agent.Usage.Get(snap).Total)
			}
			assert.Equal(t, 4, agent.Messages.Len(snap))
		})
	}
}

// TestFailedStructuredAnswerIsAskedAgain proves that a run that failed in the request for
// the structured answer repeats only this request.
func TestFailedStructuredAnswerIsAskedAgain(t *testing.T) {
	t.Parallel()
	broken := errors.New("no quota")
	script := llmtest.NewScript(llmtest.Say("seven"), llmtest.Fail(broken), llmtest.Call("answer", `7`), llmtest.Say("7"))
	g := newAgent(t, script, nil, agent.Options{Answer: agent.Structured[int](), Graph: memory()})
	th := g.Thread("t")
	snap, err := th.Invoke(t.Context(), agent.Messages.Put(llm.User("go")))
	require.ErrorIs(t, err, broken)
	r := agent.Result.Get(snap)
	assert.Equal(t, agent.Running, r.Reason)
	assert.Equal(t, 1, r.Turns)
	_, err = agent.Answer[int](snap)
	require.ErrorIs(t, err, agent.ErrNoAnswer)
	require.ErrorContains(t, err, "has not ended")
	// The next run makes only the request for the answer.
	snap, err = th.Invoke(t.Context())
	require.NoError(t, err)
	n, err := agent.Answer[int](snap)
	assert.EqualValues(t, 7, n)
	require.NoError(t, err)
	_, err = agent.Answer[[]string](snap)
	require.Error(t, err)
	assert.NotErrorIs(t, err, agent.ErrNoAnswer)
}

// TestMissingAnswerIsExplained proves that the error of Answer says why there is no
// structured answer.
func TestMissingAnswerIsExplained(t *testing.T) {
	t.Parallel()
	for want, reply := range map[string]llmtest.Reply{
		"the agent has no Options.Answer": llmtest.Say("seven"),
		"length: the reply is cut off":    stopping(llmtest.Say("sev"), llm.StopLength),
	} {
		snap, err := newAgent(t, llmtest.NewScript(reply), nil, agent.Options{}).Invoke(t.Context(), agent.Messages.Put(llm.User("go")))
		require.NoError(t, err)
		_, err = agent.Answer[int](snap)
		require.ErrorIs(t, err, agent.ErrNoAnswer)
		require.ErrorContains(t, err, want)
	}
}

// TestABrokenStreamOfTheAnswerFailsTheRun proves that a run fails if the connection ends within a structured
// answer, also within the second one, and that the next run asks again.
func TestABrokenStreamOfTheAnswerFailsTheRun(t *testing.T) {
	t.Parallel()
	broken := llmtest.Reply{Chunks: []llm.Chunk{
		{Kind: llm.ChunkToolCall, ToolCall: llm.ToolCallDelta{ID: "1", Name: "answer", Arguments: `{"score":`}},
	}}
	for name, replies := range map[string][]llmtest.Reply{
		"the first answer":  {broken},
		"the second answer": {llmtest.Call("answer", `{"score":"seven"}`), broken},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			replies := append([]llmtest.Reply{llmtest.Say("seven")}, replies...)
			script := llmtest.NewScript(append(replies, llmtest.Call("answer", `{"score":7,"reason":"fine"}`))...)
			th := newAgent(t, script, nil, agent.Options{Answer: agent.Structured[verdict](), Graph: memory()}).Thread("t")
			snap, err := th.Invoke(t.Context(), agent.Messages.Put(llm.User("go")))
			require.ErrorIs(t, err, io.ErrUnexpectedEOF)
			assert.Equal(t, agent.Running, agent.Result.Get(snap).Reason)
			snap, err = th.Invoke(t.Context())
			require.NoError(t, err)
			assert.Equal(t, agent.Answered, agent.Result.Get(snap).Reason)
			assert.Zero(t, script.Remaining())
		})
	}
}
