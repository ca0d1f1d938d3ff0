package wire

import (
	"context"
	"crypto/rand"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/weft-go/weft/llm"
)

// A Call is one request to a model. It passes the request to the transport, and the reply and
// its Facts back to the model. The library can use several goroutines, so the methods of a
// Call are safe for concurrent use.
type Call struct {
	// Dialect is the form of the request and the reply. With None, the transport changes
	// neither of them and only records facts.
	Dialect Dialect
	// Request is the request. It is not changed.
	Request llm.Request
	// Body has the fields that replace the fields of the library's request; see
	// [Dialect.Encode].
	Body Body
	// Emit receives each chunk of the reply, except the ChunkEnd. The transport calls it
	// on the library's goroutine. An error ends the request.
	Emit func(llm.Chunk) error

	mu    sync.Mutex
	facts Facts
	keys  []string // the secrets in the request's header
	gone  bool     // Emit returned an error
}

// Facts describe a request and its reply, without the content.
type Facts struct {
	// Seen reports whether a request passed the transport.
	Seen bool
	// Decoded reports whether the transport knew the form of the request and its reply.
	Decoded bool
	// Broken is the error of the connection. Some libraries do not return it.
	Broken error
	// Status is the HTTP status of the last reply.
	Status int
	// RetryAfter is the wait before a retry that the last reply asks for.
	RetryAfter time.Duration
	// Complete reports whether the reply said that it had ended.
	Complete bool
	// Stop is the provider's stop reason.
	Stop string
	// Usage counts the tokens of the reply. Nil means unknown.
	Usage *llm.Usage
	// Failure is the error that the provider sent, or nil.
	Failure *Failure
}

// A Failure is an error that the provider sent instead of a reply, or within a reply.
type Failure struct {
	// Code is an HTTP status, or zero.
	Code int
	// Type is the provider's name of the error.
	Type string
	// Message describes the error.
	Message string
	// RetryAfter is the wait before a retry that the provider asks for.
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

// Facts returns the facts that are known so far.
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

// emit passes a chunk to the reader, unless it is empty or the reader has left.
func (c *Call) emit(chunk llm.Chunk) {
	empty := chunk.Text == "" && chunk.Signature == "" && chunk.Part == nil && chunk.ToolCall == (llm.ToolCallDelta{})
	if empty || c.gone || c.Emit == nil {
		return
	}
	c.gone = c.Emit(chunk) != nil
}

func (c *Call) text(text string) { c.emit(llm.Chunk{Kind: llm.ChunkText, Text: text}) }

func (c *Call) reasoning(text string) { c.emit(llm.Chunk{Kind: llm.ChunkReasoning, Text: text}) }

func (c *Call) toolCall(d llm.ToolCallDelta) {
	c.emit(llm.Chunk{Kind: llm.ChunkToolCall, ToolCall: d})
}

// newID returns an id for a tool call to which the provider gave none.
func newID() string { return "call_" + rand.Text() }

// fail records the first failure. Later failures are its consequences. The text can get into
// logs, so fail removes the request's keys from it.
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

// answered records the header of a reply. It resets the facts of an earlier reply, because a
// library can repeat a request.
func (c *Call) answered(resp *http.Response, decoded bool) {
	c.note(func(f *Facts) {
		*f = Facts{
			Seen: true, Status: resp.StatusCode, Decoded: decoded,
			RetryAfter: llm.RetryAfter(resp.Header.Get("Retry-After"), time.Now()),
		}
	})
}
