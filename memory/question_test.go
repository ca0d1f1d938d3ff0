package memory_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/inmemory"
	"github.com/weft-go/weft/memory/knowledge"
)

// searches returns the four kinds of search of one memory. Each part of the memory has the same five texts. A
// search returns the contents of its hits.
func searches(t *testing.T, o memory.Options) map[string]func(q memory.Question) ([]string, error) {
	t.Helper()
	o.Values.Index = [][]string{{}}
	m, err := memory.New(inmemory.New(inmemory.Options{}), o)
	require.NoError(t, err)
	base, err := knowledge.New(m, knowledge.Options{Reranker: o.Reranker})
	require.NoError(t, err)
	lines := []string{
		"green tea in the morning", "green tea in the morning, always", "a kettle for tea", "tea of the season, and a long list of other things", "coffee",
	}
	values := m.Values().In(ann, "notes")
	var messages []llm.Message
	var documents []knowledge.Document
	for i, line := range lines {
		store(t, m, ann, line)
		data, err := json.Marshal(line)
		require.NoError(t, err)
		_, err = values.Put(t.Context(), fmt.Sprint(i), data, memory.PutOptions{})
		require.NoError(t, err)
		messages = append(messages, llm.User(line))
		documents = append(documents, knowledge.Document{URI: fmt.Sprint(i), Text: line})
	}
	_, err = m.Conversations().Append(t.Context(), ann, memory.Turn{Messages: messages})
	require.NoError(t, err)
	_, troubles, err := knowledge.Collect(base.Ingest(t.Context(), ann, knowledge.Documents(documents...), knowledge.IngestOptions{}))
	require.NoError(t, err)
	require.Empty(t, troubles)
	return map[string]func(q memory.Question) ([]string, error){
		"facts": func(q memory.Question) ([]string, error) {
			return contents(t, func(f memory.Fact) string { return f.Content })(m.Recall(t.Context(), q))
		},
		"values": func(q memory.Question) ([]string, error) {
			return contents(t, func(v memory.Item) string { return strings.Trim(string(v.Value), `"`) })(values.Search(t.Context(), q))
		},
		"messages": func(q memory.Question) ([]string, error) {
			return contents(t, func(m memory.FoundMessage) string { return m.Text() })(m.Conversations().Search(t.Context(), q))
		},
		"documents": func(q memory.Question) ([]string, error) {
			return contents(t, func(p knowledge.Passage) string { return p.Chunk.Content })(base.Search(t.Context(), q))
		},
	}
}

func contents[T any](t *testing.T, content func(T) string) func([]memory.Hit[T], error) ([]string, error) {
	return func(hits []memory.Hit[T], err error) ([]string, error) {
		var list []string
		for i, h := range hits {
			assert.Equal(t, i+1, h.Score.Rank)
			list = append(list, content(h.Item))
		}
		return list, err
	}
}

func TestOneQuestionForAllSearches(t *testing.T) {
	t.Parallel()
	for name, search := range searches(t, memory.Options{}) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			q := memory.Question{Reach: ann.Only(), Text: "green tea in the morning"}
			all, err := search(q)
			require.NoError(t, err)
			require.Len(t, all, 4)
			q.Limit = 2
			got, err := search(q)
			require.NoError(t, err)
			assert.Equal(t, all[:2], got, "limit")
			q.Diversity = 0.9
			got, err = search(q)
			require.NoError(t, err)
			assert.Equal(t, all[0], got[0], "the best comes first with diversity too")
			assert.NotEqual(t, all[1], got[1], "diversity skips a repetition")
			q.Diversity, q.Limit, q.MaxTokens = 0, 0, 12
			got, err = search(q)
			require.NoError(t, err)
			assert.Less(t, len(got), len(all), "max tokens")
			assert.NotEmpty(t, got, "max tokens")
			for _, wrong := range []memory.Question{
				{Limit: -1}, {Limit: 1001}, {MaxTokens: -1}, {Diversity: 1.1}, {MinSimilarity: 0.5}, {MinSimilarity: 2}, {Embedding: []float32{1}},
			} {
				wrong.Reach, wrong.Text = ann.Only(), "tea"
				_, err = search(wrong)
				require.ErrorIs(t, err, memory.ErrInvalid, "%+v", wrong)
			}
		})
	}
}

func TestRerankerOrdersAllSearches(t *testing.T) {
	t.Parallel()
	longest := memory.RerankerFunc(func(_ context.Context, _ string, texts []string) ([]float64, error) {
		scores := make([]float64, len(texts))
		for i, text := range texts {
			scores[i] = float64(len(text))
		}
		return scores, nil
	})
	for name, search := range searches(t, memory.Options{Reranker: longest}) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := search(memory.Question{Reach: ann.Only(), Text: "green tea in the morning"})
			require.NoError(t, err)
			require.NotEmpty(t, got)
			assert.Equal(t, "tea of the season, and a long list of other things", got[0])
		})
	}
}

func TestNamespaceRejectsTheReachOfAnotherScope(t *testing.T) {
	t.Parallel()
	m := newMemory(t, memory.Options{})
	_, err := m.Values().In(ann, "notes").Search(t.Context(), memory.Question{Reach: memory.Scope{User: "bob"}.Only(), Text: "tea"})
	require.ErrorIs(t, err, memory.ErrInvalid)
	assert.ErrorContains(t, err, "leave it empty")
}
