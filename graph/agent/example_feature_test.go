package agent_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/graph/broadcast"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/llmtest"
	"github.com/weft-go/weft/state"
	"github.com/weft-go/weft/tools"
)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// A front end reads the chunks of a run and displays each kind differently.
func ExampleChunks() {
	look := tools.New("look", "Looks.", func(context.Context, struct{}) (string, error) { return "rain", nil })
	model := llmtest.NewScript(
		llmtest.Call("look", `{}`),
		llmtest.Say("Take an umbrella.").Costing(llm.Usage{Input: 40, Output: 6}),
	)
	a := must(agent.New("helper", model, must(tools.NewSet(look)), agent.Options{}))
	var text strings.Builder
	for c, err := range agent.Chunks(a.Stream(context.Background(), agent.Messages.Put(llm.User("What do I need?")))) {
		if err != nil {
			fmt.Println(err)
			return
		}
		switch c.Kind {
		case agent.ChunkText:
			text.WriteString(c.Text)
		case agent.ChunkToolStarted:
			fmt.Println("calls", c.Call.Name)
		case agent.ChunkToolFinished:
			fmt.Println("gets", c.Answer.Text())
		case agent.ChunkOutcome:
			fmt.Printf("says %q\n%s after %d turns and %d tokens\n", text.String(), c.Outcome.Reason, c.Outcome.Turns, c.Outcome.Usage.Total)
		}
	}
	// Output:
	// calls look
	// gets rain
	// says "Take an umbrella."
	// answered after 2 turns and 46 tokens
}

// Any number of readers get the chunks of one run from a broadcast.
func ExampleChunks_broadcast() {
	a := must(agent.New("helper", llmtest.NewScript(llmtest.Say("Take an umbrella.")), nil, agent.Options{}))
	shared := broadcast.New(0)
	go shared.Run(a.Stream(context.Background(), agent.Messages.Put(llm.User("What do I need?")))) //nolint:errcheck // the readers receive the error
	events := func(yield func(graph.Event, error) bool) {
		for e, err := range shared.Events(context.Background(), 0) {
			if !yield(e.Event, err) {
				return
			}
		}
	}
	for c, err := range agent.Chunks(events) {
		if err != nil {
			fmt.Println(err)
			return
		}
		if c.Kind == agent.ChunkText {
			fmt.Print(c.Text)
		}
	}
	// Output: Take an umbrella.
}

// Any node of a graph may ask a model and stream the reply as chunks.
func ExampleAsk() {
	title := state.Last[string]("title")
	b := graph.New("titles", title)
	b.Node("name", func(ctx context.Context, _ state.View) (state.Update, error) {
		reply, err := agent.Ask(ctx, llmtest.NewScript(llmtest.Say("Warp")), llm.Request{Messages: []llm.Message{llm.User("Name it.")}})
		return state.Update{title.Put(reply.Text())}, err
	})
	b.Edge(graph.Start, "name")
	g := must(b.Compile(graph.Options{}))
	for c, err := range agent.Chunks(g.Stream(context.Background())) {
		if err != nil {
			fmt.Println(err)
			return
		}
		if c.Kind == agent.ChunkText {
			fmt.Println(c.Node, "says", c.Text)
		}
	}
	// Output: name says Warp
}

// A call of a destructive tool waits for a person, who may answer in another process.
func Example_approval() {
	submit := tools.New("submit_order", "Orders cups.", func(_ context.Context, in struct {
		Cups int `json:"cups"`
	},
	) (string, error) {
		return fmt.Sprint("ordered ", in.Cups), nil
	}).Annotate(tools.Annotations{Destructive: true})
	model := llmtest.NewScript(llmtest.Call("submit_order", `{"cups":900}`), llmtest.Say("As you wish."))
	a := must(agent.New("shop", model, must(tools.NewSet(submit)), agent.Options{
		Tools: tools.Options{Approval: tools.Approval{Rule: tools.Destructive()}},
		Graph: graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})},
	}))
	thread := a.Thread("user-42")
	snap := must(thread.Invoke(context.Background(), agent.Messages.Put(llm.User("900 cups, please"))))
	open := must(agent.Approval.Open(snap))
	fmt.Println(open[0].Prompt.Tool, string(open[0].Prompt.Arguments))

	no := open[0].Prompt.Reject("that is a lot of cups")
	snap = must(thread.Invoke(context.Background(), agent.Approval.Answer(open[0].ID, no)))
	for _, m := range agent.Messages.Get(snap)[2:] {
		fmt.Println(m)
	}
	// Output:
	// submit_order {"cups":900}
	// tool: a person rejected this call: that is a lot of cups
	// assistant: As you wish.
}

