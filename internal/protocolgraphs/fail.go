package protocolgraphs

import (
	"context"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

// A valueError is an error with the name that the error has in the recording.
type valueError struct{ text string }

func (e *valueError) Error() string { return e.text }
func (e *valueError) Name() string  { return "ValueError" }

var text = state.LastWins[string]("text")

func failGraph(o graph.Options) (*graph.Graph, error) {
	b := graph.New("fail", text, lines)
	b.Node("prep", func(context.Context, state.View) (state.Update, error) { return state.Update{lines.Put("prep")}, nil })
	b.Node("check", func(_ context.Context, s state.View) (state.Update, error) {
		if text.Get(s) == "boom" {
			return nil, &valueError{"bad text: boom"}
		}
		return state.Update{lines.Put("ok " + text.Get(s))}, nil
	})
	b.Edge(graph.Start, "prep")
	b.Edge("prep", "check")
	b.Edge("check", graph.End)
	return b.Compile(o)
}
