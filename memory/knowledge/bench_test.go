package knowledge_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/inmemory"
	"github.com/weft-go/weft/memory/knowledge"
)

// corpus returns documents of ten chunks each, whose words have the frequencies of
// natural texts.
func corpus(chunks int) []string {
	r := rand.New(rand.NewPCG(1, 2))
	words := rand.NewZipf(r, 1.1, 8, 20_000)
	var texts []string
	for i := range chunks / 10 {
		var b strings.Builder
		for n := range 10 {
			fmt.Fprintf(&b, "# Part %d of %d\n\n", n, i)
			for range 100 {
				fmt.Fprintf(&b, "w%d ", words.Uint64())
			}
			b.WriteString("\n\n")
		}
		texts = append(texts, fmt.Sprintf("%d.md", i), b.String())
	}
	return texts
}

func BenchmarkSearch(b *testing.B) {
	texts := corpus(10_000)
	for name, o := range map[string]knowledge.Options{"words": {}, "vectors": {Embedder: newWords()}} {
		b.Run(name, func(b *testing.B) {
			base := newBase(b, inmemory.NewDocuments(), o)
			ingest(b, base, texts...)
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				n++
				q := memory.Question{Reach: acme.Only(), Text: fmt.Sprintf("w%d w%d w%d part", n%50, n%1000, n%10_000)}
				results, err := base.Search(b.Context(), q)
				require.NoError(b, err)
				require.Len(b, results, 20)
			}
		})
	}
}

func BenchmarkIngest(b *testing.B) {
	texts := corpus(1000)
	size := 0
	for _, text := range texts {
		size += len(text)
	}
	for name, again := range map[string]bool{"new": false, "unchanged": true} {
		b.Run(name, func(b *testing.B) {
			base := newBase(b, inmemory.NewDocuments(), knowledge.Options{Embedder: newWords()})
			ingest(b, base, texts...)
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				if !again {
					base = newBase(b, inmemory.NewDocuments(), knowledge.Options{Embedder: newWords()})
				}
				ingest(b, base, texts...)
			}
		})
	}
}
