package howto_test

import (
	"context"
	"fmt"

	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/llmtest"
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
