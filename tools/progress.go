package tools

import (
	"context"

	"github.com/weft-go/weft/llm"
)

// A CallStarted is emitted when a tool begins to run. At this time the arguments are
// checked, and a required approval has been given.
type CallStarted struct {
	// Call is the call of the tool that runs. For invoke_tool, that is the invoked tool.
	Call llm.ToolCall `json:"call"`
}

// A CallFinished is emitted when a call is answered.
type CallFinished struct {
	// Call is the call of the model.
	Call llm.ToolCall `json:"call"`
	// Answer is the message for the model.
	Answer llm.Message `json:"answer"`
}

// A Progress describes the progress of a tool while it runs; see [Report].
type Progress struct {
	// CallID and Tool identify the call. [Report] sets them.
	CallID string `json:"call_id"`
	Tool   string `json:"tool"`
	// Done is the amount of finished work, in any unit. It must not shrink. Total is the
	// amount of all work, or zero if it is not known.
	Done  float64 `json:"done,omitempty"`
	Total float64 `json:"total,omitempty"`
	// Message is a text for people.
	Message string `json:"message,omitempty"`
}

type emitKey struct{}

// Report passes the progress of a tool to [Options].Emit, and so to the events of the run.
// ctx is the context of the tool. Report returns when Emit has returned. Outside of a tool,
// or without Emit, it does nothing.
func Report(ctx context.Context, p Progress) {
	emit, ok := ctx.Value(emitKey{}).(func(context.Context, any))
	call, inTool := CallFrom(ctx)
	if !ok || !inTool {
		return
	}
	p.CallID, p.Tool = call.ID, call.Name
	emit(ctx, p)
}
