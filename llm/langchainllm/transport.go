package langchainllm

import (
	"cmp"
	"io"
	"net/http"
	"time"

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
	// Silence is the longest time in which the provider may send nothing: before the reply begins, and between two
	// parts of it. Then the request fails, and a Model returns an [llm.Error] of kind [llm.ErrTransport]. Zero means 10
	// minutes. A negative value means no limit. A comment that keeps a stream open counts as sent;
	// [llm.IdleTimeout] limits the time between two chunks.
	Silence time.Duration
}

// RoundTrip implements [http.RoundTripper].
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	base := t.Base
	if base == nil {
		base = http.DefaultTransport
	}
	if t.Silence >= 0 {
		base = listener{base: base, limit: cmp.Or(t.Silence, defaultSilence)}
	}
	if req.Body != nil && req.Body != http.NoBody {
		req = req.WithContext(req.Context()) // a copy
		req.Body = plainBody{req.Body}
	}
	return wire.RoundTrip(base, req)
}

// A plainBody hides the method WriteTo of a body. The client of AWS (smithy-go v1.24.2) closes the body of its request when the
// reply begins. If package net/http is not yet at the end of the body, WriteTo returns [io.EOF], and net/http takes that for a
// failed request and closes the connection during the reply. Read has no such fault.
type plainBody struct{ io.ReadCloser }

// Client returns an HTTP client that sends with t. It has no timeout for a whole request, only t.Silence. Set a deadline
// for the context of a call instead. The client follows no redirects, since they could send the key to another host.
func (t *Transport) Client() *http.Client {
	return &http.Client{Transport: t, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}
