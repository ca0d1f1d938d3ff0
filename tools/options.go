package tools

import (
	"context"
	"time"

	"github.com/weft-go/weft/llm"
)

// Options configures calls of tools. The zero value is valid.
type Options struct {
	// MaxParallel is the maximum number of calls that run at the same time. Zero means 5. A
	// negative number means no limit.
	MaxParallel int
	// Timeout is the time after which the context of one call, or of one attempt of
	// [WithRetry], is done. Zero means 30 seconds. A negative duration means no limit. The
	// call still waits for the tool, and uses a late result if it is not an error.
	Timeout time.Duration
	// MaxText is the maximum size of the text of a result, in bytes. Longer text is cut off
	// with a note for the model. Zero means 64 KiB. A negative number means no limit.
	MaxText int
	// MaxData is the maximum total size of the images and files of a result, in bytes.
	// Parts that exceed it are left out, with a note for the model. Zero means 8 MiB. A
	// negative number means no limit.
	MaxData int
	// Clean, if not nil, changes every text of a result, also of an error, before the text
	// is cut off. Use it to remove secrets, or invisible characters with [Printable]. Bytes
	// that are not UTF-8 are replaced even if Clean is nil.
	Clean func(call llm.ToolCall, text string) string
	// Bind finds the [Bound] values of the tools. [Node] and [CallNode] apply it to the
	// state that they see. [Set.Call], [Set.CallAll] and [Set.Run] ignore it and use the
	// values in their context.
	Bind Bindings
	// Approval selects the calls that a person must approve.
	Approval Approval
	// Planning, if not nil, records calls instead of making them.
	Planning *Planning
	// OnError decides what happens when a tool fails. Nil means [AnswerErrors].
	OnError ErrorPolicy
	// Emit, if not nil, is called with a [CallStarted] when a tool begins to run, with a
	// [CallFinished] when a call gets a new answer, and with the progress that tools
	// [Report]. It is called from several goroutines. In a graph it is graph.Emit.
	Emit func(ctx context.Context, value any)
	// Once, if not nil, stores the answer of a call. If the node runs again because another
	// call paused or failed, the stored answer is used and the tool is not called again. In
	// a graph it is graph.Once[llm.Message]. The key of an answer is the id of the call.
	//
	// Once also stores that an approved call was begun. If a later run finds no answer of
	// that call, a person is asked again.
	Once func(ctx context.Context, key string, call func(context.Context) (llm.Message, error)) (llm.Message, error)
	// ByTask says that each call runs in a separate task. The graph then stores the result
	// with its writes, and Once stores approvals only. [CallNode] sets it.
	ByTask bool
}

// An ErrorPolicy decides what happens when a tool fails. If failure is nil, the model gets
// the answer; otherwise the call returns failure. err is the error of the tool, or wraps
// [ErrTimeout] or a [*PanicError].
//
// The policy is not called for mistakes of the model, which are always answered, and not
// for a pause, a missing [Bound] value or the end of the run's context, which are always
// returned.
type ErrorPolicy func(call llm.ToolCall, err error) (answer string, failure error)

// AnswerErrors is the [ErrorPolicy] that answers with the text of the error.
func AnswerErrors(_ llm.ToolCall, err error) (string, error) { return err.Error(), nil }

// ReturnErrors is the [ErrorPolicy] that returns the error, so that the node fails. node.Retry
// then runs the node again.
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
