package memory_test

import (
	"encoding/json"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/memory/driver"

	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/inmemory"
)

func TestStoreOnce(t *testing.T) {
	t.Parallel()
	m := newMemory(t, memory.Options{})
	first := store(t, m, ann, "Ann likes tea, not coffee.")[0]
	for _, same := range []string{
		"Ann likes tea, not coffee", "Ann likes  tea,\u00a0 not\ncoffee.", " \u200bAnn likes tea, not coffee\n",
	} {
		stored, err := m.Store(t.Context(), ann, memory.Fact{Content: same, Trust: memory.Stated})
		require.NoError(t, err, "%q", same)
		require.True(t, stored[0].Existed, "%q: got %+v and %v, want the fact that is there", same, stored, err)
		assert.Equal(t, first, stored[0].ID, "%q", same)
	}
	different := []string{
		"ann likes tea, not coffee", "Ann likes tea not coffee", "Ann likes tea, not coffee?", "Ann likes tea, not coffee..", "“Ann likes tea, not coffee.”",
		"Polish", "polish", "5' long", "5\" long", "Ann likes tea, and coffee", "Ann likes C", "Ann likes C++", "Ann has 1.5 litres", "Ann has 15 litres", "?", "!", "Ann's", "Anns",
	}
	store(t, m, ann, different...)
	assert.Len(t, list(t, m, memory.FactQuery{Reach: ann.Only(), Limit: -1}), 1+len(different))
	other := ann
	other.Agent = "helper"
	stored, err := m.Store(t.Context(), other, memory.Fact{Content: "Ann likes tea, not coffee.", Trust: memory.Stated})
	require.NoError(t, err, "in another scope")
	assert.False(t, stored[0].Existed, "in another scope")
	stored, err = m.Store(t.Context(), ann, memory.Fact{Kind: memory.Preference, Content: "Ann likes tea, not coffee.", Trust: memory.Stated})
	require.NoError(t, err, "of another kind")
	assert.False(t, stored[0].Existed, "of another kind")
}

// Equal facts that are stored concurrently are stored once.
func TestStoreAtOnce(t *testing.T) {
	t.Parallel()
	m := newMemory(t, memory.Options{})
	var wg sync.WaitGroup
	for w := range 16 {
		wg.Go(func() {
			for i := range 200 {
				content := fmt.Sprintf("Fact number %d of them", i%50)
				if w%2 == 0 {
					content += "."
				}
				_, err := m.Store(t.Context(), ann, memory.Fact{Content: content, Trust: memory.Stated})
				assert.NoError(t, err)
			}
		})
	}
	wg.Wait()
	assert.Len(t, list(t, m, memory.FactQuery{Reach: ann.Only(), Limit: -1}), 50)
}

