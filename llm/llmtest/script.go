package llmtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/weft-go/weft/llm"
)

// ErrNoReply is what a [Script] fails with when it has played all its replies.
var ErrNoReply = errors.New("no reply left")

// A Reply is what a [Script] answers one request with: it streams Message, and
// then fails with Err unless that is nil. With an error, a zero Message streams
// nothing, and any other breaks off before its end.
type Reply struct {
	Message llm.Message
	Err     error
	// Chunks, when not empty, are streamed as they are instead of Message: to
	// play what only a broken model would send.
	Chunks []llm.Chunk
	// Delay is the time before the first chunk, Pace that before each further
	// one. Either ends early with an error when the context is done.
	Delay, Pace time.Duration
	// Interleave streams the pieces of several tool calls in turn, and not one
	// call after the other.
	Interleave bool
}

// Costing returns the reply with a usage; Total is set to the sum if it is zero.
func (r Reply) Costing(u llm.Usage) Reply {
	if u.Total == 0 {
		u.Total = u.Input + u.Output
	}
	r.Message.Usage = &u
	return r
}

// After returns the reply with a delay before its first chunk.
func (r Reply) After(d time.Duration) Reply {
	r.Delay = d
	return r
}

// Thinking returns the reply with reasoning before what it says.
func (r Reply) Thinking(text string) Reply {
	r.Message.Parts = append([]llm.Part{{Type: llm.PartReasoning, Text: text}}, r.Message.Parts...)
	return r
}

// Say replies with a text.
func Say(text string) Reply { return Reply{Message: llm.Assistant(text)} }

// Call replies with one tool call. The script gives it an id. Arguments that are
// not JSON are streamed as they are, and make an invalid call.
func Call(name, arguments string) Reply {
	if !json.Valid([]byte(arguments)) {
		return Calls(llm.InvalidCall("", name, arguments, "not JSON"))
	}
	return Calls(llm.ToolCall{Name: name, Arguments: json.RawMessage(arguments)})
}

// Calls replies with tool calls. The script gives an id to each that has none.
func Calls(calls ...llm.ToolCall) Reply { return Reply{Message: llm.Assistant("", calls...)} }

// Fail replies with an error.
func Fail(err error) Reply { return Reply{Err: err} }

// A Script is a model that plays replies in order, one for each request, and
// records the requests. Requests that run at the same time take the replies in
// the order in which they start.
type Script struct {
	mu       sync.Mutex
	replies  []Reply
	calls    int // tool calls that were given an id
	requests []llm.Request
}

// NewScript returns a script of replies.
func NewScript(replies ...Reply) *Script {
	return &Script{replies: slices.Clone(replies)}
}

// Stream plays the next reply. It fails with [ErrNoReply] when there is none.
func (s *Script) Stream(ctx context.Context, r llm.Request) iter.Seq2[llm.Chunk, error] {
	return func(yield func(llm.Chunk, error) bool) {
		reply, err := s.next(r)
		if err != nil {
			yield(llm.Chunk{}, err)
			return
		}
		for chunk, err := range reply.stream(ctx) {
			if !yield(chunk, err) || err != nil {
				return
			}
		}
	}
}

// next records a request and returns its reply.
func (s *Script) next(r llm.Request) (Reply, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.requests)
	s.requests = append(s.requests, r.Clone())
	if n >= len(s.replies) {
		return Reply{}, fmt.Errorf("llmtest: script of %d replies: request %d: %w", len(s.replies), n+1, ErrNoReply)
	}
	reply := s.replies[n]
	reply.Message = reply.Message.Clone()
	reply.Chunks = slices.Clone(reply.Chunks)
	for i := range reply.Message.ToolCalls {
		if call := &reply.Message.ToolCalls[i]; call.ID == "" {
			s.calls++
			call.ID = fmt.Sprintf("call_%d", s.calls)
		}
	}
	return reply, nil
}

// Requests returns copies of the requests so far, those beyond the last reply
// included, in the order in which they started.
func (s *Script) Requests() []llm.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	requests := make([]llm.Request, len(s.requests))
	for i, r := range s.requests {
		requests[i] = r.Clone()
	}
	return requests
}

// Remaining returns how many replies have not been played. A test that ends
// with some left asked less often than it meant to.
func (s *Script) Remaining() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return max(0, len(s.replies)-len(s.requests))
}
