package recipes_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/llmtest"
	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/inmemory"
	"github.com/weft-go/weft/memory/knowledge"
	"github.com/weft-go/weft/state"
	"github.com/weft-go/weft/tools"
)

// Agentic retrieval: the model decides when to search, reads the passages and searches again with
// other words if they do not answer the question.
func Example_agenticRetrieval() {
	ctx := context.Background()
	base := must(knowledge.New(must(memory.New(inmemory.New(inmemory.Options{}), memory.Options{})), knowledge.Options{}))
	scope := memory.Scope{Tenant: "shop"}
	page := knowledge.Document{URI: "returns.md", Text: "# Returns\n\nCups can be sent back within 30 days."}
	if _, _, err := knowledge.Collect(base.Ingest(ctx, scope, knowledge.Documents(page), knowledge.IngestOptions{})); err != nil {
		fmt.Println(err)
		return
	}
	search := tools.New("search", "Searches the handbook.", func(ctx context.Context, in struct {
		Query string `json:"query"`
	},
	) (string, error) {
		hits, err := base.Search(ctx, memory.Question{Reach: scope.Only(), Text: in.Query, Limit: 3})
		if err != nil || len(hits) == 0 {
			return "nothing found", err
		}
		return knowledge.Prompt(hits), nil
	})
	model := llmtest.NewScript(
		llmtest.Call("search", `{"query":"refund"}`), // no passage has the word
		llmtest.Call("search", `{"query":"send cups back"}`),
		llmtest.Say("You can send them back within 30 days."),
	)
	bot := must(agent.New("librarian", model, must(tools.NewSet(search)), agent.Options{
		System: "Answer from the handbook only. If a search finds nothing, search with other words.",
	}))
	snap := must(bot.Invoke(ctx, agent.Messages.Put(llm.User("Can I return my cups?"))))
	messages := agent.Messages.Get(snap)
	fmt.Println("first search:", messages[2].Text())
	fmt.Println("second search has the passage:", strings.Contains(messages[4].Text(), "30 days"))
	fmt.Println(messages[5])
	// Output:
	// first search: nothing found
	// second search has the passage: true
	// assistant: You can send them back within 30 days.
}

// Plan and execute: a model plans steps, an agent does one step after the other, and the model
// changes the rest of the plan or answers.
func Example_planAndExecute() {
	type plan struct {
		Steps  []string `json:"steps,omitempty" jsonschema:"the steps that are left"`
		Answer string   `json:"answer,omitempty" jsonschema:"the answer, if no step is left"`
	}
	planner := llmtest.NewScript(
		llmtest.Call("answer", `{"steps":["Who won the race?","How old is the winner?"]}`),
		llmtest.Call("answer", `{"steps":["How old is Ann?"]}`),
		llmtest.Call("answer", `{"answer":"Ann won. She is 31."}`),
	)
	worker := must(agent.New("worker", llmtest.NewScript(llmtest.Say("Ann won."), llmtest.Say("31")), nil, agent.Options{}))
	question, current := state.Last[string]("question"), state.Last[plan]("plan")
	done := state.Append[string]("done")

	b := graph.New("plan", question, current, done)
	b.Node("plan", func(ctx context.Context, s state.View) (state.Update, error) {
		p, _, err := llm.As[plan](ctx, planner, llm.Request{Messages: []llm.Message{llm.User(fmt.Sprintf("Plan: %s\nDone: %q", question.Get(s), done.Get(s)))}})
		return state.Update{current.Put(p)}, err
	})
	b.SubgraphWith("work", worker, graph.SubgraphOptions{
		Input: func(s state.View) (state.Update, error) {
			return state.Update{agent.Messages.Put(llm.Relay(current.Get(s).Steps[0]))}, nil
		},
		Output: func(s, sub state.View) (state.Update, error) {
			answer, _ := agent.Messages.Last(sub)
			return state.Update{done.Put(current.Get(s).Steps[0] + " " + answer.Text())}, nil
		},
	})
	b.Edge(graph.Start, "plan")
	b.Branch("plan", func(s state.View) (string, error) {
		if len(current.Get(s).Steps) == 0 {
			return graph.End, nil
		}
		return "work", nil
	}, "work", graph.End)
	b.Edge("work", "plan")
	g := must(b.Compile(graph.Options{}))

	snap := must(g.Invoke(context.Background(), question.Put("How old is the winner of the race?")))
	fmt.Println(strings.Join(done.Get(snap), "\n"))
	fmt.Println(current.Get(snap).Answer)
	// Output:
	// Who won the race? Ann won.
	// How old is Ann? 31
	// Ann won. She is 31.
}

