// Package protocolgraphs has the graphs of the recorded exchanges with the reference server. The
// tests of the server replay the exchanges, and real clients use the same graphs.
package protocolgraphs

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/graph"
)

// recordedPause is the time between two events of the graph "slow" in the recordings.
const recordedPause = 100 * time.Millisecond

// New returns the graphs by name. Their threads are in the store.
func New(store checkpoint.Store) (map[string]*graph.Graph, error) {
	return NewHeld(store, func(context.Context, string, int) {})
}

// NewHeld returns the graphs. After each event, the graph "slow" calls pass with the id of the thread and the number of events of the
// run so far, and continues when pass returns.
func NewHeld(store checkpoint.Store, pass func(ctx context.Context, thread string, events int)) (map[string]*graph.Graph, error) {
	o := graph.Options{Checkpoints: store}
	out := map[string]*graph.Graph{}
	var errs []error
	for name, build := range map[string]func(graph.Options) (*graph.Graph, error){
		"echo": echoGraph, "tools": toolsGraph, "approve": approveGraph, "approve2": approve2Graph,
		"fanout": fanoutGraph, "sub": subGraph, "slow": func(o graph.Options) (*graph.Graph, error) { return slowGraph(o, pass) }, "fail": failGraph,
	} {
		g, err := build(o)
		out[name], errs = g, append(errs, err)
	}
	return out, errors.Join(errs...)
}

// encoded returns the JSON of a value.
func encoded(v any) json.RawMessage {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return data
}
