package main

import (
	"context"
	"encoding/json"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

// The channels of the graphs that only ask a question.
var (
	prompt = state.Last[json.RawMessage]("prompt")
	answer = state.Last[json.RawMessage]("answer")
)

var (
	anything = graph.NewInterrupt[json.RawMessage, json.RawMessage]("anything")
	typed    = graph.NewInterrupt[json.RawMessage, rating]("rating")
	yesOrNo  = graph.NewInterrupt[json.RawMessage, bool]("yes_or_no")
)

type rating struct {
	Stars   int      `json:"stars"`
	Reasons []string `json:"reasons,omitempty"`
}

// newAsking returns a graph that asks the question in its input, and stores the answer.
func newAsking[A any](name string, q *graph.Interrupt[json.RawMessage, A], store checkpoint.Store) (*graph.Graph, error) {
	b := graph.New(name, prompt, answer)
	b.Node("ask", func(ctx context.Context, s state.View) (state.Update, error) {
		a, err := q.Wait(ctx, prompt.Get(s))
		if err != nil {
			return nil, err
		}
		data, err := json.Marshal(a)
		return state.Update{answer.Put(data)}, err
	})
	b.Edge(graph.Start, "ask")
	return b.Compile(graph.Options{Checkpoints: store})
}
