//go:build unix

package deep_test

import (
	"context"
	"fmt"
	"os"

	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/graph/agent/deep"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/llmtest"
)

// A person approves a command before it runs.
func ExampleCommands() {
	ctx := context.Background()
	runner := deep.Process{Dir: os.TempDir()}
	model := llmtest.NewScript(llmtest.Call("execute", `{"command":"echo $((6 * 7))"}`), llmtest.Say("42"))
	a := must(agent.New("shell", model, nil, agent.Options{
		Use:   []agent.Middleware{deep.Commands(runner, deep.AskFirst)},
		Graph: graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})},
	}))
	snap := must(a.Thread("1").Invoke(ctx, agent.Messages.Put(llm.User("6 * 7?"))))
	q := must(agent.Approval.Open(snap))[0]
	fmt.Printf("%s %s\n", q.Prompt.Tool, q.Prompt.Arguments)
	snap = must(a.Thread("1").Invoke(ctx, agent.Approval.Answer(q.ID, q.Prompt.Approve())))
	for _, m := range agent.Messages.All(snap) {
		if m.Role == llm.RoleTool {
			fmt.Println(m.Text())
		}
	}
	// Output:
	// execute {"command":"echo $((6 * 7))"}
	// 42
	//
	// [exit code 0]
}
