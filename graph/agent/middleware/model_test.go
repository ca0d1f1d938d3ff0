package middleware_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
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

var overloaded = llm.Classify(llm.Error{Status: 529, Message: "overloaded"})

// With Fallback outside of Retry, the first model is tried twice before the second one answers.
func TestRetryAndFallbackCompose(t *testing.T) {
	t.Parallel()
	first, second := llmtest.NewScript(llmtest.Fail(overloaded), llmtest.Fail(overloaded)), llmtest.NewScript(llmtest.Say("from the second"))
	g := newAgent(t, first, use(middleware.Retry(llm.RetryPolicy{Attempts: 2, Initial: time.Millisecond}), middleware.Fallback(second)))
	_, err := g.Thread("1").Invoke(t.Context(), agent.Messages.Put(llm.User("go")))
	require.NoError(t, err)
	assert.Len(t, first.Requests(), 1, "Retry is outside: Fallback answers its first attempt")

	first, second = llmtest.NewScript(llmtest.Fail(overloaded), llmtest.Fail(overloaded)), llmtest.NewScript(llmtest.Say("from the second"))
	g = newAgent(t, first, use(middleware.Fallback(second), middleware.Retry(llm.RetryPolicy{Attempts: 2, Initial: time.Millisecond})))
	snap, err := g.Thread("1").Invoke(t.Context(), agent.Messages.Put(llm.User("go")))
	require.NoError(t, err)
	last, _ := agent.Messages.Last(snap)
	assert.Equal(t, "from the second", last.Text())
	assert.Empty(t, second.Remaining())
}

// In the request, only the system prompt and the last message are marked. No stored message is marked.
func TestCachePromptMarksTheRequest(t *testing.T) {
	t.Parallel()
	script := llmtest.NewScript(llmtest.Say("a"), llmtest.Say("b"))
	o := use(middleware.CachePrompt(time.Hour))
	o.System = "Be brief."
	g := newAgent(t, script, o)
	for range 2 {
		_, err := g.Thread("1").Invoke(t.Context(), agent.Messages.Put(llm.User("go")))
		require.NoError(t, err)
	}
	r := script.Requests()[1]
	var marked []bool
	for _, m := range r.Messages {
		marked = append(marked, len(m.Parts[0].Metadata) > 0)
	}
	assert.Equal(t, []bool{true, false, false, true}, marked)
	assert.Equal(t, "Be brief.", r.Messages[0].Text())
	assert.Equal(t, "helper", r.CacheKey)
	snap, err := g.Thread("1").Snapshot(t.Context())
	require.NoError(t, err)
	for _, m := range agent.Messages.All(snap) {
		assert.Empty(t, m.Parts[0].Metadata)
	}
}

func numbered(n int) (list []tools.Tool) {
	for i := range n {
		list = append(list, tools.New(fmt.Sprint("tool_", i), fmt.Sprintf("Does %d.", i), func(context.Context, struct{}) (string, error) { return "done", nil }))
	}
	return list
}

