package langchainllm

import (
	"net/http"

	"github.com/weft-go/weft/llm/langchainllm/internal/wire"
)

// A Transport goes into the HTTP client of a provider of langchaingo and into
// [Options], and mends requests and replies on their way. The zero value is ready.
// It may be used by any number of goroutines, and by several models.
//
// It knows what llms/openai, llms/anthropic and llms/googleai (WithRest) speak,
// and touches only the requests of a [Model]. Of any other provider it notes the
// status and Retry-After.
type Transport struct {
	// Base sends the requests. Nil means [http.DefaultTransport].
	Base http.RoundTripper
}

// RoundTrip sends a request. It is there for [http.Client].
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	base := t.Base
	if base == nil {
		base = http.DefaultTransport
	}
	return wire.RoundTrip(base, req)
}

// Client returns an HTTP client that sends by way of t, for the provider's
// WithHTTPClient. It has no time limit: the context of a call is its limit. It
// follows no redirection, which would show the key to another host.
func (t *Transport) Client() *http.Client {
	return &http.Client{Transport: t, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}