// Reflection: a critic reads the first answer. A middleware adds the critic's words to the
// conversation, and the agent asks the model once more.
func Example_reflection() {
	writer := llmtest.NewScript(llmtest.Say("The loom was invented in 1804."), llmtest.Say("The Jacquard loom was invented in 1804; looms are far older."))
	critic := llmtest.NewScript(llmtest.Say("Which loom? Looms are thousands of years old."))
	reflect := agent.Middleware{Name: "reflect", AfterModel: func(ctx context.Context, r agent.Run, reply *llm.Message) (state.Update, error) {
		if r.Turn > 1 {
			return nil, nil
		}
		doubts, err := ask(ctx, critic, "Find mistakes: "+reply.Text())
		if err != nil {
			return nil, err
		}
		return state.Update{r.Messages.Put(llm.Relay("A critic says: " + doubts))}, agent.Jump(agent.ModelNode)
	}}
	bot := must(agent.New("writer", writer, nil, agent.Options{Use: []agent.Middleware{reflect}}))
	snap := must(bot.Invoke(context.Background(), agent.Messages.Put(llm.User("When was the loom invented?"))))
	last, _ := agent.Messages.Last(snap)
	fmt.Println(last)
	// Output: assistant: The Jacquard loom was invented in 1804; looms are far older.
}

// Customer support: the agent looks orders up on its own, and a refund waits for a person, who
// corrects it here. Any process that has the store can take the person's answer.
func Example_customerSupport() {
	orders := map[string]int{"A17": 40}
	set := must(tools.NewSet(
		tools.New("look_up", "Looks up an order.", func(_ context.Context, in struct {
			Order string `json:"order"`
		},
		) (string, error) {
			return fmt.Sprintf("order %s: %d euros, delivered", in.Order, orders[in.Order]), nil
		}),
		tools.New("refund", "Refunds an order.", func(ctx context.Context, in struct {
			Order string `json:"order"`
			Euros int    `json:"euros"`
		},
		) (string, error) {
			// Pass graph.IdempotencyKey(ctx) to the payment service, so that no refund is made twice.
			return fmt.Sprintf("refunded %d euros", in.Euros), nil
		}).Annotate(tools.Annotations{Destructive: true}),
	))
	model := llmtest.NewScript(
		llmtest.Call("look_up", `{"order":"A17"}`), llmtest.Call("refund", `{"order":"A17","euros":400}`), llmtest.Say("You got 40 euros back."),
	)
	bot := must(agent.New("support", model, set, agent.Options{
		System: "You help customers of a shop.",
		Tools:  tools.Options{Approval: tools.Approval{Rule: tools.Destructive()}},
		Graph:  graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})},
	}))
	ctx, thread := context.Background(), bot.Thread("customer-7")
	snap := must(thread.Invoke(ctx, agent.Messages.Put(llm.User("My order A17 is broken. I want my money back."))))
	open := must(agent.Approval.Open(snap))
	fmt.Println("asks:", open[0].Prompt.Tool, string(open[0].Prompt.Arguments))
	corrected := open[0].Prompt.Edit([]byte(`{"order":"A17","euros":40}`))
	snap = must(thread.Invoke(ctx, agent.Approval.Answer(open[0].ID, corrected)))
	last, _ := agent.Messages.Last(snap)
	fmt.Println(last)
	// Output:
	// asks: refund {"euros":400,"order":"A17"}
	// assistant: You got 40 euros back.
}

// Handoffs as states: one agent, whose prompt and tools depend on the step of the conversation. A
// tool moves to the next step.
func Example_handoffsAsStates() {
	step := state.Last[string]("step").Default(func() string { return "warranty" })
	next := tools.New("warranty_checked", "Notes whether the device is under warranty.", func(_ context.Context, in struct {
		Valid bool `json:"valid"`
	},
	) (tools.Result, error) {
		return tools.Result{Text: "noted", Update: state.Update{step.Put("repair")}}, nil
	})
	repair := tools.New("order_repair", "Orders a repair.", func(context.Context, struct{}) (string, error) { return "ordered", nil })
	prompts := map[string]string{"warranty": "Ask whether the device is under warranty.", "repair": "Order the repair."}
	offered := map[string]string{"warranty": "warranty_checked", "repair": "order_repair"}
	set := must(tools.NewSet(next, repair))
	steps := agent.Middleware{
		Name: "steps", Channels: []state.Handle{step},
		Prompt: func(_ context.Context, r agent.Run) (string, error) { return prompts[step.Get(r.State)], nil },
		WrapModel: func(ctx context.Context, c agent.ModelCall, ask agent.ModelFunc) (agent.Reply, error) {
			c.Request.Tools = set.Select(tools.Query{Names: []string{offered[step.Get(c.State)]}}).Specs()
			return ask(ctx, c)
		},
	}
	model := llmtest.NewScript(llmtest.Call("warranty_checked", `{"valid":true}`), llmtest.Call("order_repair", `{}`), llmtest.Say("A technician will come."))
	bot := must(agent.New("service", model, set, agent.Options{Use: []agent.Middleware{steps}}))
	must(bot.Invoke(context.Background(), agent.Messages.Put(llm.User("My loom is broken. It is one year old."))))
	for _, r := range model.Requests() {
		fmt.Println(r.Messages[0].Text(), r.Tools[0].Name)
	}
	// Output:
	// Ask whether the device is under warranty. warranty_checked
	// Order the repair. order_repair
	// Order the repair. order_repair
}
