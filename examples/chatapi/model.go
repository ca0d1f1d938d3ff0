package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"time"

	"github.com/weft-go/weft/examples/chatapi/internal/chat"
	"github.com/weft-go/weft/examples/chatapi/internal/offline"
	"github.com/weft-go/weft/examples/internal/models"
	"github.com/weft-go/weft/llm/langchainllm/providers"
	_ "github.com/weft-go/weft/llm/langchainllm/providers/all" // registers every provider
	"github.com/weft-go/weft/memory/extract"
)

// open opens the model and the embedder that the environment names. The default is the offline model, and
// a search by words alone. It also returns their names.
func open(ctx context.Context, c config) (chat.Options, string, error) {
	o := chat.Options{Logger: slog.New(slog.NewTextHandler(os.Stderr, nil))}
	model, name, err := models.Open(ctx, os.Getenv, offline.Model{Pace: c.pace})
	if err != nil {
		return o, "", err
	}
	o.Model = model
	if _, rules := model.(offline.Model); rules {
		o.Extractor, o.Verifier, o.Learning = extract.ExtractorFunc(offline.Extract), offline.Verifier, 5*time.Second
	} else {
		o.Extractor, o.Verifier, o.Decider = extract.NewExtractor(model, extract.ExtractorOptions{}), extract.NewVerifier(model), extract.NewDecider(model)
	}
	if !c.learn {
		o.Extractor = nil
	}
	embedder, err := providers.EmbedderFromEnv(ctx)
	if err == nil {
		o.Embedder = embedder
		name += ", embeddings: " + embedder.Model()
	} else if !errors.Is(err, providers.ErrUnset) {
		return o, "", err
	}
	return o, name, nil
}
