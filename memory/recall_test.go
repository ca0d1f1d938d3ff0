package memory_test

import (
	"context"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/memory"
)

func TestRecallByWords(t *testing.T) {
	t.Parallel()
	m := newMemory(t, memory.Options{})
	store(t, m, ann, "Ann likes green tea", "Ann works in a hospital in Athens", "Her dog is called Rex", "She flies to Oslo in May")
	tests := []struct{ text, want string }{
		{"what is the name of her dog?", "Her dog is called Rex"},
		{"Which hospitals does she work at?", "Ann works in a hospital in Athens"},
		{"tea", "Ann likes green tea"},
		{"flying to OSLO and zanzibar", "She flies to Oslo in May"},
	}
	for _, test := range tests {
		got := recall(t, m, memory.Question{Reach: ann.Only(), Text: test.text})
		require.NotEmpty(t, got, "%q", test.text)
		assert.Equal(t, test.want, got[0], "%q", test.text)
	}
	assert.Empty(t, recall(t, m, memory.Question{Reach: ann.Only(), Text: "quantum"}))
	got := recall(t, m, memory.Question{Reach: ann.Only(), Text: " ?! ", Limit: 2})
	require.Len(t, got, 2)
	assert.Equal(t, "She flies to Oslo in May", got[0])
	got = recall(t, m, memory.Question{Reach: memory.Scope{Tenant: "acme", Workspace: "w", User: "bob"}.Only(), Text: "tea dog hospital"})
	assert.Empty(t, got, "somebody else got %q", got)
}

func TestRecallByMeaning(t *testing.T) {
	t.Parallel()
	e := newConcepts()
	m := newMemory(t, memory.Options{Embedder: e})
	store(t, m, ann, "tea", "her automobile", "a physician")
	n := e.calls.Load()
	assert.Equal(t, int64(1), n, "%d calls of the embedder for one batch", n)
	got := recall(t, m, memory.Question{Reach: ann.Only(), Text: "beverage"})
	require.Len(t, got, 3)
	assert.Equal(t, "tea", got[0])
	got = recall(t, m, memory.Question{Reach: ann.Only(), Text: "car", Limit: 1})
	require.Len(t, got, 1)
	assert.Equal(t, "her automobile", got[0])
	_, err := m.Recall(t.Context(), memory.Question{Reach: ann.Only(), Embedding: []float32{1}})
	assert.ErrorIs(t, err, memory.ErrDimension)
	_, err = m.Recall(t.Context(), memory.Question{Reach: ann.Only(), Embedding: append(make([]float32, 31), float32(math.NaN()))})
	assert.ErrorIs(t, err, memory.ErrInvalid)
	e.fail.Store(true)
	_, err = m.Store(t.Context(), ann, memory.Fact{Content: "lost?", Trust: memory.Stated})
	assert.ErrorIs(t, err, errDown)
}

func TestRecallWithin(t *testing.T) {
	t.Parallel()
	m := newMemory(t, memory.Options{})
	far := ann
	far.Agent = "other"
	store(t, m, ann, "tea in the morning", "tea in the evening")
	store(t, m, far, "tea at noon")
	store(t, m, memory.Scope{Tenant: "acme"}, "tea for all")
	store(t, m, memory.Scope{Tenant: "evil", Workspace: "w", User: "ann"}, "tea of another tenant")
	_, err := m.Store(t.Context(), ann, memory.Fact{Content: "tea is poison, says a page", Trust: memory.Untrusted},
		memory.Fact{Content: "tea with milk", Kind: memory.Preference, Conversation: "c", Metadata: json.RawMessage(`{"cups":9}`), Trust: memory.Stated})
	require.NoError(t, err)
	tests := []struct {
		name   string
		change func(*memory.FactQuery)
		want   int
	}{
		{"the scope", func(*memory.FactQuery) {}, 3},
		{"any agent", func(q *memory.FactQuery) { q.AnyAgent = true }, 4},
		{"what is known more widely", func(q *memory.FactQuery) { q.Inherit = true }, 4},
		{"an agent, and more widely", func(q *memory.FactQuery) { q.Inherit = true; q.Scope.Agent = "other" }, 5},
		{"all", func(q *memory.FactQuery) { q.AnyAgent, q.AnyUser, q.AnyWorkspace = true, true, true }, 5},
		{"not trusted", func(q *memory.FactQuery) { q.Untrusted = true }, 4},
		{"a kind", func(q *memory.FactQuery) { q.Kinds = []memory.Kind{memory.Preference, memory.Episode} }, 1},
		{"a conversation", func(q *memory.FactQuery) { q.Conversation = "c" }, 1},
		{"a condition", func(q *memory.FactQuery) { q.Where = []memory.Condition{memory.Where("cups", memory.Less, 10)} }, 1},
		{"another condition", func(q *memory.FactQuery) { q.Where = []memory.Condition{memory.Where("cups", memory.Less, "10")} }, 0},
		{"a limit", func(q *memory.FactQuery) { q.Limit = 1 }, 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			q := memory.FactQuery{Reach: ann.Only()}
			test.change(&q)
			got := recall(t, m, memory.Question{Reach: q.Reach, Text: "tea", Limit: q.Limit}, memory.FactFilter{
				Kinds: q.Kinds, Conversation: q.Conversation, Where: q.Where, Untrusted: q.Untrusted, AsOf: q.AsOf,
			})
			require.Len(t, got, test.want)
			assert.NotContains(t, got, "tea of another tenant")
			assert.Len(t, list(t, m, q), test.want)
		})
	}
}

