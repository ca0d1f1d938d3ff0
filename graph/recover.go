package graph

import (
	"context"
	"runtime/debug"

	"github.com/weft-go/weft/state"
)

// Recover gives a node an error handler: when fn fails or panics, handle gets
// the error and returns the node's update instead, or an error that becomes
// the node's. A pause, and the end of the run's context, are not handled. Put
// [Retry] inside Recover to try again first.
func Recover(handle func(ctx context.Context, s state.View, err error) (state.Update, error), fn NodeFunc) NodeFunc {
	if handle == nil || fn == nil {
		return nil
	}
	return func(ctx context.Context, s state.View) (state.Update, error) {
		update, err := protect(ctx, s, fn)
		if err == nil || asked(ctx) || IsPause(err) || ctx.Err() != nil {
			return update, err
		}
		return handle(ctx, s, withoutAttempt(err))
	}
}

// protect makes a panic an error.
func protect(ctx context.Context, s state.View, fn NodeFunc) (update state.Update, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{Value: v, Stack: debug.Stack()}
		}
	}()
	return fn(ctx, s)
}
