package agent_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/llmtest"
	"github.com/weft-go/weft/state"
	"github.com/weft-go/weft/tools"
)

// The stream of a run has the tokens and the question of a sub-agent, with its path.
func ExampleAsTool() {
	store := memcheckpoint.New(memcheckpoint.Options{})
	send := tools.New("send", "Sends.", func(context.Context, struct{ To string }) (string, error) { return "sent", nil })
	mailer := must(agent.New("mailer", llmtest.NewScript(llmtest.Say("sub speaks"), llmtest.Call("send", `{"To":"ann"}`), llmtest.Say("mail sent")), must(tools.NewSet(send)),
		agent.Options{Tools: tools.Options{Approval: tools.Approval{Rule: tools.Named("send")}}}))
	model := llmtest.NewScript(llmtest.Call("mailer", `{"task":"speak"}`), llmtest.Call("mailer", `{"task":"mail ann"}`), llmtest.Say("ok"))
	boss := must(agent.New("boss", model, nil, agent.Options{
		Use:   []agent.Middleware{agent.AsTool(agent.SubAgent{Agent: mailer, Description: "It mails."})},
		Graph: graph.Options{Checkpoints: store},
	}))
	var open []graph.OpenQuestion[tools.Question]
	said := map[string]string{}
	for c, err := range agent.Chunks(boss.Thread("1").Stream(context.Background(), agent.Messages.Put(llm.User("mail ann")))) {
		if err != nil {
			fmt.Println(err)
			return
		}
		switch c.Kind {
		case agent.ChunkText:
			said[c.Path] += c.Text
		case agent.ChunkEnd:
			open = must(agent.Approval.Open(c.Snapshot))
		}
	}
	fmt.Println(said, "asks:", open[0].Prompt.Tool)
	snap := must(boss.Thread("1").Invoke(context.Background(), agent.Approval.Answer(open[0].ID, open[0].Prompt.Approve())))
	for _, m := range agent.Messages.All(snap) {
		fmt.Println(m)
	}
	// Output:
	// map[mailer[0]:sub speaks] asks: send
	// user: mail ann
	// assistant: mailer({"task":"speak"})
	// tool: sub speaks
	// assistant: mailer({"task":"mail ann"})
	// tool: mail sent
	// assistant: ok
}

// A tool hands the conversation over to a node of the parent graph. Without a handover, a branch of the parent chooses
// the node "next". The branch reads the channel that the tool writes.
func ExampleNew_handOver() {
	owner := state.Last[string]("owner")
	escalate := tools.New("escalate", "Hands over to a person.", func(context.Context, struct{}) (tools.Result, error) {
		return tools.Result{Text: "A person takes over.", Update: state.Update{
			graph.ToParent(owner.Put("person")), graph.ToParent(graph.Goto("person")),
		}}, nil
	})
	script := llmtest.NewScript(llmtest.Call("escalate", `{}`), llmtest.Say("See the manual."))
	helper := must(agent.New("helper", script, must(tools.NewSet(escalate)), agent.Options{}))

	says := func(text string) graph.NodeFunc {
		return func(context.Context, state.View) (state.Update, error) {
			return state.Update{agent.Messages.Put(llm.Assistant(text))}, nil
		}
	}
	b := graph.New("desk", agent.Messages, owner)
	b.Subgraph("helper", helper)
	b.Node("person", says("Ann is here."))
	b.Node("next", says("Is there anything else?"))
	b.Edge(graph.Start, "helper")
	b.Destinations("helper", "person") // the targets of its tools
	b.Branch("helper", func(s state.View) (string, error) {
		if owner.Get(s) != "" {
			return graph.End, nil
		}
		return "next", nil
	}, "next", graph.End)
	desk := must(b.Compile(graph.Options{}))
	for _, text := range []string{"I want a refund.", "How do I log in?"} {
		snap := must(desk.Invoke(context.Background(), agent.Messages.Put(llm.User(text))))
		last, _ := agent.Messages.Last(snap)
		fmt.Println(last)
	}
	// Output:
	// assistant: Ann is here.
	// assistant: Is there anything else?
}

// Alice and Bob hand over the conversation to each other. The thread stores which agent is active.
func ExampleSwarm() {
	add := tools.New("add", "Adds.", func(_ context.Context, in struct{ A, B int }) (int, error) { return in.A + in.B, nil })
	alice := must(agent.New("alice", llmtest.NewScript(llmtest.Call("transfer_to_bob", `{}`), llmtest.Call("add", `{"A":5,"B":7}`), llmtest.Say("12")), must(tools.NewSet(add)),
		agent.Options{System: "You are Alice, an addition expert.", Use: []agent.Middleware{agent.Handoff("bob", "He is a pirate.")}}))
	bob := must(agent.New("bob", llmtest.NewScript(llmtest.Say("Arr, Bob here!"), llmtest.Call("transfer_to_alice", `{}`)), nil,
		agent.Options{System: "You are Bob, you speak like a pirate.", Use: []agent.Middleware{agent.Handoff("alice", "She can add.")}}))
	swarm := must(agent.Swarm("swarm", []*graph.Graph{alice, bob}, agent.SwarmOptions{Graph: graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})}}))
	for _, text := range []string{"i'd like to speak to Bob", "what's 5 + 7?"} {
		snap := must(swarm.Thread("1").Invoke(context.Background(), agent.Messages.Put(llm.User(text))))
		last, _ := agent.Messages.Last(snap)
		fmt.Println(agent.Active.Get(snap), "/", last)
	}
	// Output:
	// bob / assistant: Arr, Bob here!
	// alice / assistant: 12
}

// A middleware stops the run before the model is asked.
func ExampleStop() {
	closed := agent.Middleware{BeforeAgent: func(context.Context, agent.Run) (state.Update, error) {
		return nil, agent.Stop(llm.Assistant("We are closed. Please come back tomorrow."))
	}}
	bot := must(agent.New("shop", llmtest.Echo{}, nil, agent.Options{Use: []agent.Middleware{closed}}))
	snap := must(bot.Invoke(context.Background(), agent.Messages.Put(llm.User("Hello?"))))
	last, _ := agent.Messages.Last(snap)
	fmt.Println(last, "/", agent.Result.Get(snap).Reason)
	// Output: assistant: We are closed. Please come back tomorrow. / stopped
}

// A middleware makes the model reply again if a reply names no source. Each jump is a turn, so
// MaxTurns limits the jumps.
func ExampleJump() {
	sourced := agent.Middleware{AfterModel: func(_ context.Context, r agent.Run, reply *llm.Message) (state.Update, error) {
		if strings.Contains(reply.Text(), "https://") {
			return nil, nil
		}
		return state.Update{r.Messages.Put(llm.Relay("Name your source."))}, agent.Jump(agent.ModelNode)
	}}
	model := llmtest.NewScript(llmtest.Say("Looms are old."), llmtest.Say("Looms are old: https://example.com/looms"))
	bot := must(agent.New("helper", model, nil, agent.Options{Use: []agent.Middleware{sourced}}))
	snap := must(bot.Invoke(context.Background(), agent.Messages.Put(llm.User("How old are looms?"))))
	last, _ := agent.Messages.Last(snap)
	fmt.Println(last)
	// Output: assistant: Looms are old: https://example.com/looms
}
