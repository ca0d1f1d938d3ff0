package middleware_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/graph/agent/middleware"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/llmtest"
)

// countMessages counts one token for every message.
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
		history middleware.History
		last    string // the texts of the last request
		stored  int    // the number of messages that are stored after the last run
	}{
		{"pruned", middleware.History{Pruning: pruning}, "be brief,a3,u4,a4,u5", 10},
		{"pruned for good", middleware.History{Pruning: pruning, Stored: true}, "be brief,a3,u4,a4,u5", 5},
		{"summarised", middleware.History{Pruning: pruning, Summarise: func(_ context.Context, dropped []llm.Message, _ int) (string, error) {
			sums++
			var said []string
			for _, m := range dropped {
				text, _ := strings.CutPrefix(m.Text(), llm.SummaryHeading+"\n\n")
				said = append(said, text)
			}
			return strings.Join(said, "+"), nil
		}}, "be brief,SUM u1+a1+u2+a2+u3+a3+u4,a4,u5", 10},
		{"summarised for good", middleware.History{Pruning: pruning, Stored: true, Summarise: func(_ context.Context, dropped []llm.Message, _ int) (string, error) {
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
			g := newAgent(t, script, agent.Options{System: "be brief", Use: []agent.Middleware{middleware.Shorten(tt.history)}, Graph: memory()})
			th := g.Thread("t")
			for i := range 5 {
				snap, err := th.Invoke(t.Context(), agent.Messages.Put(llm.User(fmt.Sprint("u", i+1))))
				require.NoError(t, err)
				if i == 4 {
					assert.Equal(t, tt.stored, agent.Messages.Len(snap), fmt.Sprint(roles(snap)))
				}
			}
			assert.Equal(t, tt.last, asked(script.Requests()[4]))
		})
	}
	assert.Equal(t, 3, sums, "the number of summaries")
}

// TestSummaryIsReused proves that a stored summary is used again while the conversation
// fits into the budget, and that system messages are kept before it.
func TestSummaryIsReused(t *testing.T) {
	t.Parallel()
	sums := 0
	script := llmtest.NewScript(llmtest.Say("a"), llmtest.Say("b"), llmtest.Say("c"))
	g := newAgent(t, script, agent.Options{
		Use: []agent.Middleware{middleware.Shorten(middleware.History{
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

// The request contains a summary of a long conversation. The stored conversation stays
// complete.
func ExampleShorten() {
	model := llmtest.NewScript(llmtest.Say("hello"), llmtest.Say("hello again"))
	a := must(agent.New("helper", model, nil, agent.Options{
		Use: []agent.Middleware{middleware.Shorten(middleware.History{
			Pruning: llm.Pruning{MaxTokens: 20, MinMessages: 1},
			// To let a model summarise, use llm.SummariseWith(model).
			Summarise: func(_ context.Context, dropped []llm.Message, _ int) (string, error) {
				return fmt.Sprintf("they greeted, in %d messages", len(dropped)), nil
			},
		})},
		Graph: graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})},
	}))
	thread := a.Thread("user-42")
	must(thread.Invoke(context.Background(), agent.Messages.Put(llm.User("hello, hello, hello, hello, hello, hello"))))
	snap := must(thread.Invoke(context.Background(), agent.Messages.Put(llm.User("and now?"))))
	for _, m := range model.Requests()[1].Messages {
		fmt.Printf("%q\n", m.Text())
	}
	fmt.Println(agent.Messages.Len(snap), "messages are stored")
	// Output:
	// "Summary of the conversation so far:\n\nthey greeted, in 2 messages"
	// "and now?"
	// 4 messages are stored
}

// TestTwoSummariesLoseNothing proves that two middlewares that summarise can share the stored summary:
// each request has or summarises every message, and not every turn makes a summary.
func TestTwoSummariesLoseNothing(t *testing.T) {
	t.Parallel()
	for _, budgets := range [][2]int{{12, 6}, {6, 12}, {8, 8}, {9, 8}} {
		t.Run(fmt.Sprint(budgets), func(t *testing.T) {
			t.Parallel()
			made := 0
			shorten := func(budget int) agent.Middleware {
				return middleware.Shorten(middleware.History{
					Pruning: llm.Pruning{MaxTokens: budget, MinMessages: 1, Counter: countMessages},
					Summarise: func(_ context.Context, dropped []llm.Message, _ int) (string, error) {
						made++
						return strings.ReplaceAll(asked(llm.Request{Messages: dropped}), "SUM ", ""), nil
					},
				})
			}
			var replies []llmtest.Reply
			var input, said []string
			for i := range 30 {
				replies = append(replies, llmtest.Say(fmt.Sprint("a", i)))
			}
			script := llmtest.NewScript(replies...)
			g := newAgent(t, script, agent.Options{Use: []agent.Middleware{shorten(budgets[0]), shorten(budgets[1])}, Graph: memory()})
			for i := range 30 {
				input = append(input, fmt.Sprint("u", i))
				said = append(said, input[i])
				_, err := g.Thread("t").Invoke(t.Context(), agent.Messages.Put(llm.User(input[i])))
				require.NoError(t, err)
				requests := script.Requests()
				got := strings.ReplaceAll(asked(requests[len(requests)-1]), "SUM ", "")
				require.Equal(t, strings.Join(said, ","), got)
				said = append(said, fmt.Sprint("a", i))
			}
			assert.LessOrEqual(t, made, 20)
		})
	}
}
