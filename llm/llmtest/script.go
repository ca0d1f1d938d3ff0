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

// ErrNoReply is returned by a [Script] that has played all its replies.
// See https://github.com/weft-go/weft/blob/main/docs/troubleshooting.md#llmtesterrnoreply.
var ErrNoReply = errors.New("no reply left")

// A Reply is the reply of a [Script] to one request. It streams Message. If Err is set,
// the stream breaks off before the end of Message and fails with Err; with a zero
// Message, nothing is streamed.
type Reply struct {
	Message llm.Message
	Err     error
	// Chunks, if not empty, are streamed unchanged instead of Message, for replies
	// that only a faulty model would send.
	Chunks []llm.Chunk
	// Delay is the time before the first chunk, and Pace the time before every other
	// chunk. If the context is done, the stream ends with an error.
	Delay, Pace time.Duration
	// Interleave streams one piece of each tool call in turn. Without it, each call is
	// streamed as a whole.
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

// Thinking returns the reply with reasoning before its other parts.
func (r Reply) Thinking(text string) Reply {
	r.Message.Parts = append([]llm.Part{{Type: llm.PartReasoning, Text: text}}, r.Message.Parts...)
	return r
}

// Say replies with a text.
func Say(text string) Reply { return Reply{Message: llm.Assistant(text)} }

// Call replies with one tool call. The script sets its id. Arguments that are not JSON
// are streamed unchanged, and the call is invalid.
func Call(name, arguments string) Reply {
	if !json.Valid([]byte(arguments)) {
		return Calls(llm.InvalidCall("", name, arguments, "not JSON"))
	}
	return Calls(llm.ToolCall{Name: name, Arguments: json.RawMessage(arguments)})
}

// Calls replies with tool calls. The script sets the ids that are empty.
func Calls(calls ...llm.ToolCall) Reply { return Reply{Message: llm.Assistant("", calls...)} }

// Fail replies with an error.
func Fail(err error) Reply { return Reply{Err: err} }

// A Script is a model that plays replies in order, one for each request, and
// keeps the requests. Concurrent requests get the replies in the order in which
// they start.
type Script struct {
	mu       sync.Mutex
	replies  []Reply
	calls    int // the number of tool calls whose id the script set
	requests []llm.Request
}

// NewScript returns a script of replies.
func NewScript(replies ...Reply) *Script {
	return &Script{replies: slices.Clone(replies)}
}

// Stream plays the next reply. It fails with [ErrNoReply] if there is none.
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

// next stores a request and returns its reply.
func (s *Script) next(r llm.Request) (Reply, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.requests)
	s.requests = append(s.requests, r.Clone())
	if n >= len(s.replies) {
		of := fmt.Sprintf("%d replies", len(s.replies))
		if len(s.replies) == 1 {
			of = "1 reply"
		}
		return Reply{}, fmt.Errorf("llmtest: script of %s: request %d: %w", of, n+1, ErrNoReply)
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

// Requests returns copies of the requests so far, in the order in which they started.
// They include the requests that failed with [ErrNoReply].
func (s *Script) Requests() []llm.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	requests := make([]llm.Request, len(s.requests))
	for i, r := range s.requests {
		requests[i] = r.Clone()
	}
	return requests
}

// Remaining returns the number of replies that were not played. If it is not zero at
// the end of a test, the test asked less often than expected.
func (s *Script) Remaining() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return max(0, len(s.replies)-len(s.requests))
}
