package server

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"time"

	"github.com/weft-go/weft/graph"
)

// A logLine is a record that a node wrote to a logger.
type logLine struct {
	Time    time.Time       `json:"time"`
	Level   string          `json:"level"`
	Message string          `json:"message"`
	Attrs   json.RawMessage `json:"attrs,omitempty"`
}

const (
	maxLogLines = 100  // records of a task
	maxLogText  = 4096 // bytes of a message, and of the attributes of a record
)

// LogHandler returns a handler that passes all records to next. When a node of a run has ended, the studio also shows the
// records that the node wrote with its context, as in slog.InfoContext(ctx, …). They are stored with the thread: the
// first 100 of each task, each with up to 4 kB of text and 4 kB of attributes. Everybody who may read the thread can read
// them.
func LogHandler(next slog.Handler) slog.Handler { return logHandler{Handler: next} }

type logHandler struct {
	slog.Handler
	with []func(slog.Handler) slog.Handler // the attributes and groups of the logger
}

// Handle passes a record to the next handler and to the run.
func (h logHandler) Handle(ctx context.Context, r slog.Record) error {
	if ctx.Value(contextKey{}) != nil { // only a server reads the emitted records
		graph.Emit(ctx, h.line(ctx, r))
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs returns a handler with attributes.
func (h logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return h.adding(func(o slog.Handler) slog.Handler { return o.WithAttrs(attrs) })
}

// WithGroup returns a handler with a group.
func (h logHandler) WithGroup(name string) slog.Handler {
	return h.adding(func(o slog.Handler) slog.Handler { return o.WithGroup(name) })
}

func (h logHandler) adding(f func(slog.Handler) slog.Handler) slog.Handler {
	return logHandler{f(h.Handler), append(h.with[:len(h.with):len(h.with)], f)}
}

func (h logHandler) line(ctx context.Context, r slog.Record) logLine {
	var b bytes.Buffer
	var out slog.Handler = slog.NewJSONHandler(&b, &slog.HandlerOptions{Level: r.Level, ReplaceAttr: attributesOnly})
	for _, f := range h.with {
		out = f(out)
	}
	l := logLine{Time: r.Time.UTC(), Level: r.Level.String(), Message: r.Message}
	if len(l.Message) > maxLogText {
		l.Message = strings.ToValidUTF8(l.Message[:maxLogText], "") + "…"
	}
	if out.Handle(ctx, r) == nil {
		if attrs := bytes.TrimSpace(b.Bytes()); len(attrs) <= maxLogText && string(attrs) != "{}" {
			l.Attrs = attrs
		}
	}
	return l
}

// attributesOnly removes the attributes that a logLine has as fields.
func attributesOnly(groups []string, a slog.Attr) slog.Attr {
	if len(groups) == 0 && (a.Key == slog.TimeKey || a.Key == slog.LevelKey || a.Key == slog.MessageKey) {
		return slog.Attr{}
	}
	return a
}

// logged keeps a record until its task ends. It assigns the record of an inner task to the task of the node.
func (r *recorder) logged(sc *scope, at *graph.Place, l logLine) {
	task, _, _ := strings.Cut(at.Task, "~")
	id := r.taskID(sc, task, at.Step)
	if len(r.logs[id]) < maxLogLines {
		r.logs[id] = append(r.logs[id], l)
	}
}
