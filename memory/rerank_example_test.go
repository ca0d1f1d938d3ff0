package memory_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/inmemory"
)

// orKeep keeps the order of the search if the reranker fails.
func orKeep(r memory.Reranker, logger *slog.Logger) memory.Reranker {
	return memory.RerankerFunc(func(ctx context.Context, query string, texts []string) ([]float64, error) {
		scores, err := r.Rerank(ctx, query, texts)
		if err == nil || ctx.Err() != nil {
			return scores, err
		}
		logger.WarnContext(ctx, "the reranker failed", "error", err)
		scores = make([]float64, len(texts))
		for i := range scores {
			scores[i] = -float64(i) // the texts are in the order of the search
		}
		return scores, nil
	})
}

func ExampleReranker() {
	ctx, ann := context.Background(), memory.Scope{User: "ann"}
	down := memory.RerankerFunc(func(context.Context, string, []string) ([]float64, error) { return nil, errors.New("503") })
	m, err := memory.New(inmemory.New(inmemory.Options{}), memory.Options{Reranker: orKeep(down, slog.New(slog.DiscardHandler))})
	if err != nil {
		panic(err)
	}
	if _, err := m.Remember(ctx, ann, "Tea is on the shelf, and so are cups and plates", "Ann drinks tea"); err != nil {
		panic(err)
	}
	hits, err := m.Recall(ctx, memory.Question{Reach: ann.Only(), Text: "drinks tea"})
	if err != nil {
		panic(err)
	}
	fmt.Println(hits[0].Item.Content, len(hits))
	// Output: Ann drinks tea 2
}
