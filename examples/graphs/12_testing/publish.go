// Package publish is a node that asks before it publishes. Its test shows how to
// test a node.
package publish

import (
	"context"
	"strings"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

// The state of the graph.
var (
	Draft  = state.Last[string]("draft")
	Status = state.Last[string]("status")
)

// Publish asks whether to publish a draft.
var Publish = graph.NewInterrupt[string, bool]("publish")

// Node publishes the draft if it is not empty and the answer is yes.
func Node(ctx context.Context, s state.View) (state.Update, error) {
	draft := strings.TrimSpace(Draft.Get(s))
	if draft == "" {
		return state.Update{Status.Put("nothing to publish")}, nil
	}
	yes, err := Publish.Wait(ctx, draft)
	if err != nil {
		return nil, err
	}
	if !yes {
		return state.Update{Status.Put("rejected")}, nil
	}
	return state.Update{Status.Put("published")}, nil
}
