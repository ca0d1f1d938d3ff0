package graph_test

import (
	"context"
	"testing"

	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

// Who hears that a run has ended can go on with its thread at once.
func TestEndedRunHasGivenItsThreadBack(t *testing.T) {
	t.Parallel()
	log := state.Append[string]("log")
	b := graph.New("g", log)
	b.Node("a", func(context.Context, state.View) (state.Update, error) { return state.Update{log.Put("a")}, nil })
	b.Edge(graph.Start, "a")
	g, err := b.Compile(graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 100 {
		ended := false
		for ev, err := range g.Thread("t").Stream(t.Context(), log.Put("in")) {
			if err != nil {
				t.Fatal(err)
			}
			if _, ok := ev.(graph.RunEnded); !ok {
				continue
			}
			ended = true
			snap, err := g.Thread("t").Invoke(t.Context(), log.Put("again"))
			if err != nil || log.Len(snap) != 4*(i+1) {
				t.Fatalf("round %d: got %v", i, err)
			}
			break
		}
		if !ended {
			t.Fatal("no end")
		}
	}
}
