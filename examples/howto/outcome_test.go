package howto_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/llmtest"
	"github.com/weft-go/weft/tools"
)

// answered returns an error if a run of an agent has ended without an answer. A run that waits for a person has not ended.
func answered(snap *graph.Snapshot, err error) error {
	if err != nil || len(snap.Pauses) > 0 {
		return err
	}
	if o := agent.Result.Get(snap); o.Reason != agent.Answered {
		return fmt.Errorf("agent %q ended early (%s): %s", o.Agent, o.Reason, o.Problem)
	}
	return nil
}

// A tool that fails, and the limit of turns, end the run with an error. A run without input calls the tool again.
func Example_failuresAreErrors() {
	down := true
	pay := tools.New("pay", "Pays the order.", func(context.Context, struct{}) (string, error) {
		if down {
			return "", errors.New("the payment service is down")
		}
		return "paid", nil
	})
	model := llmtest.NewScript(llmtest.Call("pay", `{}`), llmtest.Call("pay", `{}`))
	bot := must(agent.New("clerk", model, must(tools.NewSet(pay)), agent.Options{
		MaxTurns: 2,
		Tools: tools.Options{
			OnError:     tools.ReturnErrors,
			Timeout:     -1, // no limit; zero means 30 seconds
			MaxParallel: -1, // no limit; zero means 5 calls at the same time
		},
		Graph: graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})},
	}))

	ctx, thread := context.Background(), bot.Thread("order-1")
	fmt.Println(answered(thread.Invoke(ctx, agent.Messages.Put(llm.User("Pay, please.")))))
	down = false
	fmt.Println(answered(thread.Invoke(ctx)))
	// Output:
	// graph "clerk": thread "order-1": node "tools" (task tools[0]): tools: pay (call call_1): the payment service is down
	// agent "clerk" ended early (turns): the model was asked 2 times
}
