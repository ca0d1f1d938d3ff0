package llm

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"
)

// IdleTimeout returns a model that ends a request if m sends nothing for d: before the first chunk, or between two chunks. The
// error is then an [Error] of kind [ErrTransport]. The time in which the caller handles a chunk does not count. If d is zero or
// negative, there is no limit.
//
// Put it inside a [Retry] or a [Fallback], so that they continue after the error. Put it inside a [Limit] too: around a Limit, the
// wait for the limit would count. A model that does not stream sends its whole reply at once: d must then be longer than the
// longest reply takes.
//
// At the timeout, it cancels the context of m. The stream ends when the stream of m ends.
func IdleTimeout(m Model, d time.Duration) Model {
	if d <= 0 {
		return m
	}
	return wrapper{inner: m, ModelFunc: func(parent context.Context, r Request) iter.Seq2[Chunk, error] {
		return func(yield func(Chunk, error) bool) {
			ctx, cancel := context.WithCancelCause(parent)
			defer cancel(nil)
			silent := &Error{Kind: ErrTransport, Provider: ownName(m), Message: fmt.Sprintf("the model sent nothing for %v", d)}
			timer := time.AfterFunc(d, func() { cancel(silent) })
			defer timer.Stop()
			ended := func() bool { return errors.Is(context.Cause(ctx), silent) }
			complete := false
			for chunk, err := range streamOf(ctx, m, r) {
				timer.Stop()
				if ended() {
					chunk, err = Chunk{}, silent
				}
				if !yield(chunk, err) || err != nil {
					return
				}
				if complete = chunk.Kind == ChunkEnd; !complete {
					timer.Reset(d)
				}
			}
			if !complete && ended() { // the timer can fire while the end of the reply arrives
				yield(Chunk{}, silent)
			}
		}
	}}
}
