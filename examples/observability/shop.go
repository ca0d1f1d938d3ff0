package main

import (
	"context"
	"log/slog"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/llmtest"
	"github.com/weft-go/weft/tools"
)

type query struct {
	Text string `json:"text" jsonschema:"what to look for"`
}

type order struct {
	Item  string `json:"item"`
	Count int    `json:"count"`
}

// newShop returns the agent of a furniture shop. A researcher looks for chairs and for reviews at
// the same time; a person approves each order.
func newShop(logger *slog.Logger, o graph.Options) (*graph.Graph, error) {
	look, err := tools.NewSet(
		tools.New("search_catalogue", "Searches the catalogue.", func(context.Context, query) ([]string, error) {
			return []string{"oak chair Lund, 120 €", "oak chair Berg, 95 €"}, nil
		}),
		tools.New("search_reviews", "Searches the reviews of customers.", func(ctx context.Context, in query) (string, error) {
			logger.InfoContext(ctx, "reviews were read", "query", in.Text)
			return "Lund: 4.8 of 5. Berg: 3.9 of 5.", nil
		}),
	)
	if err != nil {
		return nil, err
	}
	researcher, err := agent.New("researcher", researchScript(), look, agent.Options{System: "You find furniture."})
	if err != nil {
		return nil, err
	}
	sell, err := tools.NewSet(tools.New("place_order", "Places an order.", func(_ context.Context, in order) (string, error) {
		return "order 1042: " + in.Item, nil
	}).Annotate(tools.Annotations{Destructive: true}))
	if err != nil {
		return nil, err
	}
	return agent.Supervisor("shop", shopScript(), sell, []agent.Member{{Agent: researcher, Description: "Finds furniture and what customers say."}}, agent.Options{
		System: "You sell furniture.", Graph: o,
		Tools: tools.Options{Approval: tools.Approval{Rule: tools.Destructive()}},
	})
}

// The models are scripts, so that the example needs no key. They have the name of a real model, so
// that a backend can compute costs.

func researchScript() llm.Model {
	return named("gpt-4o-mini",
		llmtest.Calls(
			llm.ToolCall{ID: "call_catalogue", Name: "search_catalogue", Arguments: []byte(`{"text":"oak chair"}`)},
			llm.ToolCall{ID: "call_reviews", Name: "search_reviews", Arguments: []byte(`{"text":"oak chair"}`)},
		).Costing(llm.Usage{Input: 180, Output: 42}),
		llmtest.Say("Customers like the oak chair Lund best: 4.8 of 5.").Costing(llm.Usage{Input: 260, Output: 18, Cached: 128}),
	)
}

func shopScript() llm.Model {
	return named("gpt-4o",
		llmtest.Call("transfer_to_researcher", `{"task":"Which oak chair do customers like best?"}`).Costing(llm.Usage{Input: 210, Output: 25}),
		llmtest.Call("place_order", `{"item":"oak chair Lund","count":1}`).Costing(llm.Usage{Input: 320, Output: 21}),
		llmtest.Say("Your oak chair Lund is ordered.").Costing(llm.Usage{Input: 380, Output: 12, Cached: 256}),
	)
}

func named(model string, replies ...llmtest.Reply) llm.Model {
	return llm.Named(llmtest.NewScript(replies...), llm.ModelName{Provider: "openai", Model: model})
}
