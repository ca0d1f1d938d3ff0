package modeltest

import (
	"context"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/internal/suitetest"
	"github.com/weft-go/weft/llm/llmtest"
)

func TestEmbedderOfTestsPasses(t *testing.T) {
	t.Parallel()
	RunEmbedder(t, func(*testing.T) Embedder { return llmtest.Embedder{} })
}

// A broken embedder replaces the method Embed of a correct one.
type broken struct {
	llmtest.Embedder
	embed func(e llmtest.Embedder, ctx context.Context, texts []string) ([][]float32, error)
}

func (b broken) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	return b.embed(b.Embedder, ctx, texts)
}

// A nameless embedder returns no model name.
type nameless struct{ llmtest.Embedder }

func (nameless) Model() string { return "" }

func TestSuiteFindsBrokenEmbedders(t *testing.T) {
	t.Parallel()
	changing := func(change func(vectors [][]float32) [][]float32) Embedder {
		return broken{embed: func(e llmtest.Embedder, ctx context.Context, texts []string) ([][]float32, error) {
			vectors, err := e.Embed(ctx, texts)
			return change(vectors), err
		}}
	}
	var mu sync.Mutex
	known := map[string][]float32{}
	for name, c := range map[string]struct {
		fails string
		e     Embedder
	}{
		"nil":       {"model", nil},
		"no name":   {"model", nameless{}},
		"nothing":   {"vectors", changing(func([][]float32) [][]float32 { return nil })},
		"panics":    {"vectors", broken{embed: func(llmtest.Embedder, context.Context, []string) ([][]float32, error) { panic("not written yet") }}},
		"shorter":   {"vectors", changing(func(list [][]float32) [][]float32 { return [][]float32{list[0][1:], list[1], list[2]} })},
		"all equal": {"vectors", changing(func(list [][]float32) [][]float32 { return slices.Repeat(list[:1], len(list)) })},
		"backwards": {"order", changing(func(list [][]float32) [][]float32 { slices.Reverse(list); return list })},
		"one batch": {"many", changing(func(list [][]float32) [][]float32 { return list[:min(len(list), 100)] })},
		"none": {"none", broken{embed: func(llmtest.Embedder, context.Context, []string) ([][]float32, error) {
			return nil, context.DeadlineExceeded
		}}},
		"no context": {"cancelled", broken{embed: func(e llmtest.Embedder, _ context.Context, texts []string) ([][]float32, error) {
			return e.Embed(context.Background(), texts)
		}}},
		"own vectors": {"owns nothing", broken{embed: func(e llmtest.Embedder, ctx context.Context, texts []string) ([][]float32, error) {
			mu.Lock()
			defer mu.Unlock()
			var list [][]float32
			for _, text := range texts {
				if known[text] == nil {
					one, err := e.Embed(ctx, []string{text})
					if err != nil {
						return nil, err
					}
					known[text] = one[0]
				}
				list = append(list, known[text])
			}
			return list, nil
		}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			i := slices.IndexFunc(embedderCases, func(one embedderCase) bool { return one.name == c.fails })
			require.GreaterOrEqual(t, i, 0)
			failures := suitetest.Record(func(tb testing.TB) {
				embedderCases[i].run(tb, func() Embedder { return c.e })
			})
			assert.NotEmpty(t, failures, "%s accepts the embedder", c.fails)
		})
	}
}
