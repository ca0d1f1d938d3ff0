package howto_test

import (
	"context"
	"fmt"
	"iter"

	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/llmtest"
	"github.com/weft-go/weft/tools"
)

// Two questions on one thread. The model sees the first one when it answers the second one.
func Example_conversation() {
	ctx := context.Background()
	model := llmtest.NewScript(llmtest.Say("Nice to meet you, Ann."), llmtest.Say("You are Ann."))
	bot := must(agent.New("helper", model, nil, agent.Options{
		Graph: graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})},
	}))
	thread := bot.Thread("user-42")
	must(thread.Invoke(ctx, agent.Messages.Put(llm.User("I am Ann."))))
	snap := must(thread.Invoke(ctx, agent.Messages.Put(llm.User("Who am I?"))))
	answer, _ := agent.Messages.Last(snap)
	fmt.Println(len(model.Requests()[1].Messages), "messages were sent:", answer.Text())
	// Output: 3 messages were sent: You are Ann.
}

// docs:begin elsewhere

// clerk stands for a model. It decides by the newest message, so it works in any process. A script
// would begin with its first reply in each process.
var clerk = llm.ModelFunc(func(_ context.Context, r llm.Request) iter.Seq2[llm.Chunk, error] {
	last := r.Messages[len(r.Messages)-1]
	if last.Role == llm.RoleTool {
		return llm.Reply(llm.Assistant("The tool says: " + last.Text()))
	}
	call := llm.ToolCall{ID: "call_1", Name: "refund", Arguments: []byte(`{"order":"A7"}`)}
	return llm.Reply(llm.Message{Role: llm.RoleAssistant, ToolCalls: []llm.ToolCall{call}})
})

// newDesk returns a graph with an agent as its node. Each process builds it in the same way.
func newDesk(store *memcheckpoint.Store) (*graph.Graph, error) {
	refund := tools.New("refund", "Pays an order back.", func(_ context.Context, in struct {
		Order string `json:"order"`
	},
	) (string, error) {
		return in.Order + " is paid back", nil
	}).Annotate(tools.Annotations{Destructive: true})
	set, err := tools.NewSet(refund)
	if err != nil {
		return nil, err
	}
	bot, err := agent.New("clerk", clerk, set, agent.Options{
		Tools: tools.Options{Approval: tools.Approval{Rule: tools.Destructive()}},
	})
	if err != nil {
		return nil, err
	}
	b := graph.New("desk", agent.Messages, agent.Result)
	b.Subgraph("clerk", bot)
	b.Edge(graph.Start, "clerk")
	return b.Compile(graph.Options{Checkpoints: store})
}

// One process asks, and another one answers. They share only the store.
func Example_approvalElsewhere() {
	ctx := context.Background()
	store := memcheckpoint.New(memcheckpoint.Options{}) // processes share a file or a database

	first := must(newDesk(store)).Thread("customer-7")
	snap := must(first.Invoke(ctx, agent.Messages.Put(llm.User("I want my money back."))))
	fmt.Println(snap.Pauses[0].Node, "waits")

	second := must(newDesk(store)).Thread("customer-7")
	open := must(agent.Approval.Open(must(second.Snapshot(ctx))))
	fmt.Println(open[0].Prompt.Tool, string(open[0].Prompt.Arguments))
	snap = must(second.Invoke(ctx, agent.Approval.Answer(open[0].ID, open[0].Prompt.Approve())))
	answer, _ := agent.Messages.Last(snap)
	fmt.Println(answer.Text())
	fmt.Println(agent.Result.Get(snap).Reason)
	// Output:
	// clerk waits
	// refund {"order":"A7"}
	// The tool says: A7 is paid back
	// answered
}

// docs:end
