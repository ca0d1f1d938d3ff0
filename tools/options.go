package tools

import (
	"context"
	"time"

	"github.com/weft-go/weft/llm"
)

// Options says how tools are called. Its zero value works.
type Options struct {
	// MaxParallel is the most calls that run at the same time. Zero means 5; a
	// negative number means no limit.
	MaxParallel int
	// Timeout is how long one call may take before its context is done. Zero
	// means 30 seconds; a negative duration means no limit. The tool is waited
	// for, and what it returns without an error counts, however late.
	Timeout time.Duration
	// OnError decides what becomes of a tool that failed. Nil means
	// [AnswerErrors].
	OnError ErrorPolicy
	// Emit, when not nil, is given what tools say while they run; see [Report].
	// In a graph it is graph.Emit.
	Emit func(ctx context.Context, value any)
	// Once, when not nil, remembers the answer to a call, so that a node which
	// runs again, as another of its calls paused or failed, does not call the
	// tool again. In a graph it is graph.Once[llm.Message]. The key is the id
	// of the call.
	Once func(ctx context.Context, key string, call func(context.Context) (llm.Message, error)) (llm.Message, error)
}

// An ErrorPolicy decides what becomes of a tool that failed: its answer is what
// the model is told, unless it returns an error, which then fails the call. The
// error that it is given is the tool's own, or wraps [ErrTimeout] or a
// [*PanicError].
//
// It is not asked about mistakes of the model, which are always answered, nor
// about a pause or the end of the run's context, which never are.
type ErrorPolicy func(call llm.ToolCall, err error) (answer string, failure error)

// AnswerErrors is the [ErrorPolicy] that tells the model the text of the error.
func AnswerErrors(_ llm.ToolCall, err error) (string, error) { return err.Error(), nil }

// ReturnErrors is the [ErrorPolicy] that fails the call, and so the node.
func ReturnErrors(_ llm.ToolCall, err error) (string, error) { return "", err }

func (o Options) parallel(calls int) int {
	switch {
	case o.MaxParallel < 0:
		return calls
	case o.MaxParallel == 0:
		return min(calls, 5)
	}
	return min(calls, o.MaxParallel)
}

func (o Options) timeout() time.Duration {
	if o.Timeout == 0 {
		return 30 * time.Second
	}
	return o.Timeout
}

func (o Options) decide(call llm.ToolCall, err error) (string, error) {
	if o.OnError == nil {
		return AnswerErrors(call, err)
	}
	return o.OnError(call, err)
}
