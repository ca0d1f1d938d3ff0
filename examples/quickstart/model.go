package main

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/weft-go/weft/examples/quickstart/internal/offline"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/langchainllm/providers"
	_ "github.com/weft-go/weft/llm/langchainllm/providers/anthropic" // opens anthropic
	_ "github.com/weft-go/weft/llm/langchainllm/providers/openai"    // opens openai, mistral, ollama and compatible
)

// openModel opens the model that the environment names, and returns a description.
// If the environment names none, it is the offline model, which needs no key and no
// network.
func (s *session) openModel(ctx context.Context, c console) (model llm.Model, name string, err error) {
	config, err := providers.Read(os.Getenv)
	switch {
	case s.offline, s.history, errors.Is(err, providers.ErrUnset):
		s.offline = true
		pace := s.pace
		if pace < 0 && c.terminal(c.out) {
			pace = 12 * time.Millisecond
		}
		return offline.Model{Pace: pace}, "offline: rules in this example, no key, no network", nil
	case err != nil:
		return nil, "", wrong("%v; or use the offline model with -offline", err)
	}
	opened, err := config.Open(ctx)
	if err != nil {
		return nil, "", wrong("%v", err)
	}
	return llm.Retry(opened, llm.RetryPolicy{}), config.String(), nil
}
