package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

// docs:begin channel
type verdict struct{ Text string }

// Verdict was a string, in a channel with the name "status".
var Verdict = state.Last[verdict]("verdict").Upgrade(func(old json.RawMessage) (json.RawMessage, error) {
	if bytes.HasPrefix(old, []byte(`"`)) {
		return fmt.Appendf(nil, `{"Text":%s}`, old), nil
	}
	return old, nil // the value has the current form
})

// docs:end

func readVerdict(ctx context.Context, store checkpoint.Store) error {
	b := graph.New("note", Verdict)
	b.Node("publish", func(context.Context, state.View) (state.Update, error) { return nil, nil })
	b.Edge(graph.Start, "publish")
	// docs:begin channel-run
	g, err := b.Compile(graph.Options{
		Checkpoints: store,
		Migrations:  graph.Migrations{Channels: map[string]string{"status": "verdict"}},
	})
	if err != nil {
		return err
	}
	snap, err := g.Thread("note-1").Snapshot(ctx)
	if err != nil {
		return err
	}
	fmt.Println("verdict:", Verdict.Get(snap).Text)
	// docs:end
	return nil
}
