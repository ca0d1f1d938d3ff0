package main

import (
	"context"
	"strings"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/state"
)

type orderQuestion struct {
	Question string   `json:"question"`
	Options  []string `json:"options"`
	Schema   enum     `json:"schema"`
}

type enum struct {
	Enum []string `json:"enum"`
}

// ordersGraph returns a conversation that asks about two orders at once.
func ordersGraph(o graph.Options) (*graph.Graph, error) {
	decided := state.Append[string]("decided")
	b := graph.New("orders", messages, decided)
	for _, order := range []string{"A", "B"} {
		options := []string{"keep " + order, "delete " + order}
		question := graph.NewInterrupt[orderQuestion, string]("ask " + order)
		b.Node(order, func(ctx context.Context, _ state.View) (state.Update, error) {
			answer, err := question.Wait(ctx, orderQuestion{"What about order " + order + "?", options, enum{options}})
			if err != nil {
				return nil, err
			}
			return state.Update{decided.Put(answer)}, nil
		})
		b.Edge(graph.Start, order)
	}
	b.Node("reply", func(_ context.Context, s state.View) (state.Update, error) {
		return state.Update{messages.Put(llm.Assistant(strings.Join(decided.Get(s), ", ")))}, nil
	})
	b.Join("reply", "A", "B")
	b.Edge("reply", graph.End)
	return b.Compile(o)
}
