package howto_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/llmtest"
	"github.com/weft-go/weft/tools"
)

// observe returns hooks that call node at the end of each task, model at the end of each request to
// a model, and tool at the end of each call of a tool. The outcome of a task that waits for an
// answer has Paused.
func observe(
	node func(r graph.Running, took time.Duration, o graph.Outcome),
	model func(r graph.Running, e llm.Exchange),
	tool func(c llm.ToolCall, took time.Duration, err error),
) *graph.Hooks {
	type observed struct{} // the key that marks a context whose models and tools are wrapped
	aroundModel := func(m llm.Model) llm.Model {
		return llm.Trace(m, llm.Hooks{End: func(ctx context.Context, e llm.Exchange) {
			at, _ := graph.FromContext(ctx) // the innermost task
			model(at, e)
		}})
	}
	aroundTool := func(ctx context.Context, c llm.ToolCall, run func(context.Context) (tools.Result, error)) (tools.Result, error) {
		begun := time.Now()
		out, err := run(ctx)
		if !graph.IsPause(err) { // a question is no error
			tool(c, time.Since(begun), err)
		}
		return out, err
	}
	return &graph.Hooks{Task: func(ctx context.Context, r graph.Running) (context.Context, func(graph.Outcome)) {
		begun := time.Now()
		if ctx.Value(observed{}) == nil { // in a subgraph, or in an agent that is a tool, the context has the wrappers already
			ctx = context.WithValue(ctx, observed{}, true)
			ctx = tools.WithWrap(llm.WithWrap(ctx, aroundModel), aroundTool)
		}
		return ctx, func(o graph.Outcome) { node(r, time.Since(begun), o) }
	}}
}

// The hooks of the outermost graph see each node. They wrap each model and each tool, also in
// subgraphs and in agents that are tools. Each request and each call is counted once. The times are
// rounded, so that the output is the same each time.
func Example_callbacks() {
	var total atomic.Int64
	hooks := observe(
		func(r graph.Running, took time.Duration, o graph.Outcome) {
			fmt.Println("node", r.Graph, r.Node, "took", took.Round(time.Hour), "error:", o.Err)
		},
		func(r graph.Running, e llm.Exchange) {
			total.Add(e.Usage().Total)
			fmt.Println("model in", r.Graph, r.Node, "took", e.Duration.Round(time.Hour), e.Usage().Total, "tokens, error:", e.Err)
		},
		func(c llm.ToolCall, took time.Duration, err error) {
			fmt.Println("tool", c.Name, "took", took.Round(time.Hour), "error:", err)
		},
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
	// model in bot agent took 0s 25 tokens, error: <nil>
	// node bot agent took 0s error: <nil>
	// tool weather took 0s error: <nil>
	// node bot tools took 0s error: <nil>
	// model in weather agent took 0s 25 tokens, error: <nil>
	// node weather agent took 0s error: <nil>
	// tool look took 0s error: <nil>
	// node weather tools took 0s error: <nil>
	// model in weather agent took 0s 25 tokens, error: <nil>
	// node weather agent took 0s error: <nil>
	// node bot weather took 0s error: <nil>
	// model in bot agent took 0s 25 tokens, error: <nil>
	// node bot agent took 0s error: <nil>
	// node desk chat took 0s error: <nil>
	// 100 tokens
}
