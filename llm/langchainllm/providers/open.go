package providers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/weft-go/weft/llm/langchainllm"
	"github.com/weft-go/weft/llm/langchainllm/internal/provider"
)

// ErrNotLinked is returned for a provider whose package the program does not import. Its
// text names the missing import.
// See https://github.com/weft-go/weft/blob/main/docs/troubleshooting.md#providerserrnotlinked.
var ErrNotLinked = errors.New("the provider is not linked into this program")

// FromEnv opens the model that the environment selects; see the package and [Read]. It makes
// no request, so the first call of the model reports a wrong key.
func FromEnv(ctx context.Context) (*langchainllm.Model, error) {
	c, err := Read(os.Getenv)
	if err != nil {
		return nil, err
	}
	return c.Open(ctx)
}

// Open opens a model by name: a provider, or a provider and a model with a colon between
// them, such as "openai" or "anthropic:claude-sonnet-4-5". It makes no request. The key may
// be empty for ollama. For a server at another address, use [Config.Open].
func Open(ctx context.Context, name, key string) (*langchainllm.Model, error) {
	var c Config
	c.Provider, c.Model, _ = strings.Cut(name, ":")
	return c.WithKey(key).Open(ctx)
}

// Open opens the model. It makes no request.
func (c Config) Open(ctx context.Context) (*langchainllm.Model, error) {
	c, opener, err := c.complete()
	if err != nil {
		return nil, fmt.Errorf("providers: %w", err)
	}
	wire := &langchainllm.Transport{Base: c.HTTP}
	model, err := opener.Model(ctx, c.endpoint(wire))
	if err != nil {
		return nil, fmt.Errorf("providers: open %s: %w", c, err)
	}
	return langchainllm.New(model, langchainllm.Options{Name: c.Provider, Model: c.Model, Provider: c.kind()}), nil
}

// complete returns c with the defaults of its provider, and the opener of its API.
func (c Config) complete() (Config, provider.Opener, error) {
	s, ok := sourceOf(c.Provider)
	if !ok {
		return c, provider.Opener{}, fmt.Errorf("provider %.40q is unknown; it must be one of %s", c.Provider, names())
	}
	if c.BaseURL == "" {
		c.BaseURL = s.base
	}
	if c.Model == "" && (!c.isCompatible() || c.Provider == "ollama") {
		c.Model = s.model
	}
	switch {
	case c.BaseURL == "" && s.api == "openai":
		return c, provider.Opener{}, fmt.Errorf("provider %q needs a BaseURL", c.Provider)
	case c.Model == "":
		return c, provider.Opener{}, fmt.Errorf("provider %q at %s needs a Model", c.Provider, withoutUser(c.BaseURL))
	case c.secret() == "" && !c.isCompatible():
		return c, provider.Opener{}, fmt.Errorf("provider %q needs a key", c.Provider)
	}
	opener, ok := provider.Lookup(s.api)
	if !ok {
		return c, opener, fmt.Errorf("%w: %s; add import _ %q, or that of providers/all", ErrNotLinked, c.Provider, packagePath+s.api)
	}
	return c, opener, nil
}

const packagePath = "github.com/weft-go/weft/llm/langchainllm/providers/"

// secret returns the key, or "".
func (c Config) secret() string {
	if c.key == nil {
		return ""
	}
	return *c.key
}

// endpoint returns the endpoint of a complete Config.
func (c Config) endpoint(wire *langchainllm.Transport) provider.Endpoint {
	e := provider.Endpoint{Model: c.Model, BaseURL: c.BaseURL, Key: c.secret(), Client: wire.Client()}
	if e.Key == "" {
		e.Key = "none" // the server needs no key, but the library does
	}
	if c.Provider == "openai" { // other servers reject the field
		e.Dimension = c.Dimension
	}
	return e
}

// kind returns the provider for which the model translates requests.
func (c Config) kind() langchainllm.Provider {
	switch {
	case c.Provider == "anthropic":
		return langchainllm.Anthropic
	case c.Provider == "googleai":
		return langchainllm.GoogleAI
	case c.Provider == "mistral":
		return langchainllm.MistralAPI
	case c.isCompatible():
		return langchainllm.Compatible
	}
	return langchainllm.OpenAI
}
