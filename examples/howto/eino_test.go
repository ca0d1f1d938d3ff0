package howto_test

import (
	"context"
	"fmt"
	"iter"
	"strings"

	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/llmtest"
	"github.com/weft-go/weft/state"
	"github.com/weft-go/weft/tools"
)

// before returns a decorator of nodes. It applies the writes of change to the state that the node
// reads, and stores them.
func before(change func(state.View) state.Update) graph.Middleware {
	return func(next graph.NodeFunc) graph.NodeFunc {
		return func(ctx context.Context, s state.View) (state.Update, error) {
			writes := change(s)
			changed, err := state.Apply(s, writes...) // the state that the node reads
			if err != nil {
				return nil, err
			}
			update, err := next(ctx, changed)
			if err != nil {
				return nil, err
			}
			return append(writes, update...), nil // without writes here, only this node would see the change
		}
	}
}

// A decorator changes the state that a node reads, as WithStatePreHandler does.
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

// A call sets an option of one node of the graph, as with WithChatModelOption and DesignateNode.
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

// answerOfOne is a WrapModel for a supervisor. If the model handed over to one member only, the
// answer of that member is the answer of the supervisor, and the model is not asked again.
func answerOfOne(ctx context.Context, c agent.ModelCall, next agent.ModelFunc) (agent.Reply, error) {
	if n := len(c.Request.Messages); n > 1 {
		said, asked := c.Request.Messages[n-1], c.Request.Messages[n-2]
		if strings.HasPrefix(said.Name, agent.HandoverPrefix) && said.Status != llm.StatusError && len(asked.ToolCalls) == 1 {
			return agent.Reply{Message: llm.Assistant(said.Text())}, nil
		}
	}
	return next(ctx, c)
}

// A host with specialists, as host.NewMultiAgent makes it. The answer of a single specialist is the
// answer of the host. With several specialists, the model of the host sums up their answers.
func Example_host() {
	specialist := func(name, answer string) agent.Member {
		messages := state.Keyed(name+"_messages", llm.ByID)
		model := llm.ModelFunc(func(context.Context, llm.Request) iter.Seq2[llm.Chunk, error] {
			return llm.Reply(llm.Assistant(answer))
		})
		return agent.Member{
			Agent:       must(agent.New(name, model, nil, agent.Options{Messages: messages})),
			Description: "It knows " + name + ".", Messages: messages,
		}
	}
	host := llmtest.NewScript(
		llmtest.Call("transfer_to_parcels", `{"task":"where?"}`), // the first question: one request
		llmtest.Calls( // the second question: two requests
			llm.ToolCall{Name: "transfer_to_parcels", Arguments: []byte(`{"task":"when?"}`)},
			llm.ToolCall{Name: "transfer_to_refunds", Arguments: []byte(`{"task":"how much?"}`)},
		),
		llmtest.Say("It comes from Graz, and you get 5 back."),
	)
	team := []agent.Member{specialist("parcels", "It is in Graz."), specialist("refunds", "You get 5 back.")}
	desk := must(agent.Supervisor("desk", host, nil, team, agent.Options{Use: []agent.Middleware{{WrapModel: answerOfOne}}}))

	for _, text := range []string{"Where is my parcel?", "It is late. What do I get?"} {
		snap := must(desk.Invoke(context.Background(), agent.Messages.Put(llm.User(text))))
		last, _ := agent.Messages.Last(snap)
		fmt.Println(last, "/ requests:", len(host.Requests()))
	}
	// Output:
	// assistant: It is in Graz. / requests: 1
	// assistant: It comes from Graz, and you get 5 back. / requests: 3
}

// The caller edits the state while a question waits: first before the answer, then together with
// the answer. An edit does not close the question.
func Example_stateModifier() {
	note, result := state.Last[string]("note"), state.Append[string]("result")
	confirm := graph.NewInterrupt[string, bool]("confirm")
	b := graph.New("order", note, result)
	b.Node("confirm", func(ctx context.Context, s state.View) (state.Update, error) {
		yes, err := confirm.Wait(ctx, "Order it?")
		if err != nil {
			return nil, err
		}
		return state.Update{result.Put(fmt.Sprintf("%t, %s", yes, note.Get(s)))}, nil
	})
	b.Edge(graph.Start, "confirm")
	g := must(b.Compile(graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})}))

	ctx, thread := context.Background(), g.Thread("order-1")
	id := must(thread.Invoke(ctx, note.Put("today"))).Pauses[0].ID
	must(thread.Invoke(ctx, graph.Continue(), note.Put("tomorrow"))) // the question is still open
	snap := must(thread.Invoke(ctx, confirm.Answer(id, true)))
	fmt.Println(result.Get(snap))

	id = must(thread.Invoke(ctx, note.Put("today"))).Pauses[0].ID
	snap = must(thread.Invoke(ctx, confirm.Answer(id, true), note.Put("on Monday"))) // the answer and the edit together
	fmt.Println(result.Get(snap))
	// Output:
	// [true, tomorrow]
	// [true, tomorrow true, on Monday]
}
