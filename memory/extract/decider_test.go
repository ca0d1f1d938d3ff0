package extract_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/llm/llmtest"
	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/extract"
	"github.com/weft-go/weft/memory/inmemory"
)

func TestDecisionsChangeMemory(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		said     string
		decision extract.Decision
		want     []string
		asked    bool
	}{
		{"known already", "Ann lives in  Athens.", extract.Decision{}, []string{"Ann lives in Athens"}, false},
		{"nothing related", "The dog is called Rex", extract.Decision{}, []string{"Ann lives in Athens", "The dog is called Rex"}, false},
		{"added", "Ann lives in Oslo", extract.Decision{Action: extract.Add}, []string{"Ann lives in Athens", "Ann lives in Oslo"}, true},
		{"replaced", "Ann lives in Oslo", extract.Decision{Action: extract.Replace, Known: []int{0}}, []string{"Ann lives in Oslo"}, true},
		{"closed", "Ann no longer lives in Athens", extract.Decision{Action: extract.Close, Known: []int{0, 7}}, []string{}, true},
		{"nothing", "Ann lives near Athens", extract.Decision{Action: extract.Nothing}, []string{"Ann lives in Athens"}, true},
		{"a fact that was not in the question", "Ann lives in Oslo", extract.Decision{Action: extract.Replace, Known: []int{3}}, []string{"Ann lives in Athens", "Ann lives in Oslo"}, true},
		{"an unknown action", "Ann lives in Oslo", extract.Decision{Action: "update", Known: []int{0}}, []string{"Ann lives in Athens", "Ann lives in Oslo"}, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			m := newMemory(t)
			_, err := m.Store(t.Context(), ann, memory.Fact{Content: "Ann lives in Athens", Trust: memory.Stated})
			require.NoError(t, err)
			asked := false
			l := newLearner(t, m, extract.Options{Extractor: echo, Verifier: trusting, Decider: extract.DeciderFunc(func(_ context.Context, qs []extract.Question) ([]extract.Decision, error) {
				asked = true
				if assert.Len(t, qs, 1) {
					assert.Len(t, qs[0].Known, 1)
				}
				return []extract.Decision{test.decision}, nil
			})})
			learn(t, l, extract.Turn{Key: "1", Scope: ann, User: test.said})
			assert.Equal(t, test.want, known(t, m))
			assert.Equal(t, test.asked, asked, "asked")
		})
	}
}

// A fact of Lowest trust may replace only facts of Lowest trust.
func TestLowestTrustEndsOnlyLowestTrust(t *testing.T) {
	t.Parallel()
	for _, trust := range []memory.Trust{memory.Stated, memory.Inferred, extract.Lowest} {
		for _, action := range []extract.Action{extract.Replace, extract.Close} {
			m := newMemory(t)
			_, err := m.Store(t.Context(), ann, memory.Fact{Content: "Ann lives in Athens", Trust: trust})
			require.NoError(t, err)
			l := newLearner(t, m, extract.Options{Extractor: echo, Decider: deciding(extract.Decision{Action: action, Known: []int{0}})})
			learn(t, l, extract.Turn{Key: "1", Scope: ann, User: "Ann lives in Oslo"})
			assert.Equal(t, trust != extract.Lowest, slices.Contains(known(t, m), "Ann lives in Athens"), "%s of a fact with trust %d", action, trust)
		}
	}
}

// A verified fact is stored although a fact of Lowest trust has the same text.
func TestVerifiedFactIsStoredBesideAnUnverifiedOne(t *testing.T) {
	t.Parallel()
	m := newMemory(t)
	learn(t, newLearner(t, m, extract.Options{Extractor: echo}), extract.Turn{Key: "1", Scope: ann, User: "Ann lives in Oslo"})
	learn(t, newLearner(t, m, extract.Options{Extractor: echo, Verifier: trusting}), extract.Turn{Key: "2", Scope: ann, User: "Ann lives in Oslo"})
	var trusts []memory.Trust
	for _, f := range facts(t, m) {
		trusts = append(trusts, f.Trust)
	}
	assert.ElementsMatch(t, []memory.Trust{extract.Lowest, memory.Stated}, trusts)
}

// flat is an embedder that returns the same vector for all texts, as a weak embedder may do for a
// sentence and its negation.
type flat struct{}

func (flat) Model() string { return "flat" }

func (flat) Dimension() int { return 2 }

func (flat) Embed(_ context.Context, texts []string) ([][]float32, error) {
	return slices.Repeat([][]float32{{1, 0}}, len(texts)), nil
}

