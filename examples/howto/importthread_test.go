package howto_test

import (
	"context"
	"fmt"

	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/llmtest"
	"github.com/weft-go/weft/tools"
)

// A conversation that LangGraph has stored continues in Weft. The update is written as the model
// node, which has answered, so no task is due.
func Example_importThread() {
	exported := []byte(`[
		{"type":"human","data":{"content":"My parcel is late.","id":"h1"}},
		{"type":"ai","data":{"content":"I am sorry. What is its number?","id":"a1"}}
	]`) // json.dumps(messages_to_dict(graph.get_state(config).values["messages"]))

	model := llmtest.NewScript(llmtest.Say("It arrives tomorrow."))
	desk := must(agent.New("desk", model, must(tools.NewSet()), agent.Options{
		Graph: graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})},
	}))
	ctx, thread := context.Background(), desk.Thread("customer-4")
	messages := must(llm.FromLangChain(exported))
	must(thread.Update(ctx, agent.ModelNode, agent.Messages.Put(messages...)))

	snap := must(thread.Invoke(ctx, agent.Messages.Put(llm.User("4711"))))
	for _, m := range agent.Messages.All(snap) {
		fmt.Println(m)
	}
	// Output:
	// user: My parcel is late.
	// assistant: I am sorry. What is its number?
	// user: 4711
	// assistant: It arrives tomorrow.
}
