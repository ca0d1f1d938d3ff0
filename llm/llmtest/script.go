package llmtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"

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
}

// Say replies with a text.
func Say(text string) Reply { return Reply{Message: llm.Assistant(text)} }

// Call replies with one tool call, whose arguments are JSON. The script gives it
// an id.
func Call(name, arguments string) Reply {
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
		if reply.Err != nil && reply.Message.Role == "" {
			yield(llm.Chunk{}, reply.Err)
			return
		}
		for chunk, err := range pieces(ctx, reply.Message) {
			if err == nil && chunk.Kind == llm.ChunkEnd && reply.Err != nil {
				chunk, err = llm.Chunk{}, reply.Err
			}
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
