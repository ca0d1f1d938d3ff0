package agent_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/llmtest"
	"github.com/weft-go/weft/tools"
)

// asked returns the texts of the messages in a request, joined by commas.
func asked(r llm.Request) string {
	var out []string
	for _, m := range r.Messages {
		out = append(out, strings.ReplaceAll(m.Text(), llm.SummaryHeading+"\n\n", "SUM "))
	}
	return strings.Join(out, ",")
}

// TestRunCancelledInToolResumes proves that a run that was cancelled during a tool call
// resumes and calls the tool again. If the next run has a new user message, the model gets
// the result tools.NotCalled.
func TestRunCancelledInToolResumes(t *testing.T) {
	t.Parallel()
	for _, resume := range []bool{true, false} {
		ctx, cancel := context.WithCancel(t.Context())
		runs, others := 0, 0
		set := newSet(t, tools.New("work", "Works.", func(ctx context.Context, _ struct{}) (string, error) {
			if runs++; runs > 1 {
				return "worked", nil
			}
			cancel()
			<-ctx.Done()
			return "", ctx.Err()
		}), tools.New("other", "Else.", func(context.Context, struct{}) (string, error) { others++; return "else", nil }))
		script := llmtest.NewScript(llmtest.Calls(llm.ToolCall{Name: "other"}, llm.ToolCall{Name: "work"}), llmtest.Say("so"))
		o := agent.Options{Graph: memory()}
		o.Graph.MaxParallel = 1
		g := newAgent(t, script, set, o)
		th := g.Thread("t")
		_, err := th.Invoke(ctx, agent.Messages.Put(llm.User("work")))
		require.ErrorIs(t, err, context.Canceled)
		if resume {
			snap, err := th.Invoke(t.Context())
			require.NoError(t, err)
			got := roles(snap)
			assert.Equal(t, "user:work | assistant | tool:else | tool:worked | assistant:so", got)
			assert.EqualValues(t, 1, others)
			assert.EqualValues(t, 2, runs)
			continue
		}
		_, err = th.Invoke(t.Context(), agent.Messages.Put(llm.User("never mind")))
		require.NoError(t, err)
		var got []string
		for _, m := range script.Requests()[1].Messages {
			got = append(got, string(m.Role)+" "+m.Text())
		}
		assert.Len(t, got, 5)
		assert.Equal(t, "tool "+tools.NotCalled, got[3])
		assert.Equal(t, "user never mind", got[4])
	}
}

// TestLoadedHistoryIsRepaired proves that requests are repaired if the stored conversation
// has calls without results, or results without calls.
func TestLoadedHistoryIsRepaired(t *testing.T) {
	t.Parallel()
	script := llmtest.NewScript(llmtest.Say("so"))
	g := newAgent(t, script, nil, agent.Options{})
	c := llm.ToolCall{ID: "c1", Name: "look"}
	lost := llm.ToolResult(llm.ToolCall{ID: "c9", Name: "look"}, "lost")
	_, err := g.Invoke(t.Context(), agent.Messages.Put(llm.User("a"), lost, llm.Assistant("", c), llm.User("b")))
	require.NoError(t, err)
	got := asked(script.Requests()[0])
	assert.Equal(t, "a,,"+tools.NotCalled+",b", got)
}
