package tools

import (
	"context"

	"github.com/weft-go/weft/llm"
)

// A CallStarted says that a tool begins to run: one that exists, with arguments
// that fit, and with approval where that is needed.
type CallStarted struct {
	// Call is that of the tool, also when it was made by way of invoke_tool.
	Call llm.ToolCall `json:"call"`
}

// A CallFinished says that a call has its answer.
type CallFinished struct {
	// Call is as the model made it.
	Call llm.ToolCall `json:"call"`
	// Answer is what the model is told.
	Answer llm.Message `json:"answer"`
}

// A Progress is what a tool says while it runs; see [Report].
type Progress struct {
	// CallID and Tool say whose it is. [Report] fills them in.
	CallID string `json:"call_id"`
	Tool   string `json:"tool"`
	// Done is how much is done, in any unit; it grows. Total is how much there
	// is to do, zero if that is not known.
	Done  float64 `json:"done,omitempty"`
	Total float64 `json:"total,omitempty"`
	// Message is for people.
	Message string `json:"message,omitempty"`
}

type emitKey struct{}

// Report gives the progress of the tool that ctx is of to [Options].Emit, and
// so to whoever reads the events of the run. It returns when they have taken it.
// Outside a tool, or without Emit, it does nothing.
func Report(ctx context.Context, p Progress) {
	emit, ok := ctx.Value(emitKey{}).(func(context.Context, any))
	call, inTool := CallFrom(ctx)
	if !ok || !inTool {
		return
	}
	p.CallID, p.Tool = call.ID, call.Name
	emit(ctx, p)
}
