package langchainllm

import (
	"context"
	"iter"

	"github.com/tmc/langchaingo/llms"

	"github.com/weft-go/weft/llm"
)

// Options are the settings of a [Model]. The zero value is valid for the models of llms/openai
// with OpenAI's API, llms/anthropic, llms/googleai and llms/bedrock.
type Options struct {
	// Provider is the provider of the model. Empty means the result of [Detect]. Set it
	// for a wrapped model, and for llms/openai with another server than OpenAI's.
	Provider Provider
	// Name is the provider's name in errors. Empty means Provider.
	Name string
	// Model is the provider's name of the model, for traces and metrics. Empty means unknown.
	Model string
	// StreamTools is for a model of provider Generic, such as your own. Set it if the model passes only text to the
	// streaming function, and returns the tool calls at the end. Stream then yields text as it arrives, even if the
	// request has tools. Other providers ignore it.
	StreamTools bool
	// MaxTokens is the maximum number of tokens of a reply, for requests without a limit. Zero
	// means the provider's default, and 4096 where the provider has none.
	MaxTokens int
}

// A Model adapts a model of langchaingo to [llm.Model]. It is safe for concurrent use if the
// langchaingo model is.
type Model struct {
	inner     llms.Model
	profile   profile
	name      string
	model     string
	maxTokens int
}

// New returns m as an [llm.Model]. It sends no request. It calls only the method GenerateContent
// of m.
//
// The HTTP client of a model of OpenAI, Compatible, MistralAPI, Anthropic or GoogleAI must send
// with a [Transport]. If it does not, every call fails with an error that says so.
func New(m llms.Model, o Options) *Model {
	provider := o.Provider
	if provider == "" {
		provider = Detect(m)
	}
	p, ok := profiles[provider]
	if !ok || provider == Generic {
		p = profiles[Generic]
		p.streamTools = o.StreamTools
	}
	name := o.Name
	if name == "" {
		name = string(provider)
	}
	return &Model{inner: m, profile: p, name: name, model: o.Model, maxTokens: o.MaxTokens}
}

// String returns the name of the provider.
func (m *Model) String() string { return m.name }

// ModelName returns the name of the provider and the model.
func (m *Model) ModelName() llm.ModelName { return llm.ModelName{Provider: m.name, Model: m.model} }

// Stream asks the model. With a provider that needs a [Transport], it yields text, reasoning and
// tool calls as they arrive. With any other provider, it yields text as it arrives if the provider
// streams and the request has no tools; otherwise it yields the whole reply at the end. With Vertex
// or [Options.StreamTools], it yields text as it arrives even if the request has tools, and the
// calls after the text.
//
// A request that the provider does not support fails with an [llm.Error] of kind
// [llm.ErrBadRequest], and nothing is sent. When ctx is done, the error is the error of ctx. If
// the caller leaves the loop, the request ends, and Stream waits for the library to return; it
// does not wait for llms/mistral, which ignores its context and ends after its own timeout.
func (m *Model) Stream(ctx context.Context, r llm.Request) iter.Seq2[llm.Chunk, error] {
	return func(yield func(llm.Chunk, error) bool) {
		if r.MaxTokens == 0 {
			r.MaxTokens = m.maxTokens
		}
		q, err := m.question(r)
		if err != nil {
			yield(llm.Chunk{}, m.refused(err))
			return
		}
		s := session{model: m, request: r, question: q, yield: yield}
		if err := s.run(ctx); err != nil && !s.left {
			yield(llm.Chunk{}, err)
		}
	}
}
