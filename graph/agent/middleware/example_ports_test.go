package middleware_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/graph/agent/middleware"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/llmtest"
	"github.com/weft-go/weft/tools"
)

// An agent with retries, a fallback, limits of model calls and tool calls, redaction and a prompt
// from the state: what users of LangChain build with create_agent and its middleware.
func Example() {
	tries := 0
	weather := tools.New("weather", "Weather.", func(_ context.Context, in struct{ City string }) (string, error) {
		if tries++; tries < 3 {
			return "", errors.New("flaky")
		}
		return "sunny in " + in.City + ", ask joe@example.com", nil
	})
	model := llmtest.NewScript(
		llmtest.Fail(llm.Classify(llm.Error{Status: 429, Message: "slow down"})),
		llmtest.Calls(llm.ToolCall{ID: "1", Name: "weather", Arguments: []byte(`{"City":"Rome"}`)}, llm.ToolCall{ID: "2", Name: "weather", Arguments: []byte(`{"City":"Bonn"}`)}),
		llmtest.Say("It is sunny."), llmtest.Say("again"))
	bot := must(agent.New("bot", model, must(tools.NewSet(weather)), agent.Options{Graph: memory(), Use: []agent.Middleware{
		middleware.CallLimit(middleware.Limit{Thread: 3}),
		middleware.ToolLimit(middleware.Limit{Tool: "weather", Run: 1}),
		middleware.Redact(middleware.Personal()...),
		middleware.Fallback(llmtest.Echo{}),
		middleware.Retry(llm.RetryPolicy{Initial: time.Millisecond}),
		middleware.RetryTools(tools.RetryPolicy{Initial: time.Millisecond}),
		{Prompt: func(_ context.Context, r agent.Run) (string, error) {
			return fmt.Sprintf("You have had %d messages.", r.Messages.Len(r.State)), nil
		}},
	}}))
	for _, text := range []string{"weather in Rome? I am ann@example.com", "again", "and again"} {
		snap := must(bot.Thread("1").Invoke(context.Background(), agent.Messages.Put(llm.User(text))))
		last, _ := agent.Messages.Last(snap)
		fmt.Println(last, "/", agent.Result.Get(snap).Reason)
	}
	fmt.Println(model.Requests()[2].Messages[1:])
	// Output:
	// assistant: It is sunny. / answered
	// assistant: again / answered
	// assistant: I stopped: the limit of model calls for this conversation (3) is reached. / stopped
	// [user: weather in Rome? I am [EMAIL_1] assistant: weather({"City":"Rome"}) weather({"City":"Bonn"}) tool: sunny in Rome, ask [EMAIL_2] tool: The limit of 1 calls of "weather" for one request is reached. Answer without it.]
}
