package langchainllm

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"

	"github.com/weft-go/weft/llm"
)

// refused returns the error of a request that the provider does not support.
func (m *Model) refused(err error) error {
	return &llm.Error{Kind: llm.ErrBadRequest, Provider: m.name, Err: fmt.Errorf("langchainllm: %w", err)}
}

// broke returns the error of an incomplete reply.
func (m *Model) broke(what string) error {
	return &llm.Error{Kind: llm.ErrTransport, Provider: m.name, Message: what}
}

// failed returns the error of an attempt, with the facts that the Transport noted.
func (m *Model) failed(a *attempt) error {
	e := llm.Error{Provider: m.name, Err: a.err, RetryAfter: a.facts.RetryAfter}
	if a.facts.Status >= http.StatusBadRequest {
		e.Status = a.facts.Status
	}
	if f := a.facts.Failure; f != nil {
		e.Kind = f.Kind
		e.Message, e.Code, e.Err = f.Message, f.Type, nil
		e.RetryAfter = max(e.RetryAfter, f.RetryAfter)
		if f.Code >= http.StatusBadRequest && f.Code < 600 {
			e.Status = f.Code
		}
		return llm.Classify(e)
	}
	said := a.err.Error()
	switch {
	case isPanic(a.err):
		// A panic is not retryable: the library would most likely panic again.
		return &e
	case strings.Contains(said, "token too long"):
		e.Kind = llm.ErrTransport
		e.Message = "a line of the stream is longer than langchaingo reads; see Transport"
	case a.facts.Broken != nil:
		e.Kind, e.Err = llm.ErrTransport, a.facts.Broken
	}
	classified := llm.Classify(e)
	if classified.Kind == nil && garbage.MatchString(said) {
		classified.Kind = llm.ErrTransport
	}
	return classified
}

// garbage matches the errors of the libraries for a reply that they could not receive or decode.
// Their cause is only in the text.
var garbage = regexp.MustCompile(`invalid character|unexpected end of JSON|cannot unmarshal|failed to (?:parse|process) stream event|unexpected opening token|network error|failed to reach API server|returned no reply`)
