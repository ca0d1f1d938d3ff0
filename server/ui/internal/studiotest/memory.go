package main

import (
	"context"
	"encoding/json"
	"hash/fnv"
	"strings"
	"time"

	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/inmemory"
)

// newMemory returns a memory with facts about two people: trusted, untrusted and past facts, and facts with evidence.
func newMemory(ctx context.Context) (*memory.Memory, error) {
	m, err := memory.New(inmemory.New(inmemory.Options{}), memory.Options{Embedder: trigrams{}})
	if err != nil {
		return nil, err
	}
	ada := memory.Scope{Tenant: "shop", User: "ada", Agent: "support"}
	evidence := json.RawMessage(`{"weft.evidence":{"quote":"my left foot is a bit wider, size 43","turn":3,"offset":0},"channel":"chat"}`)
	stored, err := m.Store(ctx, ada,
		memory.Fact{Content: "Ada wears shoes of size 43, wide", Kind: memory.Preference, Trust: memory.Stated, Metadata: evidence, Turn: 3, Conversation: "c1"},
		memory.Fact{Content: "Ada walks in the Lake District each May", Kind: memory.Episode, Trust: memory.Inferred},
		memory.Fact{Content: "Ada's sister Byron likes green jackets", Kind: memory.Relationship},
		memory.Fact{Content: "Ada lives in Leeds", Trust: memory.Stated, ValidFrom: time.Now().Add(-400 * 24 * time.Hour)})
	if err != nil {
		return nil, err
	}
	if _, err := m.Supersede(ctx, ada, memory.Fact{Content: "Ada lives in Keswick", Trust: memory.Stated}, stored[3].ID); err != nil {
		return nil, err
	}
	_, err = m.Remember(ctx, memory.Scope{Tenant: "shop", User: "grace"}, "Grace prefers to be called Admiral")
	return m, err
}

// trigrams is an embedder that makes vectors of the groups of three letters in a text.
type trigrams struct{}

func (trigrams) Model() string  { return "trigrams" }
func (trigrams) Dimension() int { return 64 }

func (trigrams) Embed(_ context.Context, texts []string) ([][]float32, error) {
	out := make([][]float32, len(texts))
	for i, text := range texts {
		out[i] = make([]float32, 64)
		runes := []rune(" " + strings.ToLower(text) + " ")
		for j := range len(runes) - 2 {
			h := fnv.New32a()
			_, _ = h.Write([]byte(string(runes[j : j+3])))
			out[i][h.Sum32()%64]++
		}
	}
	return out, nil
}
