package llm

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"time"
)

// Hooks are functions that are called for each request to a model. Either can be nil. They
// are called by the goroutine that reads the stream, so requests in several goroutines call
// them concurrently. They must not change their arguments.
type Hooks struct {
	// Start is called before the model is asked. The model and End get the context that it
	// returns, which can carry a span.
	Start func(ctx context.Context, r Request) context.Context
	// End is called when the stream has ended, has failed, or the caller has left it.
	End func(ctx context.Context, e Exchange)
}

// An Exchange is a request to a model and its result.
type Exchange struct {
	Request Request
	// Reply is the message of the chunks, as [Stream] would return it. It is zero if the
	// chunks do not form a message.
	Reply Message
	// Err is the error of the stream, or the reason why its chunks do not form a message.
	Err error
	// Left reports whether the caller left the stream before its end. Reply and Err are then
	// zero.
	Left bool
	// Chunks is the number of chunks that were passed on.
	Chunks int
	// FirstChunk is the time from the start to the first chunk. It is zero if there was none.
	FirstChunk time.Duration
	// Duration is the time of the whole exchange, including the time in which the caller
	// handled the chunks.
	Duration time.Duration
}

// Usage returns the usage of the reply, or zero if it is unknown.
func (e Exchange) Usage() Usage {
	if e.Reply.Usage == nil {
		return Usage{}
	}
	return *e.Reply.Usage
}

// Trace returns a model that calls hooks for each request to m. Around a [Retry], it calls
// them once for all attempts; inside a Retry, once for each attempt.
func Trace(m Model, h Hooks) Model {
	return wrapper{inner: m, ModelFunc: func(ctx context.Context, r Request) iter.Seq2[Chunk, error] {
		return func(yield func(Chunk, error) bool) {
			begin := time.Now()
			if h.Start != nil {
				ctx = h.Start(ctx, r)
			}
			e := Exchange{Request: r, Left: true}
			defer func() {
				e.Duration = time.Since(begin)
				if h.End != nil {
					h.End(ctx, e)
				}
			}()
			var a assembly
			for chunk, err := range streamOf(ctx, m, r) {
				if err == nil && e.Err == nil {
					e.Err = a.add(&chunk)
				}
				if e.Chunks == 0 && err == nil {
					e.FirstChunk = time.Since(begin)
				}
				if err != nil {
					e.Left, e.Err = false, err
					yield(Chunk{}, err)
					return
				}
				e.Chunks++
				if !yield(chunk, nil) {
					e.Err = nil
					return
				}
			}
			e.Left = false
			if e.Err == nil {
				e.Reply, e.Err = a.message()
			}
		}
	}}
}

// Log returns a model that logs each request to m, under the given name. The level is Warn
// if the request failed, or if m is a [Fallback] and its first model failed. Otherwise it
// is Info. Log records the numbers of messages, tools and tool calls, the tokens, the stop
// reason, the times and the error, but no content of messages. A nil logger means
// slog.Default().
func Log(m Model, name string, logger *slog.Logger) Model {
	return Trace(m, Hooks{End: func(ctx context.Context, e Exchange) {
		l := logger
		if l == nil {
			l = slog.Default()
		}
		level, text := slog.LevelInfo, "model answered"
		switch {
		case e.Left:
			text = "model was left"
		case e.Err != nil:
			level, text = slog.LevelWarn, "model failed"
		case len(e.Reply.PassedOver()) > 0:
			level, text = slog.LevelWarn, "model answered after others failed"
		}
		if l.Enabled(ctx, level) {
			l.LogAttrs(ctx, level, text, e.attrs(name)...)
		}
	}})
}

func (e Exchange) attrs(name string) []slog.Attr {
	attrs := []slog.Attr{
		slog.String("model", name),
		slog.Duration("duration", e.Duration),
		slog.Int("messages", len(e.Request.Messages)),
	}
	if n := len(e.Request.Tools); n > 0 {
		attrs = append(attrs, slog.Int("tools", n))
	}
	if e.Chunks > 0 {
		attrs = append(attrs, slog.Duration("first_chunk", e.FirstChunk), slog.Int("chunks", e.Chunks))
	}
	if e.Reply.StopReason != "" {
		attrs = append(attrs, slog.String("stop_reason", string(e.Reply.StopReason)))
	}
	if n := len(e.Reply.ToolCalls); n > 0 {
		attrs = append(attrs, slog.Int("tool_calls", n))
	}
	if u := e.Reply.Usage; u != nil {
		attrs = append(attrs, slog.Int64("input_tokens", u.Input), slog.Int64("output_tokens", u.Output))
		if u.Cached > 0 {
			attrs = append(attrs, slog.Int64("cached_tokens", u.Cached))
		}
	}
	if passed := e.Reply.PassedOver(); len(passed) > 0 {
		var failed []string
		for _, p := range passed {
			failed = append(failed, p.Model+": "+p.Error)
		}
		attrs = append(attrs, slog.Any("passed_over", failed))
	}
	if e.Err != nil {
		attrs = append(attrs, slog.String("error", e.Err.Error()), slog.Bool("retryable", Retryable(e.Err)))
	}
	if f, ok := errors.AsType[*Error](e.Err); ok && f.Status != 0 {
		attrs = append(attrs, slog.Int("status", f.Status))
	}
	return attrs
}
