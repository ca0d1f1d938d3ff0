package graph_test

import (
	"context"
	"log"
	"log/slog"
	"os"

	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

// docs:begin handler

// A threadHandler adds the thread and the node to lines that are logged with the context of a node.
type threadHandler struct{ slog.Handler }

func (h threadHandler) Handle(ctx context.Context, r slog.Record) error {
	if at, ok := graph.FromContext(ctx); ok {
		r = r.Clone()
		r.AddAttrs(slog.String("thread", at.Thread), slog.String("node", at.Node))
	}
	return h.Handler.Handle(ctx, r)
}

func (h threadHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return threadHandler{h.Handler.WithAttrs(attrs)}
}

func (h threadHandler) WithGroup(name string) slog.Handler {
	return threadHandler{h.Handler.WithGroup(name)}
}

// docs:end

// Each line that is logged with the context of a node has its thread, even if a library logs the line.
func Example_log() {
	logger := slog.New(threadHandler{slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}})})
	b := graph.New("shop")
	b.Node("brew", func(ctx context.Context, _ state.View) (state.Update, error) {
		logger.InfoContext(ctx, "the kettle boils")
		return nil, nil
	})
	b.Edge(graph.Start, "brew")
	g, err := b.Compile(graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := g.Thread("order-1").Invoke(context.Background(), graph.Begin()); err != nil {
		log.Fatal(err)
	}
	// Output: level=INFO msg="the kettle boils" thread=order-1 node=brew
}
