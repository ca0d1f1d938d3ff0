package langchainllm

import (
	"context"
	"iter"

	"github.com/tmc/langchaingo/llms"

	"github.com/weft-go/weft/llm"
)

// Options say how a model of langchaingo is treated. The zero value finds out.
type Options struct {
	// Provider is whose model it is. Empty means what [Detect] says; it has to
	// be told for a wrapped model, and for llms/openai with another server than
	// OpenAI's.
	Provider Provider
	// Name is what errors call the provider. Empty means Provider.
	Name string
	// Transport is the one in the provider's HTTP client, if there is one. It
	// has to be told, as nothing shows it from outside; a call that does not
	// pass it is then an error.
	Transport *Transport
	// MaxTokens is the most that a reply may have when the request does not
	// say. Zero means the provider's default, and 4096 where one has to be sent.
	MaxTokens int
}

// A Model is a model of langchaingo that is an [llm.Model]. It may be used by any
// number of goroutines if the model within may.
type Model struct {
	inner   llms.Model
	profile profile
	name    string
	// wired says that a Transport mends what passes.
	wired     bool
	maxTokens int
}

// New returns m as an [llm.Model]. It makes no call. The model within is asked
// with GenerateContent only.
func New(m llms.Model, o Options) *Model {
	provider := o.Provider
	if provider == "" {
		provider = Detect(m)
	}
	p, ok := profiles[provider]
	if !ok {
		p = profiles[Generic]
	}
	wired := o.Transport != nil && p.dialect
	if wired {
		p = p.mended()
	}
	name := o.Name
	if name == "" {
		name = string(provider)
	}
	return &Model{inner: m, profile: p, name: name, wired: wired, maxTokens: o.MaxTokens}
}

// String returns the name of the provider.
func (m *Model) String() string { return m.name }

// Stream asks the model. The text is yielded as it comes, and reasoning where
// the provider streams it; tool calls are yielded whole, each as one chunk, once
// they have been checked.
//
// A request that the provider can not be asked is an [llm.Error] of kind
// [llm.ErrBadRequest] that says why, and nothing is sent. When ctx is done the
// error is that of ctx. Leaving the loop ends the request and waits for the
// library to notice; only llms/mistral does not, and is left to its own limit of
// time.
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
