package howto_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/langchainllm/providers"
	_ "github.com/weft-go/weft/llm/langchainllm/providers/anthropic"
	_ "github.com/weft-go/weft/llm/langchainllm/providers/openai"
	"github.com/weft-go/weft/llm/llmtest"
)

// This example opens the model that the environment names. Without a provider in the environment,
// it prints how to name one.
func Example_modelFromEnvironment() {
	// docs:begin fromenv
	// import "github.com/weft-go/weft/llm/langchainllm/providers"
	// import _ "github.com/weft-go/weft/llm/langchainllm/providers/anthropic"
	// import _ "github.com/weft-go/weft/llm/langchainllm/providers/openai"

	ctx := context.Background()
	provider, err := providers.FromEnv(ctx)
	if errors.Is(err, providers.ErrUnset) {
		fmt.Println("set OPENAI_API_KEY or ANTHROPIC_API_KEY")
		return
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	model := llm.Retry(provider, llm.RetryPolicy{}) // repeats after temporary errors
	// docs:end
	bot, err := agent.New("helper", model, nil, agent.Options{System: "You help with travel plans."})
	if err != nil {
		fmt.Println(err)
		return
	}
	must(bot.Invoke(ctx, agent.Messages.Put(llm.User("What do I pack for Athens?"))))
}

// This example opens a model by its name, with a key from a vault.
func Example_modelByName() {
	// docs:begin open
	model, err := providers.Open(context.Background(), "anthropic:claude-sonnet-4-5", "key-from-the-vault")
	if err != nil {
		fmt.Println(err)
		return
	}
	reliable := llm.Retry(model, llm.RetryPolicy{})
	// docs:end
	fmt.Println(reliable != nil)
	// Output: true
}

// docs:begin chosen
// chosenKey is the context key of the model of a run.
type chosenKey struct{}

// choose returns the model in the context of a run, or else m.
func choose(ctx context.Context, m llm.Model) llm.Model {
	if other, ok := ctx.Value(chosenKey{}).(llm.Model); ok {
		return other
	}
	return m
}

// chosen lets the context of a run choose the model of an agent. The wrappers of llm.WithWrap, such as wrappers that
// trace or count, also apply to the chosen model.
var chosen = agent.Middleware{
	Name: "chosen model",
	WrapModel: func(ctx context.Context, c agent.ModelCall, next agent.ModelFunc) (agent.Reply, error) {
		c.Model = choose(ctx, c.Model)
		return next(ctx, c)
	},
}

// docs:end

// One run asks another model than the agent's own.
func Example_modelOfOneRun() {
	small, large := llmtest.NewScript(llmtest.Say("small")), llmtest.NewScript(llmtest.Say("large"))
	bot := must(agent.New("helper", small, nil, agent.Options{Use: []agent.Middleware{chosen}}))
	// docs:begin chosenrun
	ctx := context.WithValue(context.Background(), chosenKey{}, large)
	snap := must(bot.Invoke(ctx, agent.Messages.Put(llm.User("Plan a week in Athens."))))
	// docs:end
	messages := agent.Messages.Get(snap)
	fmt.Println(messages[len(messages)-1].Text())
	// Output: large
}
