package tools

import "context"

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