func TestRefused(t *testing.T) {
	t.Parallel()
	fact := func(change func(*memory.Fact)) memory.Fact {
		f := memory.Fact{Content: "x", Trust: memory.Stated}
		change(&f)
		return f
	}
	tests := []struct {
		name  string
		scope memory.Scope
		fact  memory.Fact
		says  string
	}{
		{"no content", ann, memory.Fact{}, "no content"},
		{"only spaces", ann, memory.Fact{Content: " \u200b\n", Trust: memory.Stated}, "no content"},
		{"not UTF-8", ann, memory.Fact{Content: "\xff", Trust: memory.Stated}, "UTF-8"},
		{"a NUL", ann, memory.Fact{Content: "a\x00b", Trust: memory.Stated}, "NUL"},
		{"too long", ann, memory.Fact{Content: strings.Repeat("x", 16<<10+1), Trust: memory.Stated}, "16385 bytes"},
		{"another kind", ann, fact(func(f *memory.Fact) { f.Kind = "mood" }), `kind "mood"`},
		{"another trust", ann, fact(func(f *memory.Fact) { f.Trust = 9 }), "trust 9"},
		{"importance", ann, fact(func(f *memory.Fact) { f.Importance = 1.5 }), "importance 1.5"},
		{"importance that is no number", ann, fact(func(f *memory.Fact) { f.Importance = math.NaN() }), "importance NaN"},
		{"metadata that is none", ann, fact(func(f *memory.Fact) { f.Metadata = json.RawMessage(`[1]`) }), "metadata"},
		{"metadata null", ann, fact(func(f *memory.Fact) { f.Metadata = json.RawMessage(`null`) }), "null"},
		{"an id that is none", ann, fact(func(f *memory.Fact) { f.ID = "1" }), `id "1"`},
		{"an end before the beginning", ann, fact(func(f *memory.Fact) { f.ValidFrom = time.Unix(2, 0); f.ValidTo = time.Unix(1, 0) }), "valid to"},
		{"half of a rune in metadata", ann, memory.Fact{Content: "x", Metadata: json.RawMessage(`{"a":"\ud83d\ude00\uD800"}`), Trust: memory.Stated}, "half of a rune"},
		{"a time long ago", ann, memory.Fact{Content: "x", ValidFrom: time.Date(-4, 1, 1, 0, 0, 0, 0, time.UTC), Trust: memory.Stated}, "year -4"},
		{"a time far away", ann, memory.Fact{Content: "x", ExpiresAt: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC), Trust: memory.Stated}, "year 10000"},
		{"a scope", memory.Scope{User: "\xff"}, memory.Fact{Content: "x", Trust: memory.Stated}, "user"},
		{"a long scope", memory.Scope{Tenant: strings.Repeat("t", 513)}, memory.Fact{Content: "x", Trust: memory.Stated}, "tenant"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			m := newMemory(t, memory.Options{})
			_, err := m.Store(t.Context(), test.scope, memory.Fact{Content: "fine", Trust: memory.Stated}, test.fact)
			require.ErrorIs(t, err, memory.ErrInvalid)
			assert.ErrorContains(t, err, test.says)
			assert.Empty(t, list(t, m, memory.FactQuery{Reach: ann.Only()}))
		})
	}
}

func TestSupersede(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newMemory(t, memory.Options{})
		old := store(t, m, ann, "Ann lives in Athens")[0]
		time.Sleep(time.Hour)
		then := time.Now()
		time.Sleep(time.Hour)
		now, err := m.Supersede(t.Context(), ann, memory.Fact{Content: "Ann lives in Oslo", Trust: memory.Stated}, old)
		require.NoError(t, err)
		require.False(t, now.Existed)
		text := "where does Ann live?"
		got := recall(t, m, memory.Question{Reach: ann.Only(), Text: text})
		require.Len(t, got, 1, "now")
		assert.Equal(t, "Ann lives in Oslo", got[0], "now")
		got = recall(t, m, memory.Question{Reach: ann.Only(), Text: text}, memory.FactFilter{AsOf: then})
		require.Len(t, got, 1, "then")
		assert.Equal(t, "Ann lives in Athens", got[0], "then")
		f, err := m.Get(t.Context(), ann, old)
		require.NoError(t, err)
		require.Equal(t, now.ID, f.SupersededBy)
		require.False(t, f.ValidTo.IsZero())
		assert.EqualValues(t, 2, f.Version)
		_, err = m.Supersede(t.Context(), ann, memory.Fact{Content: "Ann lives in Rome", Trust: memory.Stated}, old)
		assert.ErrorIs(t, err, memory.ErrConflict, "superseded twice")
		assert.Len(t, list(t, m, memory.FactQuery{Reach: ann.Only()}), 1)
		// A superseded fact can become valid again.
		stored, err := m.Supersede(t.Context(), ann, memory.Fact{Content: "Ann lives in Athens", Trust: memory.Stated}, now.ID)
		require.NoError(t, err)
		require.False(t, stored.Existed)
		assert.NotEqual(t, old, stored.ID)
	})
}

