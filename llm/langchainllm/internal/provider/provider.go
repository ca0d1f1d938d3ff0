// Package provider connects package providers with the packages that open models. A program
// links only the packages that it imports.
package provider

import (
	"context"
	"net/http"
	"sync"

	"github.com/tmc/langchaingo/embeddings"
	"github.com/tmc/langchaingo/llms"
)

// An Endpoint is a model and the way to reach it.
type Endpoint struct {
	Model     string
	BaseURL   string // the address of an OpenAI-compatible server; empty for other APIs
	Key       string
	Dimension int          // the length of vectors to ask for; zero asks for none
	Client    *http.Client // sends the requests
}

// An Opener opens the models of one API. It makes no requests.
type Opener struct {
	Model func(context.Context, Endpoint) (llms.Model, error)
	// Embedder is nil if the API has no embeddings.
	Embedder func(context.Context, Endpoint) (embeddings.EmbedderClient, error)
}

var openers sync.Map // each Opener by the name of its API

// Register adds an API. The package of the API calls it from init.
func Register(api string, o Opener) { openers.Store(api, o) }

// Lookup returns the Opener of an API. It reports false if no package registered one.
func Lookup(api string) (Opener, bool) {
	o, ok := openers.Load(api)
	if !ok {
		return Opener{}, false
	}
	return o.(Opener), true
}
