package wire

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/weft-go/weft/llm"
)

// A Call is one question to a model: what was asked, and what the wire told of
// the answer. The library reads the answer on goroutines of its own, so a Call
// locks.
type Call struct {
	// Request is what was asked. It is not changed.
	Request llm.Request
	// Mistral says that it goes to Mistral's API, which speaks OpenAI's form but
	// for a few words.
	Mistral bool
	// Thoughts are the signed reasoning parts of Request, by the index that the
	// library's first message of the same reply has among those that are not
	// the system's. Only Anthropic's dialect reads them.
	Thoughts map[int][]llm.Part
	// Signed, if not nil, is called with the signature of a piece of reasoning
	// once all of that piece has been read, on the library's goroutine.
	Signed func(signature string)

	mu    sync.Mutex
	facts Facts
	keys  []string // that the request carries
}

// Facts are what the wire told of an answer.
type Facts struct {
	// Seen says that a request passed at all.
	Seen bool
	// Broken is why no answer came, which some libraries keep to themselves.
	Broken error
	// Status is that of the last answer.
	Status int
	// RetryAfter is how long the last answer asks to wait.
	RetryAfter time.Duration
	// Understood says that the reply was in a form that is known, and that what
	// follows counts.
	Understood bool
	// Complete says that the reply said that it was all.
	Complete bool
	// Stop is why the reply ended, in the provider's words.
	Stop string
	// Usage is what it cost, nil when nothing said so.
	Usage *llm.Usage
	// Failure is what went wrong in a reply that began well.
	Failure *Failure
	// Signatures are those of the tool calls of the reply, in the order of the
	// calls. A call without one has an empty string.
	Signatures []string
	// Reasoning is what the library would have lost of the model's reasoning.
	Reasoning string
}

// A Failure is an error that came where an answer was due.
type Failure struct {
	// Code is an HTTP status if one was told, or zero.
	Code int
	// Type is the provider's word for it.
	Type string
	// Message says what it is.
	Message string
	// RetryAfter is how long it asks to wait.
	RetryAfter time.Duration
	// Kind is the kind of the error, such as [llm.ErrTransport]. If it is nil, the other
	// fields decide.
	Kind error
}

type callKey struct{}

// With returns a context that carries c to the transport.
func With(ctx context.Context, c *Call) context.Context {
	return context.WithValue(ctx, callKey{}, c)
}

func from(ctx context.Context) *Call {
	c, _ := ctx.Value(callKey{}).(*Call)
	return c
}

// Facts returns what is known so far.
func (c *Call) Facts() Facts {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.facts
}

func (c *Call) note(set func(*Facts)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	set(&c.facts)
}

// fail notes the first failure; what follows one is its echo. Its text gets into
// logs, so a key that the server repeats in it is taken out.
func (c *Call) fail(f Failure) {
	c.note(func(facts *Facts) {
		for _, key := range c.keys {
			f.Type, f.Message = strings.ReplaceAll(f.Type, key, hidden), strings.ReplaceAll(f.Message, key, hidden)
		}
		if facts.Failure == nil {
			facts.Failure = &f
		}
	})
}

// answered notes the head of an answer. What an earlier attempt told does not
// count any more.
func (c *Call) answered(resp *http.Response, understood bool) {
	c.note(func(f *Facts) {
		*f = Facts{
			Seen: true, Status: resp.StatusCode, Understood: understood,
			RetryAfter: llm.RetryAfter(resp.Header.Get("Retry-After"), time.Now()),
		}
	})
}
