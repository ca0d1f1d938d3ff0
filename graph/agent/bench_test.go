package agent_test

import (
	"context"
	"fmt"
	"iter"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/state"
	"github.com/weft-go/weft/tools"
)

// BenchmarkMiddleware measures one turn without middleware and with ten middlewares that
// have every function. The difference is their overhead.
func BenchmarkMiddleware(b *testing.B) {
	model := llm.ModelFunc(func(context.Context, llm.Request) iter.Seq2[llm.Chunk, error] {
		return llm.Reply(llm.Assistant("Hello."))
	})
	for _, n := range []int{0, 10} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			hook := func(context.Context, agent.Run) (state.Update, error) { return nil, nil }
			var o agent.Options
			for range n {
				o.Use = append(o.Use, agent.Middleware{
					BeforeAgent: hook, BeforeModel: hook, AfterAgent: hook,
					WrapModel: func(ctx context.Context, c agent.ModelCall, next agent.ModelFunc) (agent.Reply, error) {
						return next(ctx, c)
					},
					AfterModel: func(context.Context, agent.Run, *llm.Message) (state.Update, error) { return nil, nil },
					WrapTool: func(ctx context.Context, c agent.ToolCall, next agent.ToolFunc) (tools.Outcome, error) {
						return next(ctx, c)
					},
				})
			}
			g, err := agent.New("bench", model, nil, o)
			require.NoError(b, err)
			b.ReportAllocs()
			for b.Loop() {
				_, err := g.Invoke(b.Context(), agent.Messages.Put(llm.User("hello")))
				require.NoError(b, err)
			}
		})
	}
}