func TestUpdateCloseDelete(t *testing.T) {
	t.Parallel()
	m := newMemory(t, memory.Options{})
	ids := store(t, m, ann, "Ann has a dog", "Ann has a cat")
	f, err := m.Get(t.Context(), ann, ids[0])
	require.NoError(t, err)
	require.EqualValues(t, 1, f.Version)
	require.Equal(t, memory.Plain, f.Kind)
	require.Equal(t, 0.5, f.Importance)
	require.Equal(t, ann, f.Scope)
	edit := memory.Edit{Content: "Ann has a dog called Rex", Importance: 0.9, Version: f.Version}
	require.NoError(t, m.Update(t.Context(), ann, f.ID, edit))
	assert.ErrorIs(t, m.Update(t.Context(), ann, f.ID, edit), memory.ErrConflict, "an old version")
	assert.ErrorIs(t, m.Update(t.Context(), ann, f.ID, memory.Edit{Content: "Ann has a cat."}), memory.ErrConflict, "what another fact says")
	assert.Len(t, recall(t, m, memory.Question{Reach: ann.Only(), Text: "Rex"}), 1, "the new words are not found")
	require.NoError(t, m.Close(t.Context(), ann, ids[1]))
	assert.ErrorIs(t, m.Delete(t.Context(), ann, ids[0], "0190b5e4-7c1a-7e2f-8a3b-000000000000"), memory.ErrNotFound)
	assert.ErrorIs(t, m.Delete(t.Context(), memory.Scope{User: "bob"}, ids[0]), memory.ErrNotFound, "somebody else")
	require.NoError(t, m.Delete(t.Context(), ann, ids[0]))
	_, err = m.Get(t.Context(), ann, ids[0])
	assert.ErrorIs(t, err, memory.ErrNotFound)
	var said []string
	for e, err := range m.History(t.Context(), ann, ids[0]) {
		require.NoError(t, err)
		said = append(said, fmt.Sprintf("%s: %s > %s", e.Kind, e.Before, e.After))
	}
	want := []string{"add:  > Ann has a dog", "update: Ann has a dog > Ann has a dog called Rex", "delete: Ann has a dog called Rex > "}
	assert.Equal(t, want, said)
	assert.Equal(t, []string{"Ann has a cat"}, list(t, m, memory.FactQuery{Reach: ann.Only(), Closed: true}))
}

func TestExpiry(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newMemory(t, memory.Options{})
		_, err := m.Store(t.Context(), ann, memory.Fact{Content: "away until noon", ExpiresAt: time.Now().Add(time.Hour), Trust: memory.Stated}, memory.Fact{Content: "stays", Trust: memory.Stated})
		require.NoError(t, err)
		n, err := m.Sweep(t.Context())
		require.Equal(t, 0, n)
		assert.NoError(t, err)
		time.Sleep(time.Hour)
		assert.Equal(t, []string{"stays"}, list(t, m, memory.FactQuery{Reach: ann.Only()}))
		n, err = m.Sweep(t.Context())
		require.Equal(t, 1, n)
		assert.NoError(t, err)
		assert.Equal(t, []string{"stays"}, list(t, m, memory.FactQuery{Reach: ann.Only(), Closed: true}))
	})
}

func TestClear(t *testing.T) {
	t.Parallel()
	m := newMemory(t, memory.Options{})
	for i := range 3 {
		var contents []string
		for j := range memory.MaxBatch {
			contents = append(contents, fmt.Sprintf("%d of %d", j, i))
		}
		store(t, m, ann, contents...)
	}
	n, err := m.Clear(t.Context(), memory.FactQuery{Reach: ann.Only(), Limit: 1500})
	require.Equal(t, 1500, n)
	assert.NoError(t, err)
	n, err = m.Clear(t.Context(), memory.FactQuery{Reach: ann.Only(), IDs: slices.Collect(ids(t, m))[:30]})
	require.Equal(t, 30, n)
	assert.NoError(t, err)
	n, err = m.Clear(t.Context(), memory.FactQuery{Reach: ann.Only(), Limit: -1})
	require.Equal(t, 1470, n)
	assert.NoError(t, err)
	store(t, m, ann, slices.Collect(numbered(50))...)
	n, err = m.Clear(t.Context(), memory.FactQuery{Reach: ann.Only()})
	require.Equal(t, 50, n, "without a limit")
	assert.NoError(t, err, "without a limit")
	_, err = m.Store(t.Context(), ann, make([]memory.Fact, memory.MaxBatch+1)...)
	assert.ErrorIs(t, err, memory.ErrInvalid)
}

