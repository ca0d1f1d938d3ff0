package llm

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"time"
)

// Hooks are told of each request to a model. A nil field is not called. They
// are called by the goroutine that asks, so several may be at once. They must
// not change what they are shown.
type Hooks struct {
	// Start is called before the model is asked. The context that it returns is
	// the model's, and that of End: it may carry a span.
	Start func(ctx context.Context, r Request) context.Context
	// End is called when the stream has ended, failed or was left.
	End func(ctx context.Context, e Exchange)
}

// An Exchange is a request to a model and what came of it.
type Exchange struct {
	Request Request
	// Reply is the message that the chunks make, as [Stream] would return it;
	// zero when they do not make one.
	Reply Message
	// Err is what the stream failed with, or why its chunks make no message.
	Err error
	// Left says that the caller left the stream before its end. There is then
	// neither a Reply nor an Err.
	Left bool
	// Chunks is how many chunks were passed on.
	Chunks int
	// FirstChunk is how long the first of them took; zero when there was none.
	FirstChunk time.Duration
	// Duration is how long it all took, the time included in which the caller
	// looked at chunks.
	Duration time.Duration
}

// Usage is what the exchange cost; zero when that is unknown.
func (e Exchange) Usage() Usage {
	if e.Reply.Usage == nil {
		return Usage{}
	}
	return *e.Reply.Usage
}

// Trace returns a model that tells hooks of each request to m. Outside a
// [Retry] it sees one exchange for all attempts, inside of it one for each.
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

// Log returns a model that logs each request to m: at level Info when it was
// answered or left, at Warn when it failed. The name is the model's. What is
// said is not logged: there are the numbers of messages, tools and tool calls,
// the tokens, the stop reason, the times and the error. A nil logger is
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
	if e.Err != nil {
		attrs = append(attrs, slog.String("error", e.Err.Error()), slog.Bool("retryable", Retryable(e.Err)))
	}
	if f, ok := errors.AsType[*Error](e.Err); ok && f.Status != 0 {
		attrs = append(attrs, slog.Int("status", f.Status))
	}
	return attrs
}
