package middleware_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/graph/agent/middleware"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/llmtest"
	"github.com/weft-go/weft/tools"
)

// Above the limit, old results are cleared in the request, except the newest and the excluded ones.
// The stored conversation stays complete.
func TestClearResultsKeepsTheNewest(t *testing.T) {
	t.Parallel()
	keep := tools.New("keep", "Keeps.", func(context.Context, struct{}) (string, error) { return "kept", nil })
	script := llmtest.NewScript(llmtest.Calls(llm.ToolCall{Name: "work"}, llm.ToolCall{Name: "keep"}), llmtest.Call("work", `{}`), llmtest.Call("work", `{}`), llmtest.Say("done"))
	g := newAgent(t, script, use(middleware.ClearResults(middleware.Clearing{Above: 4, Keep: 1, Exclude: []string{"keep"}, Counter: countMessages})), work, keep)
	snap, err := g.Thread("1").Invoke(t.Context(), agent.Messages.Put(llm.User("go")))
	require.NoError(t, err)
	var last []string
	for _, m := range script.Requests()[3].Messages {
		if m.Role == llm.RoleTool {
			last = append(last, m.Text())
		}
	}
	note := "[cleared: call the tool again if you need the result]"
	assert.Equal(t, []string{note, "kept", note, "worked"}, last)
	assert.NotContains(t, fmt.Sprint(script.Requests()[1].Messages), "cleared", "the conversation is short")
	assert.NotContains(t, strings.Join(roles(snap), " "), "cleared")
}

// A tool is retried only if it is named.
func TestRetryToolsTriesNamedTools(t *testing.T) {
	t.Parallel()
	runs := map[string]int{}
	flaky := func(name string) tools.Tool {
		return tools.New(name, "Fails once.", func(context.Context, struct{}) (string, error) {
			if runs[name]++; runs[name] == 1 {
				return "", errors.New("flaky")
			}
			return "fine", nil
		})
	}
	o := use(middleware.RetryTools(tools.RetryPolicy{Initial: time.Millisecond}, "a"))
	o.Graph.MaxParallel = 1
	g := newAgent(t, llmtest.NewScript(llmtest.Calls(llm.ToolCall{Name: "a"}, llm.ToolCall{Name: "b"}), llmtest.Say("done")), o, flaky("a"), flaky("b"))
	snap, err := g.Thread("1").Invoke(t.Context(), agent.Messages.Put(llm.User("go")))
	require.NoError(t, err)
	assert.Equal(t, []string{"user:go", "assistant:", "tool:fine", "tool:flaky", "assistant:done"}, roles(snap))
}

// The rules of several middlewares and of the options are combined. A tool that fails after its
// approval is retried without another question.
func TestApproveAddsRules(t *testing.T) {
	t.Parallel()
	tries := 0
	tool := func(name string) tools.Tool {
		return tools.New(name, "Works.", func(context.Context, struct{}) (string, error) {
			if tries++; tries == 1 {
				return "", errors.New("flaky")
			}
			return name, nil
		})
	}
	o := use(middleware.Approve(tools.Named("a")), middleware.Approve(tools.Named("b")), middleware.RetryTools(tools.RetryPolicy{Initial: time.Millisecond}))
	o.Tools.Approval.Rule = tools.Named("c")
	g := newAgent(t, llmtest.NewScript(llmtest.Calls(llm.ToolCall{Name: "a"}, llm.ToolCall{Name: "b"}, llm.ToolCall{Name: "c"}, llm.ToolCall{Name: "d"}), llmtest.Say("done")), o,
		tool("a"), tool("b"), tool("c"), tool("d"))
	snap, err := g.Thread("1").Invoke(t.Context(), agent.Messages.Put(llm.User("go")))
	require.NoError(t, err)
	open, err := agent.Approval.Open(snap)
	require.NoError(t, err)
	require.Len(t, open, 3)
	tries = 0
	snap, err = g.Thread("1").Invoke(t.Context(), agent.Approval.Answer(open[0].ID, open[0].Prompt.Approve()))
	require.NoError(t, err)
	assert.Equal(t, 2, tries)
	open, err = agent.Approval.Open(snap)
	require.NoError(t, err)
	assert.Len(t, open, 2)
}

func ExampleClearResults() {
	model := llmtest.NewScript(llmtest.Call("read", `{}`), llmtest.Call("read", `{}`), llmtest.Say("Read."))
	read := tools.New("read", "Reads.", func(context.Context, struct{}) (string, error) { return strings.Repeat("a long text ", 1000), nil })
	bot := must(agent.New("bot", model, must(tools.NewSet(read)), agent.Options{Use: []agent.Middleware{
		middleware.ClearResults(middleware.Clearing{Above: 5000, Keep: 1}),
	}}))
	must(bot.Invoke(context.Background(), agent.Messages.Put(llm.User("Read it twice."))))
	for _, m := range model.Requests()[2].Messages {
		if m.Role == llm.RoleTool {
			fmt.Printf("%.20s\n", m.Text())
		}
	}
	// Output:
	// [cleared: call the t
	// a long text a long t
}

func ExampleRetryTools() {
	tries := 0
	flaky := tools.New("flaky", "Fails once.", func(context.Context, struct{}) (string, error) {
		if tries++; tries == 1 {
			return "", errors.New("try again")
		}
		return "fine", nil
	})
	bot := must(agent.New("bot", llmtest.NewScript(llmtest.Call("flaky", `{}`), llmtest.Say("Done.")), must(tools.NewSet(flaky)), agent.Options{
		Use: []agent.Middleware{middleware.RetryTools(tools.RetryPolicy{Initial: time.Millisecond}, "flaky")},
	}))
	snap := must(bot.Invoke(context.Background(), agent.Messages.Put(llm.User("Go."))))
	fmt.Println(agent.Messages.Get(snap)[2])
	// Output: tool: fine
}

func ExampleApprove() {
	bot := must(agent.New("bot", llmtest.NewScript(llmtest.Call("work", `{}`), llmtest.Say("Done.")), must(tools.NewSet(work)), agent.Options{
		Use: []agent.Middleware{middleware.Approve(tools.Named("work"))}, Graph: memory(),
	}))
	snap := must(bot.Thread("1").Invoke(context.Background(), agent.Messages.Put(llm.User("Go."))))
	open := must(agent.Approval.Open(snap))
	fmt.Println("May I call", open[0].Prompt.Tool+"?")
	// Output: May I call work?
}
