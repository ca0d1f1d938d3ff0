package langchainllm

import (
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"

	"github.com/weft-go/weft/llm"
)

var errNotWired = errors.New("the call did not pass the Transport of Options: put it into the provider's HTTP client")

// refused is the error of a request that the provider can not be asked.
func (m *Model) refused(err error) error {
	return &llm.Error{Kind: llm.ErrBadRequest, Provider: m.name, Err: fmt.Errorf("langchainllm: %w", err)}
}

// broke is the error of a reply that is not whole.
func (m *Model) broke(what string) error {
	return &llm.Error{Kind: llm.ErrTransport, Provider: m.name, Message: what}
}

// failed is the error of an attempt that failed, with what the wire knows of it.
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
		// Not worth another try: the same will most likely come again.
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

// garbage is how the libraries say that they could not read an answer, or could
// not get one, once they have made text of the cause.
var garbage = regexp.MustCompile(`invalid character|unexpected end of JSON|cannot unmarshal|failed to (?:parse|process) stream event|unexpected opening token|network error|failed to reach API server|returned no reply`)
