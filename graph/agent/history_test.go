package agent_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/llmtest"
	"github.com/weft-go/weft/tools"
)

// countMessages is a counter for which every message costs one token.
var countMessages = llm.TokenCounterFunc(func(llm.Message) int { return 1 })

// asked returns the texts of the messages in a request, joined by commas.
func asked(r llm.Request) string {
	var out []string
	for _, m := range r.Messages {
		out = append(out, strings.ReplaceAll(m.Text(), llm.SummaryHeading+"\n\n", "SUM "))
	}
	return strings.Join(out, ",")
}

// TestHistoryShortensConversation proves which messages a request has with pruning or with
// a summary, and which messages stay stored.
func TestHistoryShortensConversation(t *testing.T) {
	t.Parallel()
	sums := 0
	pruning := llm.Pruning{MaxTokens: 4, MinMessages: 2, Counter: countMessages}
	tests := []struct {
		name    string
		history agent.History
		last    string // the texts of the last request
		stored  int    // the number of messages that are stored after the last run
	}{
		{"pruned", agent.History{Pruning: pruning}, "be brief,a3,u4,a4,u5", 10},
		{"pruned for good", agent.History{Pruning: pruning, Stored: true}, "be brief,a3,u4,a4,u5", 5},
		{"summarised", agent.History{Pruning: pruning, Summarise: func(_ context.Context, dropped []llm.Message, _ int) (string, error) {
			sums++
			var said []string
			for _, m := range dropped {
				text, _ := strings.CutPrefix(m.Text(), llm.SummaryHeading+"\n\n")
				said = append(said, text)
			}
			return strings.Join(said, "+"), nil
		}}, "be brief,SUM u1+a1+u2+a2+u3+a3+u4,a4,u5", 10},
		{"summarised for good", agent.History{Pruning: pruning, Stored: true, Summarise: func(_ context.Context, dropped []llm.Message, _ int) (string, error) {
			return fmt.Sprint(len(dropped)), nil
		}}, "be brief,SUM 3,a4,u5", 4},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var replies []llmtest.Reply
			for i := range 5 {
				replies = append(replies, llmtest.Say(fmt.Sprint("a", i+1)))
			}
			script := llmtest.NewScript(replies...)
			g := newAgent(t, script, nil, agent.Options{System: "be brief", Use: []agent.Middleware{agent.Shorten(tt.history)}, Graph: memory()})
			th := g.Thread("t")
			for i := range 5 {
				snap, err := th.Invoke(t.Context(), agent.Messages.Put(llm.User(fmt.Sprint("u", i+1))))
				require.NoError(t, err)
				if i == 4 {
					assert.Equal(t, tt.stored, agent.Messages.Len(snap), roles(snap))
				}
			}
			assert.Equal(t, tt.last, asked(script.Requests()[4]))
		})
	}
	assert.Equal(t, 3, sums, "the number of summaries")
}

// TestSummaryIsReused proves that a stored summary is used again while the conversation
// fits into the budget, and that system messages are kept in front of it.
func TestSummaryIsReused(t *testing.T) {
	t.Parallel()
	sums := 0
	script := llmtest.NewScript(llmtest.Say("a"), llmtest.Say("b"), llmtest.Say("c"))
	g := newAgent(t, script, nil, agent.Options{
		Use: []agent.Middleware{agent.Shorten(agent.History{
			Pruning: llm.Pruning{MaxTokens: 8, MinMessages: 1, Counter: countMessages},
			Summarise: func(_ context.Context, dropped []llm.Message, _ int) (string, error) {
				sums++
				return fmt.Sprint(len(dropped), " were dropped"), nil
			},
		})}, Graph: memory(),
	})
	th := g.Thread("t")
	first := []llm.Message{llm.System("rule")}
	for i := range 9 {
		first = append(first, llm.User(fmt.Sprint("u", i)))
	}
	for i, input := range [][]llm.Message{first, {llm.User("x")}, {llm.User("y")}} {
		_, err := th.Invoke(t.Context(), agent.Messages.Put(input...))
		require.NoError(t, err, "%d: %v", i, err)
	}
	got, want := asked(script.Requests()[2]), "rule,SUM 8 were dropped,u8,a,x,b,y"
	assert.Equal(t, want, got)
	assert.EqualValues(t, 1, sums)
}

// TestRunCancelledInToolResumes proves that a run which was cancelled in a tool can resume,
// with another call of the tool. After a new user message instead, the model gets the
// result tools.NotCalled.
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

// TestLoadedHistoryIsRepaired proves that a conversation with calls without results, and
// with results without calls, is repaired in the request.
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
