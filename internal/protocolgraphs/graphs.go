// Package protocolgraphs has the graphs of the recorded exchanges with the reference server. The
// tests of the server replay the exchanges, and real clients use the same graphs.
package protocolgraphs

import (
	"encoding/json"
	"errors"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/graph"
)

// New returns the graphs by name. Their threads are in the store.
func New(store checkpoint.Store) (map[string]*graph.Graph, error) {
	o := graph.Options{Checkpoints: store}
	out := map[string]*graph.Graph{}
	var errs []error
	for name, build := range map[string]func(graph.Options) (*graph.Graph, error){
		"echo": echoGraph, "tools": toolsGraph, "approve": approveGraph, "approve2": approve2Graph,
		"fanout": fanoutGraph, "sub": subGraph, "slow": slowGraph, "fail": failGraph,
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
