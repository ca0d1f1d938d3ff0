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
	// MaxText is how many bytes of text a result may have. More is cut off,
	// and the model is told so. Zero means 64 KiB; a negative number means no
	// limit.
	MaxText int
	// MaxData is how many bytes the images and files of a result may have
	// together. Those beyond are left out, and the model is told so. Zero means
	// 8 MiB; a negative number means no limit.
	MaxData int
	// Clean, when not nil, changes every text of a result, errors included,
	// before it is cut: to take secrets out, or with [Printable] what no person
	// would see. Bytes that are not UTF-8 are replaced in any case.
	Clean func(call llm.ToolCall, text string) string
	// Bind gives the tools what they need from the run; see [Bound]. [Node] and
	// [CallNode] apply it, to the state that they see. [Set.Call], [Set.CallAll]
	// and [Set.Run] have none, and take what there is in their context.
	Bind Bindings
	// Approval says which calls wait for a person.
	Approval Approval
	// Planning, when not nil, has calls recorded instead of made.
	Planning *Planning
	// OnError decides what becomes of a tool that failed. Nil means
	// [AnswerErrors].
	OnError ErrorPolicy
	// Emit, when not nil, is given a [CallStarted] and a [CallFinished] for each
	// call, and what tools say while they run; see [Report]. It is called from
	// several goroutines. In a graph it is graph.Emit.
	Emit func(ctx context.Context, value any)
	// Once, when not nil, remembers the answer to a call, so that a node which
	// runs again, as another of its calls paused or failed, does not call the
	// tool again. In a graph it is graph.Once[llm.Message]. The key is the id
	// of the call.
	//
	// An approval, too, is remembered with it as used: see [Approval].
	Once func(ctx context.Context, key string, call func(context.Context) (llm.Message, error)) (llm.Message, error)

	forget bool // Once is for approvals only: the graph keeps the result
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
