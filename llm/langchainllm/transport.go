package langchainllm

import (
	"net/http"

	"github.com/weft-go/weft/llm/langchainllm/internal/wire"
)

// A Transport sends the requests of a [Model] and reads the replies. The HTTP client of a model of
// llms/openai, llms/anthropic or llms/googleai (WithRest) must have one:
//
//	openai.New(openai.WithHTTPClient((&langchainllm.Transport{}).Client()))
//
// It writes the conversation in the provider's form, and passes the reply to the Model as it
// arrives. From the replies of any other provider it reads the status and Retry-After. Requests
// that do not come from a Model pass unchanged.
//
// The zero value is ready to use. It is safe for concurrent use, also by several models.
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

// Client returns an HTTP client that sends with t. It has no time limit: the context of a call is
// its limit. It follows no redirection, which would send the key to another host.
func (t *Transport) Client() *http.Client {
	return &http.Client{Transport: t, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}