func TestDeciderIsAskedAboutEqualVectorsOfOtherWords(t *testing.T) {
	t.Parallel()
	m, err := memory.New(inmemory.New(inmemory.Options{}), memory.Options{Embedder: flat{}})
	require.NoError(t, err)
	_, err = m.Store(t.Context(), ann, memory.Fact{Content: "Ann smokes", Trust: memory.Stated})
	require.NoError(t, err)
	l := newLearner(t, m, extract.Options{Extractor: echo, Verifier: trusting, Decider: deciding(extract.Decision{Action: extract.Replace, Known: []int{0}})})
	learn(t, l, extract.Turn{Key: "1", Scope: ann, User: "Ann does not smoke"})
	assert.Equal(t, []string{"Ann does not smoke"}, known(t, m))
}

// TestNegationIsStoredWithoutADecider proves that a fact is stored although its vector equals the
// vector of a known fact with other words.
func TestNegationIsStoredWithoutADecider(t *testing.T) {
	t.Parallel()
	m, err := memory.New(inmemory.New(inmemory.Options{}), memory.Options{Embedder: flat{}})
	require.NoError(t, err)
	_, err = m.Remember(t.Context(), ann, "Ann smokes")
	require.NoError(t, err)
	l := newLearner(t, m, extract.Options{Extractor: echo, Verifier: trusting})
	learn(t, l, extract.Turn{Key: "1", Scope: ann, User: "Ann does not smoke"})
	assert.ElementsMatch(t, []string{"Ann smokes", "Ann does not smoke"}, known(t, m))
}

func TestModelDecider(t *testing.T) {
	t.Parallel()
	near := func(contents ...string) (list []memory.Near) {
		for i, content := range contents {
			list = append(list, memory.Near{Fact: memory.Fact{ID: fmt.Sprintf("secret-id-%d", i), Content: content, Trust: memory.Stated}})
		}
		return list
	}
	questions := []extract.Question{
		{Fact: memory.Fact{Content: "in Oslo", Trust: memory.Stated}, Known: near("in Athens", "in Rome")},
		{Fact: memory.Fact{Content: "likes tea", Trust: memory.Stated}, Known: near("likes drinks")},
	}
	add := extract.Decision{Action: extract.Add}
	tests := []struct {
		name, answer string
		want         []extract.Decision
	}{
		{"valid", `{"new":1,"action":"Replace","known":[2,1,2]},{"new":2,"action":"close","known":[3]}`, []extract.Decision{{Action: extract.Replace, Known: []int{0, 1}}, {Action: extract.Close, Known: []int{0}}}},
		{"left out", `{"new":2,"action":"nothing"}`, []extract.Decision{add, {Action: extract.Nothing}}},
		{"a fact of another question", `{"new":1,"action":"replace","known":[3]}`, []extract.Decision{add, add}},
		{"a number that does not exist", `{"new":1,"action":"close","known":[99]},{"new":9,"action":"close","known":[1]}`, []extract.Decision{add, add}},
		{"no number", `{"new":1,"action":"close"},{"new":2,"action":"erase","known":[3]}`, []extract.Decision{add, add}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			model := llmtest.NewScript(llmtest.Call("answer", `{"decisions":[`+test.answer+`]}`))
			got, err := extract.NewDecider(model).Decide(t.Context(), questions)
			require.NoError(t, err)
			assert.Equal(t, test.want, got)
			assert.NotContains(t, fmt.Sprint(model.Requests()), "secret-id")
		})
	}
}

// A turn that is learned late does not end facts of later turns.
func TestTurnsLearnedOutOfOrder(t *testing.T) {
	t.Parallel()
	for action, want := range map[extract.Action][][]string{
		extract.Replace: {nil, {"Oslo"}, {"Oslo"}, {"Rome"}},
		extract.Close:   {nil, nil, nil, {"Rome"}}, // Close adds no fact, and no older fact was known
	} {
		t.Run(string(action), func(t *testing.T) {
			t.Parallel()
			m := newMemory(t)
			l := newLearner(t, m, extract.Options{Extractor: echo, Verifier: trusting, Decider: deciding(extract.Decision{Action: action, Known: []int{0, 1}})})
			now := time.Now()
			hour := func(n int) time.Time { return now.Add(time.Duration(n-10) * time.Hour) }
			learn(t, l, extract.Turn{Key: "3", Scope: ann, User: "Ann lives in Rome", At: hour(3)})
			learn(t, l, extract.Turn{Key: "1", Scope: ann, User: "Ann lives in Oslo", At: hour(1)})
			for n, cities := range want {
				var got []string
				for f, err := range m.List(t.Context(), memory.FactQuery{Reach: ann.Only(), AsOf: hour(n).Add(time.Minute)}) {
					require.NoError(t, err)
					got = append(got, strings.TrimPrefix(f.Content, "Ann lives in "))
				}
				assert.Equal(t, cities, got, "valid at hour %d", n)
			}
			assert.Equal(t, []string{"Ann lives in Rome"}, known(t, m))
		})
	}
}
