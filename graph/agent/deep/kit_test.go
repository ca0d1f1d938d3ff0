package deep_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/llmtest"
)

func toolCall(name string, arguments any) llm.ToolCall {
	data, err := json.Marshal(arguments)
	if err != nil {
		panic(err)
	}
	return llm.ToolCall{Name: name, Arguments: data}
}

// modelFunc returns a model that replies with the result of a function.
func modelFunc(reply func(r llm.Request) llmtest.Reply) llm.Model {
	return llm.ModelFunc(func(ctx context.Context, r llm.Request) iter.Seq2[llm.Chunk, error] {
		return llmtest.NewScript(reply(r)).Stream(ctx, r)
	})
}

// callTools returns a function that makes an agent call tools in one reply, and returns the
// answers. All calls belong to one thread.
func callTools(t *testing.T, use ...agent.Middleware) func(calls ...llm.ToolCall) []llm.Message {
	t.Helper()
	var next []llm.ToolCall
	model := modelFunc(func(r llm.Request) llmtest.Reply {
		if last := r.Messages[len(r.Messages)-1]; last.Role == llm.RoleTool {
			return llmtest.Say("done")
		}
		return llmtest.Calls(next...)
	})
	g, err := agent.New("caller", model, nil, agent.Options{Use: use, Graph: graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})}})
	require.NoError(t, err)
	thread, n := g.Thread("1"), 0
	return func(calls ...llm.ToolCall) (answers []llm.Message) {
		t.Helper()
		for i := range calls {
			n++
			calls[i].ID = fmt.Sprint("call ", n)
		}
		next = calls
		// Each reply begins a new conversation, so that it stays short.
		snap, err := thread.Invoke(t.Context(), agent.Messages.Overwrite([]llm.Message{llm.User("call")}))
		require.NoError(t, err)
		for _, m := range agent.Messages.Get(snap) {
			if m.Role == llm.RoleTool {
				answers = append(answers, m)
			}
		}
		require.Len(t, answers, len(calls))
		return answers
	}
}
