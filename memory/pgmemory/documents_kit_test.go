package pgmemory_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/memory/driver"
)

var docs = driver.Scope{Tenant: "acme"}

// document returns a source with chunks as package knowledge creates them, with vectors of the
// model "m" if the function vector is not nil.
func document(uri string, chunks int, vector func() []float32) driver.SourceSwap {
	s := driver.SourceSwap{Source: driver.Source{ID: newID(), URI: uri, Format: "text"}}
	for i := range chunks {
		content := fmt.Sprintf("part %d of %s says that number %d is fine", i, uri, i%10)
		r := driver.ChunkRecord{
			Chunk: driver.Chunk{ID: newID(), Ordinal: i, Content: content, Start: 100 * i, End: 100*i + len(content), Tokens: 9},
			Terms: strings.Fields(content),
		}
		if vector != nil {
			r.Model, r.Embedding = "m", vector()
		}
		s.Chunks = append(s.Chunks, r)
	}
	return s
}

func swapIn(tb testing.TB, store driver.DocumentStore, s driver.Scope, swaps ...driver.SourceSwap) {
	tb.Helper()
	require.NoError(tb, store.Swap(context.Background(), driver.SourceChange{Scope: s, Swaps: swaps}))
}

func chunkContents(c driver.ChunkCandidates) map[string]bool {
	found := map[string]bool{}
	for _, r := range c.Records {
		found[r.Content] = true
	}
	return found
}
