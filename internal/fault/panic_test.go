//go:build unix

package fault_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/internal/pgtest"
	"github.com/weft-go/weft/state"
)

// A panickingValue panics when it is encoded or decoded as JSON.
type panickingValue struct{ Text string }

func (e panickingValue) MarshalJSON() ([]byte, error) {
	if e.Text == "when written" {
		panic("boom")
	}
	return json.Marshal(e.Text)
}

func (e *panickingValue) UnmarshalJSON(b []byte) error {
	if strings.Contains(string(b), "when read") {
		panic("boom")
	}
	return json.Unmarshal(b, &e.Text)
}

// F14: a value panics while a step is encoded or decoded. The run returns an error that
// names the channel. The thread keeps the state of its last commit.
func TestF14PanicOfAValueIsAnError(t *testing.T) {
	begin(t)
	store := open(t, pgtest.DirectURL(t), newSchema(t))
	value := state.Last[panickingValue]("value")
	text := "when written"
	b := graph.New("panickingValue", trail, value)
	b.Node("a", func(context.Context, state.View) (state.Update, error) { return state.Update{trail.Put("a")}, nil })
	b.Node("b", func(context.Context, state.View) (state.Update, error) {
		return state.Update{trail.Put("b"), value.Put(panickingValue{text})}, nil
	})
	b.Edge(graph.Start, "a")
	b.Edge("a", "b")
	g, err := b.Compile(graph.Options{Checkpoints: store})
	require.NoError(t, err)
	th := g.Thread("t")
	for _, text = range []string{"when written", "when read"} {
		_, err := startOrResume(t.Context(), th)
		require.ErrorContains(t, err, "boom", text)
		require.ErrorContains(t, err, `"value"`, text)
		snap, err := th.Snapshot(t.Context())
		require.NoError(t, err, text)
		assert.Equal(t, 1, trail.Len(snap), "lines at the last commit, %s", text)
	}
	text = "never"
	snap, err := startOrResume(t.Context(), th)
	require.NoError(t, err)
	assert.Equal(t, 2, trail.Len(snap))
	assert.Equal(t, text, value.Get(snap).Text)
}