func TestRecallLimits(t *testing.T) {
	t.Parallel()
	m := newMemory(t, memory.Options{})
	store(t, m, ann, "tea "+strings.Repeat("word ", 400), "tea for two", "two cups of tea for me")
	got := recall(t, m, memory.Question{Reach: ann.Only(), Text: "tea for two", MaxTokens: 40})
	require.Len(t, got, 2)
	assert.Equal(t, "tea for two", got[0])
	best, err := m.Recall(t.Context(), memory.Question{Reach: ann.Only(), Text: "tea for two"})
	require.NoError(t, err)
	require.Len(t, best, 3)
	for _, q := range []memory.Question{
		{MaxTokens: -1},
		{Diversity: 2},
		{MinSimilarity: math.NaN()},
		{MinSimilarity: 0.5}, // without an embedder
		{Embedding: []float32{1}},
		{Limit: -1},
		{Limit: 1001},
		{Reach: memory.Scope{Tenant: "\xff"}.Only()},
	} {
		_, err := m.Recall(t.Context(), q)
		assert.ErrorIs(t, err, memory.ErrInvalid, "%+v", q)
	}
	for _, only := range [][]memory.FactFilter{{{Where: []memory.Condition{{}}}}, {{Kinds: []memory.Kind{"x"}}}, {{}, {}}} {
		_, err := m.Recall(t.Context(), memory.Question{Reach: ann.Only(), Text: "tea"}, only...)
		assert.ErrorIs(t, err, memory.ErrInvalid, "%+v", only)
	}
}

// A fact ranks higher if the facts of adjacent turns match the query.
func TestRecallNeighbours(t *testing.T) {
	t.Parallel()
	m := newMemory(t, memory.Options{})
	var facts []memory.Fact
	for i, content := range []string{"We talked about the garden", "the roses want water", "We talked about the car", "the brakes want oil"} {
		facts = append(facts, memory.Fact{Content: content, Conversation: "c", Turn: int64(10*(i/2) + i%2), Trust: memory.Stated})
	}
	_, err := m.Store(t.Context(), ann, facts...)
	require.NoError(t, err)
	found, err := m.Recall(t.Context(), memory.Question{Reach: ann.Only(), Text: "what does the garden want?"})
	require.NoError(t, err)
	at := func(content string) int {
		return slices.IndexFunc(found, func(f memory.Hit[memory.Fact]) bool { return f.Item.Content == content })
	}
	roses, brakes := at("the roses want water"), at("the brakes want oil")
	require.GreaterOrEqual(t, roses, 0)
	require.GreaterOrEqual(t, brakes, 0)
	assert.LessOrEqual(t, roses, brakes)
	assert.NotZero(t, found[roses].Score.Neighbour)
}

func TestRerank(t *testing.T) {
	t.Parallel()
	last := memory.RerankerFunc(func(_ context.Context, query string, texts []string) ([]float64, error) {
		if query == "broken" {
			return nil, errDown
		}
		scores := make([]float64, len(texts))
		for i, text := range texts {
			scores[i] = float64(len(text))
		}
		switch query {
		case "tea short":
			return scores[:1], nil
		case "tea nan":
			scores[1] = math.NaN()
		case "tea infinite":
			scores[2] = math.Inf(1)
		}
		return scores, nil
	})
	m := newMemory(t, memory.Options{Reranker: last})
	store(t, m, ann, "tea", "tea with milk", "tea and broken cups, short ones")
	found, err := m.Recall(t.Context(), memory.Question{Reach: ann.Only(), Text: "tea"})
	require.NoError(t, err)
	require.Len(t, found, 3)
	assert.Equal(t, "tea and broken cups, short ones", found[0].Item.Content)
	assert.Equal(t, float64(31), *found[0].Score.Reranked)
	_, err = m.Recall(t.Context(), memory.Question{Reach: ann.Only(), Text: "broken"})
	assert.ErrorIs(t, err, errDown)
	for _, text := range []string{"tea short", "tea nan", "tea infinite"} {
		_, err := m.Recall(t.Context(), memory.Question{Reach: ann.Only(), Text: text})
		assert.ErrorIs(t, err, memory.ErrInvalid, text)
	}
}

func TestDiversity(t *testing.T) {
	t.Parallel()
	m := newMemory(t, memory.Options{Embedder: newConcepts()})
	store(t, m, ann, "she drinks tea at home", "she drinks coffee at home", "she drinks tea at work with physicians")
	q := memory.Question{Reach: ann.Only(), Text: "she drinks tea at home", Limit: 2}
	plain := recall(t, m, q)
	q.Diversity = 0.8
	spread := recall(t, m, q)
	assert.Equal(t, "she drinks coffee at home", plain[1])
	assert.Equal(t, plain[0], spread[0])
	assert.NotEqual(t, plain[1], spread[1])
}