// The selecting model is asked once for each message of the user, and the requests of the agent have
// the chosen tools and the tools of Always. The usage of the selecting model is added to the usage of
// the agent.
func TestSelectToolsAsksOncePerMessage(t *testing.T) {
	t.Parallel()
	chooser := llmtest.NewScript(
		llmtest.Call("answer", `{"tools":["tool_7","tool_3","nonsense","tool_4"]}`).Costing(llm.Usage{Input: 5}),
		llmtest.Call("answer", `{"tools":["tool_1"]}`))
	script := llmtest.NewScript(llmtest.Call("tool_7", `{}`), llmtest.Say("a"), llmtest.Call("tool_3", `{}`), llmtest.Say("b"))
	g := newAgent(t, script, use(middleware.SelectTools(middleware.Selection{Model: chooser, Max: 3, Always: []string{"tool_0"}})), numbered(20)...)
	for range 2 {
		_, err := g.Thread("1").Invoke(t.Context(), agent.Messages.Put(llm.User("go")))
		require.NoError(t, err)
	}
	var offered [][]string
	for _, r := range script.Requests() {
		var names []string
		for _, s := range r.Tools {
			names = append(names, s.Name)
		}
		slices.Sort(names)
		offered = append(offered, names)
	}
	assert.Equal(t, [][]string{{"tool_0", "tool_3", "tool_7"}, {"tool_0", "tool_3", "tool_7"}, {"tool_0", "tool_1"}, {"tool_0", "tool_1"}}, offered)
	snap, err := g.Thread("1").Snapshot(t.Context())
	require.NoError(t, err)
	assert.EqualValues(t, 5, agent.Usage.Get(snap).Total)
	assert.Contains(t, roles(snap), `tool:tool "tool_3" is not available in this turn`)

	few := newAgent(t, llmtest.Echo{}, use(middleware.SelectTools(middleware.Selection{Max: 3, Model: llmtest.NewScript()})), numbered(3)...)
	_, err = few.Thread("1").Invoke(t.Context(), agent.Messages.Put(llm.User("go")))
	require.NoError(t, err, "no choice is needed")
	broken := newAgent(t, llmtest.Echo{}, use(middleware.SelectTools(middleware.Selection{Max: 3, Model: llmtest.NewScript(llmtest.Fail(errors.New("no quota")))})), numbered(4)...)
	_, err = broken.Thread("1").Invoke(t.Context(), agent.Messages.Put(llm.User("go")))
	require.ErrorContains(t, err, "choosing the tools: ")
}

func ExampleRetry() {
	model := llmtest.NewScript(llmtest.Fail(llm.Classify(llm.Error{Status: 529, Message: "overloaded"})), llmtest.Say("Here I am."))
	bot := must(agent.New("bot", model, nil, agent.Options{Use: []agent.Middleware{
		middleware.Retry(llm.RetryPolicy{Initial: time.Millisecond}),
	}}))
	snap := must(bot.Invoke(context.Background(), agent.Messages.Put(llm.User("Hello?"))))
	last, _ := agent.Messages.Last(snap)
	fmt.Println(last)
	// Output: assistant: Here I am.
}

func ExampleFallback() {
	model := llmtest.NewScript(llmtest.Fail(llm.Classify(llm.Error{Status: 529, Message: "overloaded"})))
	other := llmtest.NewScript(llmtest.Say("I answer instead."))
	bot := must(agent.New("bot", model, nil, agent.Options{Use: []agent.Middleware{middleware.Fallback(other)}}))
	snap := must(bot.Invoke(context.Background(), agent.Messages.Put(llm.User("Hello?"))))
	last, _ := agent.Messages.Last(snap)
	fmt.Println(last)
	// Output: assistant: I answer instead.
}

func ExampleCachePrompt() {
	model := llmtest.NewScript(llmtest.Say("Hello."))
	bot := must(agent.New("bot", model, nil, agent.Options{
		System: "You answer questions about a long handbook: …",
		Use:    []agent.Middleware{middleware.CachePrompt(time.Hour)},
	}))
	must(bot.Invoke(context.Background(), agent.Messages.Put(llm.User("Hello?"))))
	for _, m := range model.Requests()[0].Messages {
		fmt.Println(m.Role, "cached:", len(m.Parts[0].Metadata["cache_control"]) > 0)
	}
	// Output:
	// system cached: true
	// user cached: true
}

func ExampleSelectTools() {
	chooser := llmtest.NewScript(llmtest.Call("answer", `{"tools":["tool_3"]}`)) // a small model
	model := llmtest.NewScript(llmtest.Say("Done."))
	bot := must(agent.New("bot", model, must(tools.NewSet(numbered(100)...)), agent.Options{Use: []agent.Middleware{
		middleware.SelectTools(middleware.Selection{Model: chooser, Max: 5, Always: []string{"tool_0"}}),
	}}))
	must(bot.Invoke(context.Background(), agent.Messages.Put(llm.User("Do three."))))
	for _, t := range model.Requests()[0].Tools {
		fmt.Println(t.Name)
	}
	// Output:
	// tool_0
	// tool_3
}
