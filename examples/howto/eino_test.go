package howto_test

import (
	"context"
	"fmt"
	"iter"
	"strings"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/llmtest"
	"github.com/weft-go/weft/state"
	"github.com/weft-go/weft/tools"
)

// before returns a decorator of nodes: the node reads the state with the writes of change.
func before(change func(state.View) state.Update) graph.Middleware {
	return func(next graph.NodeFunc) graph.NodeFunc {
		return func(ctx context.Context, s state.View) (state.Update, error) {
			writes := change(s)
			changed, err := state.Apply(s, writes...) // what the node reads
			if err != nil {
				return nil, err
			}
			update, err := next(ctx, changed)
			if err != nil {
				return nil, err
			}
			return append(writes, update...), nil // what is stored: without writes, only this node has seen them
		}
	}
}

// A decorator changes what a node reads, as WithStatePreHandler does.
func Example_statePreHandler() {
	name, greeting := state.Last[string]("name"), state.Last[string]("greeting")
	tidy := before(func(s state.View) state.Update {
		return state.Update{name.Put(strings.TrimSpace(name.Get(s)))}
	})

	b := graph.New("greet", name, greeting)
	b.Node("greet", tidy(func(_ context.Context, s state.View) (state.Update, error) {
		return state.Update{greeting.Put("Hello, " + name.Get(s) + "!")}, nil
	}))
	b.Edge(graph.Start, "greet")
	g := must(b.Compile(graph.Options{}))

	snap := must(g.Invoke(context.Background(), name.Put("  Ann ")))
	fmt.Printf("%q %q\n", greeting.Get(snap), name.Get(snap))
	// Output: "Hello, Ann!" "Ann"
}

// withTemperature returns a context in which the requests of one node to a model have this temperature.
func withTemperature(ctx context.Context, node string, temperature float64) context.Context {
	return llm.WithWrap(ctx, func(m llm.Model) llm.Model {
		return llm.Named(llm.ModelFunc(func(ctx context.Context, r llm.Request) iter.Seq2[llm.Chunk, error] {
			if running, ok := graph.FromContext(ctx); ok && running.Node == node {
				r.Temperature = &temperature
			}
			return m.Stream(ctx, r)
		}), llm.NameOf(m))
	})
}

// An option of one call, for one node of the graph, as WithChatModelOption and DesignateNode set it.
func Example_optionOfACall() {
	text := state.Last[string]("text")
	model := llmtest.NewScript(llmtest.Say("a draft"), llmtest.Say("a judgement"), llmtest.Say("a draft"), llmtest.Say("a judgement"))
	ask := func(ctx context.Context, _ state.View) (state.Update, error) {
		reply, err := llm.Generate(ctx, model, llm.Request{Messages: []llm.Message{llm.User("Go on.")}})
		return state.Update{text.Put(reply.Text())}, err
	}
	b := graph.New("essay", text)
	b.Node("write", ask)
	b.Node("judge", ask)
	b.Edge(graph.Start, "write")
	b.Edge("write", "judge")
	g := must(b.Compile(graph.Options{}))

	must(g.Invoke(withTemperature(context.Background(), "judge", 0.2), graph.Begin()))
	must(g.Invoke(context.Background(), graph.Begin())) // another call, without the option
	for _, r := range model.Requests() {
		fmt.Println(r.Temperature != nil)
	}
	// Output:
	// false
	// true
	// false
	// false
}

// The result of a tool is the answer of the agent, as with ToolReturnDirectly. The model is not asked again.
func Example_returnDirectly() {
	direct := agent.Middleware{WrapTool: func(ctx context.Context, c agent.ToolCall, next agent.ToolFunc) (tools.Outcome, error) {
		out, err := next(ctx, c)
		if err != nil || c.Call.Name != "balance" {
			return out, err
		}
		return out, agent.Stop(llm.Assistant(out.Message.Text()))
	}}
	set := must(tools.NewSet(tools.New("balance", "Tells the balance.", func(context.Context, struct{}) (string, error) { return "Your balance is 12 €.", nil })))
	model := llmtest.NewScript(llmtest.Call("balance", `{}`)) // one reply only
	bot := must(agent.New("bank", model, set, agent.Options{Use: []agent.Middleware{direct}}))

	snap := must(bot.Invoke(context.Background(), agent.Messages.Put(llm.User("What do I have?"))))
	for _, m := range agent.Messages.All(snap) {
		fmt.Println(m)
	}
	// Output:
	// user: What do I have?
	// assistant: balance({})
	// tool: Your balance is 12 €.
	// assistant: Your balance is 12 €.
}
