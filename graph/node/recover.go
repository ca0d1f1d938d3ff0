package node

import (
	"context"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/internal/engine"
	"github.com/weft-go/weft/state"
)

// Recover gives a node an error handler. When fn fails or panics, handle gets the error
// and returns the update or the error of the node. Recover does not handle a pause, the end of
// the run's context, or the end of a subgraph because the run was drained. To retry before the
// error is handled, put [Retry] inside Recover.
func Recover(handle func(ctx context.Context, s state.View, err error) (state.Update, error), fn graph.NodeFunc) graph.NodeFunc {
	if handle == nil || fn == nil {
		return nil
	}
	return func(ctx context.Context, s state.View) (state.Update, error) {
		update, err := engine.Protect(engine.Func(fn))(ctx, s)
		if err == nil || engine.AskedIn(ctx) || graph.IsPause(err) || engine.DrainedIn(ctx, err) || ctx.Err() != nil {
			return update, err
		}
		if ae, ok := err.(*engine.AttemptError); ok { //nolint:errorlint // only the outermost error counts
			err = ae.Err
		}
		return handle(ctx, s, err)
	}
}
