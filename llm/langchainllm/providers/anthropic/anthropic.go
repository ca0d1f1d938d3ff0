// Package anthropic lets package providers open the models of Anthropic. Import it for this
// effect:
//
//	import _ "github.com/weft-go/weft/llm/langchainllm/providers/anthropic"
package anthropic

import (
	"context"

	"github.com/tmc/langchaingo/llms"
	"github.com/tmc/langchaingo/llms/anthropic"

	"github.com/weft-go/weft/llm/langchainllm/internal/provider"
)

func init() {
	provider.Register("anthropic", provider.Opener{
		Model: func(_ context.Context, e provider.Endpoint) (llms.Model, error) {
			return anthropic.New(anthropic.WithToken(e.Key), anthropic.WithModel(e.Model), anthropic.WithHTTPClient(e.Client))
		},
	})
}