// Erase removes facts with their histories. It removes superseded facts only if the query has Closed.
func TestErase(t *testing.T) {
	t.Parallel()
	m := newMemory(t, memory.Options{})
	old := store(t, m, ann, "Ann lives in Oslo", "Ann likes tea")
	now, err := m.Supersede(t.Context(), ann, memory.Fact{Content: "Ann lives in Bern", Trust: memory.Stated}, old[0])
	require.NoError(t, err)
	events := func(id string) (n int) {
		for _, err := range m.History(t.Context(), ann, id) {
			require.NoError(t, err)
			n++
		}
		return n
	}
	n, err := m.Erase(t.Context(), memory.FactQuery{Reach: ann.Only(), IDs: []string{now.ID, old[0]}})
	require.NoError(t, err)
	assert.Equal(t, 1, n, "a fact that is no longer valid needs Closed")
	assert.Zero(t, events(now.ID))
	assert.Equal(t, 2, events(old[0]))
	n, err = m.Erase(t.Context(), memory.FactQuery{Reach: ann.Only(), IDs: old[:1], Closed: true})
	require.NoError(t, err)
	assert.Equal(t, 1, n)
	assert.Zero(t, events(old[0]))
	assert.Equal(t, []string{"Ann likes tea"}, list(t, m, memory.FactQuery{Reach: ann.Only(), Closed: true}))
	assert.Equal(t, 1, events(old[1]))
}

func TestExportForget(t *testing.T) {
	t.Parallel()
	m := newMemory(t, memory.Options{})
	agent := ann
	agent.Agent = "helper"
	ids := store(t, m, ann, "Ann has a secret", "Ann has another")
	store(t, m, agent, "Ann told the helper")
	bob := memory.Scope{Tenant: "acme", Workspace: "w", User: "bob"}
	store(t, m, bob, "Bob is here")
	require.NoError(t, m.Close(t.Context(), ann, ids[1]))
	gone := ann
	gone.Agent = "of deleted facts alone"
	require.NoError(t, m.Delete(t.Context(), gone, store(t, m, gone, "Ann said something")...))
	before := time.Now()
	n, err := m.Forget(t.Context(), memory.Scope{Tenant: "acme", User: "ann"})
	require.NoError(t, err)
	assert.Equal(t, 3, n.Facts)
	assert.Equal(t, []string{"Bob is here"}, list(t, m, memory.FactQuery{Reach: memory.Reach{Scope: memory.Scope{Tenant: "acme"}, AnyAgent: true, AnyUser: true, AnyWorkspace: true}, Closed: true}))
	for e, err := range m.History(t.Context(), ann, ids[0]) {
		t.Errorf("there is a history left: %+v, %v", e, err)
	}
	late := memory.FactChange{Kind: memory.Add, Said: before, Record: memory.FactRecord{Fact: memory.Fact{Content: "Ann has a secret", Trust: memory.Stated}}}
	_, err = m.Apply(t.Context(), agent, late)
	assert.ErrorIs(t, err, memory.ErrForgotten, "what comes late")
	_, err = m.Apply(t.Context(), bob, late)
	assert.NoError(t, err, "for somebody else")
	store(t, m, ann, "Ann is new here")
	_, err = m.Forget(t.Context(), memory.Scope{})
	assert.ErrorIs(t, err, memory.ErrInvalid, "forgot everybody")
}

func TestReembed(t *testing.T) {
	t.Parallel()
	kept := inmemory.NewFacts(inmemory.Options{})
	words, err := memory.New(inmemory.Fill(driver.Stores{FactStore: kept}), memory.Options{})
	require.NoError(t, err)
	var contents []string
	for i := range 250 {
		contents = append(contents, fmt.Sprintf("tea number %d", i))
	}
	store(t, words, ann, contents...)
	e := newConcepts()
	m, err := memory.New(inmemory.Fill(driver.Stores{FactStore: kept}), memory.Options{Embedder: e})
	require.NoError(t, err)
	n, err := m.Reembed(t.Context(), memory.FactQuery{Reach: ann.Only(), Limit: 120})
	require.Equal(t, 120, n)
	assert.NoError(t, err)
	e.fail.Store(true)
	_, err = m.Reembed(t.Context(), memory.FactQuery{Reach: ann.Only(), Limit: -1})
	assert.ErrorIs(t, err, errDown)
	e.fail.Store(false)
	n, err = m.Reembed(t.Context(), memory.FactQuery{Reach: ann.Only(), Limit: -1})
	require.Equal(t, 130, n)
	assert.NoError(t, err)
	n, err = m.Reembed(t.Context(), memory.FactQuery{Reach: ann.Only(), Limit: -1})
	require.Equal(t, 0, n)
	assert.NoError(t, err)
	assert.Len(t, recall(t, m, memory.Question{Reach: ann.Only(), Text: "a beverage", Limit: 5}), 5)
	_, err = words.Reembed(t.Context(), memory.FactQuery{Reach: ann.Only()})
	assert.ErrorIs(t, err, memory.ErrInvalid)
	f, err := m.Get(t.Context(), ann, slices.Collect(ids(t, m))[0])
	require.NoError(t, err, "a vector counts as a change")
	assert.EqualValues(t, 1, f.Version, "a vector counts as a change")
}