// The agent ends with an answer of a Go type.
func ExampleStructured() {
	type plan struct {
		City string   `json:"city"`
		Pack []string `json:"pack"`
	}
	model := llmtest.NewScript(
		llmtest.Say("Athens is hot. Take a hat."),
		llmtest.Call("answer", `{"city":"Athens"}`), // "pack" is missing, so the model is asked again
		llmtest.Call("answer", `{"city":"Athens","pack":["hat"]}`),
	)
	a := must(agent.New("helper", model, nil, agent.Options{Answer: agent.Structured[plan]()}))
	snap := must(a.Invoke(context.Background(), agent.Messages.Put(llm.User("What do I pack for Athens?"))))
	fmt.Println(agent.Answer[plan](snap))
	// Output: {Athens [hat]} <nil>
}

// Result has the reason why a run ended. Here the model reached the last turn, in which
// it may not call tools.
func ExampleResult() {
	look := tools.New("look", "Looks.", func(context.Context, struct{}) (string, error) { return "nothing yet", nil })
	model := llmtest.NewScript(llmtest.Call("look", `{}`), llmtest.Call("look", `{}`), llmtest.Say("I found nothing."))
	a := must(agent.New("helper", model, must(tools.NewSet(look)), agent.Options{MaxTurns: 3}))
	snap := must(a.Invoke(context.Background(), agent.Messages.Put(llm.User("Find it."))))
	last, _ := agent.Messages.Last(snap)
	r := agent.Result.Get(snap)
	fmt.Printf("%s: %s (%s)\n", last.Text(), r.Reason, r.Problem)
	// Output: I found nothing.: turns (the model was asked 3 times)
}

// The system prompt and the tools of each turn depend on the state.
func ExampleOptions() {
	admin := state.Last[bool]("admin")
	set := must(tools.NewSet(
		tools.New("read_file", "Reads.", func(context.Context, struct{}) (string, error) { return "text", nil }),
		tools.New("delete_file", "Deletes.", func(context.Context, struct{}) (string, error) { return "gone", nil }),
	))
	small := llmtest.NewScript(llmtest.Call("delete_file", `{}`), llmtest.Say("I can not."))
	a := must(agent.New("helper", small, set, agent.Options{
		Channels: []state.Handle{admin},
		Use: []agent.Middleware{{
			Prompt: func(_ context.Context, r agent.Run) (string, error) {
				return fmt.Sprintf("Admin: %t.", admin.Get(r.State)), nil
			},
			WrapModel: func(ctx context.Context, c agent.ModelCall, next agent.ModelFunc) (agent.Reply, error) {
				if !admin.Get(c.State) {
					c.Request.Tools = set.Select(tools.Query{Names: []string{"read_*"}}).Specs()
				}
				return next(ctx, c)
			},
		}},
	}))
	snap := must(a.Invoke(context.Background(), admin.Put(false), agent.Messages.Put(llm.User("Delete it."))))
	for _, m := range agent.Messages.All(snap) {
		fmt.Println(m)
	}
	// Output:
	// user: Delete it.
	// assistant: delete_file({})
	// tool: tool "delete_file" is not available in this turn
	// assistant: I can not.
}

