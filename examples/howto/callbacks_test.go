package howto_test

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/llmtest"
	"github.com/weft-go/weft/tools"
)

// observed is the key of a context whose models and tools have the functions of observe.
type observed struct{}

// observe returns hooks that call node for each task, model for the end of each request to a model, and tool for the end of
// each call of a tool.
func observe(node func(r graph.Running), model func(r graph.Running, e llm.Exchange), tool func(c llm.ToolCall, err error)) *graph.Hooks {
	aroundModel := func(m llm.Model) llm.Model {
		return llm.Trace(m, llm.Hooks{End: func(ctx context.Context, e llm.Exchange) {
			at, _ := graph.FromContext(ctx) // the innermost task
			model(at, e)
		}})
	}
	aroundTool := func(ctx context.Context, c llm.ToolCall, run func(context.Context) (tools.Result, error)) (tools.Result, error) {
		out, err := run(ctx)
		if !graph.IsPause(err) { // a question is no error
			tool(c, err)
		}
		return out, err
	}
	return &graph.Hooks{Task: func(ctx context.Context, r graph.Running) (context.Context, func(graph.Outcome)) {
		node(r)
		if ctx.Value(observed{}) != nil { // a task in a subgraph or in an agent in a tool: an outer task has added the functions
			return ctx, nil
		}
		ctx = context.WithValue(ctx, observed{}, true)
		return tools.WithWrap(llm.WithWrap(ctx, aroundModel), aroundTool), nil
	}}
}

// The hooks of the outermost graph see each node, and add functions around each model and each tool inside it, also in subgraphs
// and in agents that are tools. Each request and each call is counted once.
func Example_callbacks() {
	var total atomic.Int64
	hooks := observe(
		func(r graph.Running) { fmt.Println("node", r.Graph, r.Node) },
		func(r graph.Running, e llm.Exchange) {
			total.Add(e.Usage().Total)
			fmt.Println("  model in", r.Graph, r.Node, e.Usage().Total, "tokens, error:", e.Err)
		},
		func(c llm.ToolCall, err error) { fmt.Println("  tool", c.Name, "error:", err) },
	)

	set := must(tools.NewSet(tools.New("look", "Looks out of the window.", func(context.Context, struct{}) (string, error) { return "sunny", nil })))
	cost := llm.Usage{Input: 20, Output: 5}
	weather := must(agent.New("weather", llmtest.NewScript(llmtest.Call("look", `{}`).Costing(cost), llmtest.Say("Sunny.").Costing(cost)), set, agent.Options{}))
	bot := must(agent.New("bot", llmtest.NewScript(llmtest.Call("weather", `{"task":"today"}`).Costing(cost), llmtest.Say("Go out!").Costing(cost)), nil, agent.Options{
		Use: []agent.Middleware{agent.AsTool(agent.SubAgent{Agent: weather, Description: "Tells the weather."})},
	}))
	b := graph.New("desk", agent.Messages)
	b.Subgraph("chat", bot)
	b.Edge(graph.Start, "chat")
	g := must(b.Compile(graph.Options{Hooks: hooks}))

	must(g.Invoke(context.Background(), agent.Messages.Put(llm.User("What shall we do?"))))
	fmt.Println(total.Load(), "tokens")
	// Output:
	// node desk chat
	// node bot agent
	//   model in bot agent 25 tokens, error: <nil>
	// node bot tools
	//   tool weather error: <nil>
	// node bot weather
	// node weather agent
	//   model in weather agent 25 tokens, error: <nil>
	// node weather tools
	//   tool look error: <nil>
	// node weather agent
	//   model in weather agent 25 tokens, error: <nil>
	// node bot agent
	//   model in bot agent 25 tokens, error: <nil>
	// 100 tokens
}