func TestQuota(t *testing.T) {
	t.Parallel()
	m, err := memory.New(inmemory.New(inmemory.Options{MaxFacts: 2}), memory.Options{})
	require.NoError(t, err)
	ids := store(t, m, ann, "one", "two")
	_, err = m.Store(t.Context(), ann, memory.Fact{Content: "three", Trust: memory.Stated})
	assert.ErrorIs(t, err, memory.ErrQuota)
	store(t, m, ann, "one.")
	_, err = m.Supersede(t.Context(), ann, memory.Fact{Content: "three", Trust: memory.Stated}, ids[0])
	assert.NoError(t, err, "in the place of another")
}

func TestSimilar(t *testing.T) {
	t.Parallel()
	m := newMemory(t, memory.Options{Embedder: newConcepts()})
	store(t, m, ann, "Ann drinks tea", "the car is red")
	near, err := m.Similar(t.Context(), memory.FactQuery{Reach: ann.Only(), Limit: 2}, "Ann  drinks tea.", "Ann drinks coffee", "The automobile is red")
	require.NoError(t, err)
	require.Len(t, near, 3)
	require.Len(t, near[0], 2)
	n := near[0][0]
	require.True(t, n.Same)
	require.Equal(t, "Ann drinks tea", n.Content)
	assert.EqualValues(t, 1, n.Overlap)
	n = near[1][0]
	require.False(t, n.Same)
	require.Equal(t, "Ann drinks tea", n.Content)
	require.GreaterOrEqual(t, n.Cosine, 0.99)
	require.NotEqual(t, 1, n.Overlap)
	assert.NotEqual(t, 0, n.Overlap)
	n = near[2][0]
	require.Equal(t, "the car is red", n.Content)
	assert.GreaterOrEqual(t, n.Cosine, 0.99)
}

func TestNew(t *testing.T) {
	t.Parallel()
	kept := inmemory.NewFacts(inmemory.Options{})
	wrong := newConcepts()
	wrong.size = 0
	nameless := newConcepts()
	nameless.model = ""
	for name, o := range map[string]memory.Options{
		"an embedder of no dimension": {Embedder: wrong},
		"an embedder without a name":  {Embedder: nameless},
		"a negative weight":           {Weights: memory.Weights{Keyword: -1}},
		"a weight that is none":       {Weights: memory.Weights{Vector: math.NaN()}},
		"a negative half-life":        {Weights: memory.Weights{HalfLife: -1}},
	} {
		_, err := memory.New(inmemory.Fill(driver.Stores{FactStore: kept}), o)
		assert.ErrorIs(t, err, memory.ErrInvalid, "%s: %v", name, err)
	}
	_, err := memory.New(nil, memory.Options{})
	assert.ErrorIs(t, err, memory.ErrInvalid, "no backend")
}

func numbered(n int) iter.Seq[string] {
	return func(yield func(string) bool) {
		for i := range n {
			if !yield(fmt.Sprint("fact ", i)) {
				return
			}
		}
	}
}

func ids(tb testing.TB, m *memory.Memory) iter.Seq[string] {
	return func(yield func(string) bool) {
		for f, err := range m.List(tb.Context(), memory.FactQuery{Reach: ann.Only(), Limit: -1}) {
			require.NoError(tb, err)
			if !yield(f.ID) {
				return
			}
		}
	}
}