// A supervisor hands over tasks to agents. The poet has its own conversation, which
// begins with the task. Its last answer is the result of the handover.
func ExampleSupervisor() {
	poems := state.Keyed("poet_messages", llm.ByID)
	poet := must(agent.New("poet", llmtest.NewScript(llmtest.Say("Over and under it goes.")), nil, agent.Options{Messages: poems}))
	boss := llmtest.NewScript(
		llmtest.Call("transfer_to_poet", `{"task":"one line on weaving"}`),
		llmtest.Say("Here it is."),
	)
	team := []agent.Member{{Agent: poet, Description: "It writes verse.", Messages: poems}}
	a := must(agent.Supervisor("editor", boss, nil, team, agent.Options{}))
	for c, err := range agent.Chunks(a.Stream(context.Background(), agent.Messages.Put(llm.User("A poem, please.")))) {
		if err != nil {
			fmt.Println(err)
			return
		}
		switch c.Kind {
		case agent.ChunkTurn:
			fmt.Printf("%q is asked\n", c.Turn.Agent)
		case agent.ChunkEnd:
			for _, m := range agent.Messages.All(c.Snapshot) {
				fmt.Println(m)
			}
		}
	}
	// Output:
	// "editor" is asked
	// "poet" is asked
	// "editor" is asked
	// user: A poem, please.
	// assistant: transfer_to_poet({"task":"one line on weaving"})
	// tool: Over and under it goes.
	// assistant: Here it is.
}

// An agent is a node of another graph. The two graphs share the channels that both
// declare, and the stream of the outer graph contains the chunks of the agent.
func ExampleNew_subgraph() {
	model := llmtest.NewScript(llmtest.Say("Eleven knots, from the north."))
	pilot := must(agent.New("pilot", model, nil, agent.Options{}))
	b := graph.New("trip", agent.Messages)
	b.Node("brief", func(context.Context, state.View) (state.Update, error) {
		return state.Update{agent.Messages.Put(llm.User("How is the wind?"))}, nil
	})
	b.Subgraph("pilot", pilot)
	b.Edge(graph.Start, "brief")
	b.Edge("brief", "pilot")
	b.Edge("pilot", graph.End)
	g := must(b.Compile(graph.Options{}))
	for c, err := range agent.Chunks(g.Stream(context.Background())) {
		switch {
		case err != nil:
			fmt.Println(err)
			return
		case c.Kind == agent.ChunkText:
			fmt.Print(c.Text)
		case c.Kind == agent.ChunkOutcome:
			fmt.Printf(" (%s: %s)", c.Agent, c.Outcome.Reason)
		}
	}
	// Output: Eleven knots, from the north. (pilot: answered)
}

// A middleware chooses the model of each turn, and changes a reply before it is stored.
func ExampleMiddleware() {
	notes := state.Append[string]("notes")
	small := llmtest.NewScript(llmtest.Call("look", `{}`))
	large := llmtest.NewScript(llmtest.Say("The key is 1234."))
	look := tools.New("look", "Looks.", func(context.Context, struct{}) (string, error) { return "much to read", nil })
	a := must(agent.New("helper", small, must(tools.NewSet(look)), agent.Options{
		Channels: []state.Handle{notes},
		Use: []agent.Middleware{{
			WrapModel: func(ctx context.Context, c agent.ModelCall, next agent.ModelFunc) (agent.Reply, error) {
				if last, _ := agent.Messages.Last(c.State); last.Role == llm.RoleTool {
					c.Model = large // the large model interprets the tool result
				}
				return next(ctx, c)
			},
			AfterModel: func(_ context.Context, _ agent.Run, reply *llm.Message) (state.Update, error) {
				if text := reply.Text(); strings.Contains(text, "1234") {
					reply.Parts = []llm.Part{llm.Text(strings.ReplaceAll(text, "1234", "****"))}
					return state.Update{notes.Put("a key was removed")}, nil
				}
				return nil, nil
			},
		}},
	}))
	snap := must(a.Invoke(context.Background(), agent.Messages.Put(llm.User("What is the key?"))))
	last, _ := agent.Messages.Last(snap)
	fmt.Println(last, notes.Get(snap))
	// Output: assistant: The key is ****. [a key was removed]
}
