package langchainllm

import (
	"net/http"

	"github.com/weft-go/weft/llm/langchainllm/internal/wire"
)

// A Transport sends the requests of a [Model] and reads the replies. The HTTP client of a model of
// llms/openai, llms/anthropic or llms/googleai (WithRest) must have a Transport:
//
//	openai.New(openai.WithHTTPClient((&langchainllm.Transport{}).Client()))
//
// It writes the conversation in the provider's form, and passes the reply to the Model as it
// arrives. For any other provider it only reads the status and Retry-After of the reply. Requests
// that do not come from a Model pass unchanged.
//
// The zero value is ready to use. It is safe for concurrent use, even by several models.
type Transport struct {
	// Base sends the requests. Nil means [http.DefaultTransport].
	Base http.RoundTripper
}

// RoundTrip implements [http.RoundTripper].
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	base := t.Base
	if base == nil {
		base = http.DefaultTransport
	}
	return wire.RoundTrip(base, req)
}

// Client returns an HTTP client that sends with t. It has no timeout; use the context of a call.
// It follows no redirects, since they could send the key to another host.
func (t *Transport) Client() *http.Client {
	return &http.Client{Transport: t, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}
