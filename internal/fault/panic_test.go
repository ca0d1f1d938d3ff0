//go:build unix

package fault_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/internal/pgtest"
	"github.com/weft-go/weft/state"
)

// An explosive panics when it is written, or read, as JSON.
type explosive struct{ Text string }

func (e explosive) MarshalJSON() ([]byte, error) {
	if e.Text == "when written" {
		panic("boom")
	}
	return json.Marshal(e.Text)
}

func (e *explosive) UnmarshalJSON(b []byte) error {
	if strings.Contains(string(b), "when read") {
		panic("boom")
	}
	return json.Unmarshal(b, &e.Text)
}

// F14, the code of values: what panics while a step is stored, or read, is an error; the
// thread is at its last commit. For nodes, reducers, routes, tools and readers of a
// stream see docs/reliability.md.
func TestF14Values(t *testing.T) {
	begin(t)
	store := open(t, pgtest.DirectURL(t), newSchema(t))
	value := state.Last[explosive]("value")
	text := "when written"
	b := graph.New("explosive", trail, value)
	b.Node("a", func(context.Context, state.View) (state.Update, error) { return state.Update{trail.Put("a")}, nil })
	b.Node("b", func(context.Context, state.View) (state.Update, error) {
		return state.Update{trail.Put("b"), value.Put(explosive{text})}, nil
	})
	b.Edge(graph.Start, "a")
	b.Edge("a", "b")
	g, err := b.Compile(graph.Options{Checkpoints: store})
	if err != nil {
		t.Fatal(err)
	}
	th := g.Thread("t")
	for _, text = range []string{"when written", "when read"} {
		if _, err := goOn(t.Context(), th); err == nil || !strings.Contains(err.Error(), "boom") || !strings.Contains(err.Error(), `"value"`) {
			t.Errorf("%s: got error %v want one that names the channel", text, err)
		}
		snap, err := th.Snapshot(t.Context())
		if err != nil || trail.Len(snap) != 1 {
			t.Errorf("%s: it is not at its last commit: %v, error %v", text, snap, err)
		}
	}
	text = "never"
	snap, err := goOn(t.Context(), th)
	if err != nil || trail.Len(snap) != 2 || value.Get(snap).Text != text {
		t.Errorf("got %v, error %v", snap, err)
	}
}
