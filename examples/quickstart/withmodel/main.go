// Command withmodel is the quickstart with a language model: the same agent, tools, files
// and flags. It links the APIs of OpenAI and Anthropic, and so takes longer to compile.
// To add another provider, import its package: _ ".../llm/langchainllm/providers/googleai".
//
//	OPENAI_API_KEY=… go run ./examples/quickstart/withmodel -file PATH "what is a checkpoint?"
package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/weft-go/weft/examples/quickstart/internal/model"
	"github.com/weft-go/weft/examples/quickstart/internal/terminal"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/langchainllm/providers"
)

func main() { program.Main() }

var program = terminal.Program{
	Command: "examples/quickstart/withmodel",
	Models: `The environment selects the model: OPENAI_API_KEY, ANTHROPIC_API_KEY, MISTRAL_API_KEY,
OLLAMA_HOST, or OPENAI_BASE_URL; LLM_MODEL is its name. See docs/models.md.
`,
	Model: open,
	Hint:  "-v shows each step.",
}

// open opens the model that the environment names.
func open(ctx context.Context, _ time.Duration) (llm.Model, string, error) {
	opened, name, err := model.FromEnv(ctx)
	if errors.Is(err, providers.ErrUnset) {
		err = fmt.Errorf("%w. Or run ./examples/quickstart, which needs no model", err)
	}
	return opened, name, err
}
