package howto_test

import (
	"context"
	"fmt"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/llmtest"
	"github.com/weft-go/weft/tools"
)

// The hooks of a graph see each node. The context that they return adds functions around each model
// and each tool in the node.
func Example_callbacks() {
	around := func(m llm.Model) llm.Model {
		return llm.Trace(m, llm.Hooks{End: func(_ context.Context, e llm.Exchange) {
			fmt.Println("  model:", e.Usage().Total, "tokens, error:", e.Err)
		}})
	}
	hooks := graph.NewHooks(graph.HookFuncs{Task: func(ctx context.Context, r graph.Running) (context.Context, func(graph.TaskResult)) {
		fmt.Println("node", r.Node)
		ctx = llm.WithWrap(ctx, around)
		ctx = tools.WithWrap(ctx, func(ctx context.Context, c llm.ToolCall, run func(context.Context) (tools.Result, error)) (tools.Result, error) {
			out, err := run(ctx)
			fmt.Println("  tool:", c.Name, "error:", err != nil && !graph.IsPause(err)) // a question is no error
			return out, err
		})
		return ctx, nil
	}})

	set := must(tools.NewSet(tools.New("weather", "Tells the weather.", func(context.Context, struct{}) (string, error) { return "sunny", nil })))
	model := llmtest.NewScript(
		llmtest.Call("weather", `{}`).Costing(llm.Usage{Input: 20, Output: 5}),
		llmtest.Say("Sunny.").Costing(llm.Usage{Input: 30, Output: 2}),
	)
	bot := must(agent.New("helper", model, set, agent.Options{Graph: graph.Options{Hooks: hooks}}))
	must(bot.Invoke(context.Background(), agent.Messages.Put(llm.User("How is the weather?"))))
	// Output:
	// node agent
	//   model: 25 tokens, error: <nil>
	// node tools
	//   tool: weather error: false
	// node agent
	//   model: 32 tokens, error: <nil>
}
