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
)

// The model that the environment names. Without a provider in the environment, this example prints
// how to name one.
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

// A model by its name, with a key from a vault.
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
