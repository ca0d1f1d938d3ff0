package memory_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

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
		if err != nil || !stored[0].Existed || stored[0].ID != first {
			t.Errorf("%q: got %+v and %v, want the fact that is there", same, stored, err)
		}
	}
	different := []string{
		"ann likes tea, not coffee", "Ann likes tea not coffee", "Ann likes tea, not coffee?", "Ann likes tea, not coffee..", "“Ann likes tea, not coffee.”",
		"Polish", "polish", "5' long", "5\" long", "Ann likes tea, and coffee", "Ann likes C", "Ann likes C++", "Ann has 1.5 litres", "Ann has 15 litres", "?", "!", "Ann's", "Anns",
	}
	store(t, m, ann, different...)
	if got := list(t, m, memory.FactQuery{Reach: ann.Only(), Limit: -1}); len(got) != 1+len(different) {
		t.Errorf("there are %d facts: %q", len(got), got)
	}
	other := ann
	other.Agent = "helper"
	if stored, err := m.Store(t.Context(), other, memory.Fact{Content: "Ann likes tea, not coffee.", Trust: memory.Stated}); err != nil || stored[0].Existed {
		t.Errorf("in another scope: %+v, %v", stored, err)
	}
	if stored, err := m.Store(t.Context(), ann, memory.Fact{Kind: memory.Preference, Content: "Ann likes tea, not coffee.", Trust: memory.Stated}); err != nil || stored[0].Existed {
		t.Errorf("of another kind: %+v, %v", stored, err)
	}
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
				if _, err := m.Store(t.Context(), ann, memory.Fact{Content: content, Trust: memory.Stated}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if got := list(t, m, memory.FactQuery{Reach: ann.Only(), Limit: -1}); len(got) != 50 {
		t.Errorf("there are %d facts", len(got))
	}
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
			if !errors.Is(err, memory.ErrInvalid) || !strings.Contains(err.Error(), test.says) {
				t.Errorf("got %v, want an ErrInvalid that says %q", err, test.says)
			}
			if got := list(t, m, memory.FactQuery{Reach: ann.Only()}); len(got) > 0 {
				t.Errorf("stored %q", got)
			}
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
		if err != nil || now.Existed {
			t.Fatal(now, err)
		}
		text := "where does Ann live?"
		if got := recall(t, m, memory.Recall{Query: memory.FactQuery{Reach: ann.Only()}, Text: text}); len(got) != 1 || got[0] != "Ann lives in Oslo" {
			t.Errorf("now: %q", got)
		}
		if got := recall(t, m, memory.Recall{Query: memory.FactQuery{Reach: ann.Only(), AsOf: then}, Text: text}); len(got) != 1 || got[0] != "Ann lives in Athens" {
			t.Errorf("then: %q", got)
		}
		f, err := m.Get(t.Context(), ann, old)
		if err != nil || f.SupersededBy != now.ID || f.ValidTo.IsZero() || f.Version != 2 {
			t.Errorf("got %+v and %v", f, err)
		}
		if _, err := m.Supersede(t.Context(), ann, memory.Fact{Content: "Ann lives in Rome", Trust: memory.Stated}, old); !errors.Is(err, memory.ErrConflict) {
			t.Errorf("superseded twice: %v", err)
		}
		if got := list(t, m, memory.FactQuery{Reach: ann.Only()}); len(got) != 1 {
			t.Errorf("a conflict left %q", got)
		}
		// The fact that was so once can be so again.
		if stored, err := m.Supersede(t.Context(), ann, memory.Fact{Content: "Ann lives in Athens", Trust: memory.Stated}, now.ID); err != nil || stored.Existed || stored.ID == old {
			t.Errorf("got %+v and %v", stored, err)
		}
	})
}

func TestUpdateCloseDelete(t *testing.T) {
	t.Parallel()
	m := newMemory(t, memory.Options{})
	ids := store(t, m, ann, "Ann has a dog", "Ann has a cat")
	f, err := m.Get(t.Context(), ann, ids[0])
	if err != nil || f.Version != 1 || f.Kind != memory.Plain || f.Importance != 0.5 || f.Scope != ann {
		t.Fatalf("got %+v and %v", f, err)
	}
	edit := memory.Edit{Content: "Ann has a dog called Rex", Importance: 0.9, Version: f.Version}
	if err := m.Update(t.Context(), ann, f.ID, edit); err != nil {
		t.Fatal(err)
	}
	if err := m.Update(t.Context(), ann, f.ID, edit); !errors.Is(err, memory.ErrConflict) {
		t.Errorf("an old version: %v", err)
	}
	if err := m.Update(t.Context(), ann, f.ID, memory.Edit{Content: "Ann has a cat."}); !errors.Is(err, memory.ErrConflict) {
		t.Errorf("what another fact says: %v", err)
	}
	if got := recall(t, m, memory.Recall{Query: memory.FactQuery{Reach: ann.Only()}, Text: "Rex"}); len(got) != 1 {
		t.Errorf("the new words are not found: %q", got)
	}
	if err := m.Close(t.Context(), ann, ids[1]); err != nil {
		t.Fatal(err)
	}
	if err := m.Delete(t.Context(), ann, ids[0], "0190b5e4-7c1a-7e2f-8a3b-000000000000"); !errors.Is(err, memory.ErrNotFound) {
		t.Errorf("got %v", err)
	}
	if err := m.Delete(t.Context(), memory.Scope{User: "bob"}, ids[0]); !errors.Is(err, memory.ErrNotFound) {
		t.Errorf("somebody else: %v", err)
	}
	if err := m.Delete(t.Context(), ann, ids[0]); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Get(t.Context(), ann, ids[0]); !errors.Is(err, memory.ErrNotFound) {
		t.Errorf("got %v", err)
	}
	var said []string
	for e, err := range m.History(t.Context(), ann, ids[0]) {
		if err != nil {
			t.Fatal(err)
		}
		said = append(said, fmt.Sprintf("%s: %s > %s", e.Kind, e.Before, e.After))
	}
	want := []string{"add:  > Ann has a dog", "update: Ann has a dog > Ann has a dog called Rex", "delete: Ann has a dog called Rex > "}
	if !slices.Equal(said, want) {
		t.Errorf("the history says %q", said)
	}
	if got := list(t, m, memory.FactQuery{Reach: ann.Only(), Closed: true}); !slices.Equal(got, []string{"Ann has a cat"}) {
		t.Errorf("left is %q", got)
	}
}

func TestExpiry(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newMemory(t, memory.Options{})
		if _, err := m.Store(t.Context(), ann, memory.Fact{Content: "away until noon", ExpiresAt: time.Now().Add(time.Hour), Trust: memory.Stated}, memory.Fact{Content: "stays", Trust: memory.Stated}); err != nil {
			t.Fatal(err)
		}
		if n, err := m.Sweep(t.Context()); n != 0 || err != nil {
			t.Errorf("swept %d, %v", n, err)
		}
		time.Sleep(time.Hour)
		if got := list(t, m, memory.FactQuery{Reach: ann.Only()}); !slices.Equal(got, []string{"stays"}) {
			t.Errorf("got %q", got)
		}
		if n, err := m.Sweep(t.Context()); n != 1 || err != nil {
			t.Errorf("swept %d, %v", n, err)
		}
		if got := list(t, m, memory.FactQuery{Reach: ann.Only(), Closed: true}); !slices.Equal(got, []string{"stays"}) {
			t.Errorf("got %q", got)
		}
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
	if n, err := m.Clear(t.Context(), memory.FactQuery{Reach: ann.Only(), Limit: 1500}); n != 1500 || err != nil {
		t.Errorf("cleared %d, %v", n, err)
	}
	if n, err := m.Clear(t.Context(), memory.FactQuery{Reach: ann.Only(), IDs: slices.Collect(ids(t, m))[:30]}); n != 30 || err != nil {
		t.Errorf("cleared %d, %v, want 30", n, err)
	}
	if n, err := m.Clear(t.Context(), memory.FactQuery{Reach: ann.Only(), Limit: -1}); n != 1470 || err != nil {
		t.Errorf("cleared %d, %v", n, err)
	}
	store(t, m, ann, slices.Collect(numbered(50))...)
	if n, err := m.Clear(t.Context(), memory.FactQuery{Reach: ann.Only()}); n != 50 || err != nil {
		t.Errorf("without a limit: cleared %d, %v, want all", n, err)
	}
	if _, err := m.Store(t.Context(), ann, make([]memory.Fact, memory.MaxBatch+1)...); !errors.Is(err, memory.ErrInvalid) {
		t.Errorf("got %v for too many at once", err)
	}
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
	if err := m.Close(t.Context(), ann, ids[1]); err != nil {
		t.Fatal(err)
	}
	gone := ann
	gone.Agent = "of deleted facts alone"
	if err := m.Delete(t.Context(), gone, store(t, m, gone, "Ann said something")...); err != nil {
		t.Fatal(err)
	}
	before := time.Now()
	if n, err := m.Forget(t.Context(), memory.Scope{Tenant: "acme", User: "ann"}); n.Facts != 3 || err != nil {
		t.Errorf("forgot %+v, %v", n, err)
	}
	if got := list(t, m, memory.FactQuery{Reach: memory.Reach{Scope: memory.Scope{Tenant: "acme"}, AnyAgent: true, AnyUser: true, AnyWorkspace: true}, Closed: true}); !slices.Equal(got, []string{"Bob is here"}) {
		t.Errorf("left is %q", got)
	}
	for e, err := range m.History(t.Context(), ann, ids[0]) {
		t.Errorf("there is a history left: %+v, %v", e, err)
	}
	late := memory.FactChange{Kind: memory.Add, Said: before, Record: memory.FactRecord{Fact: memory.Fact{Content: "Ann has a secret", Trust: memory.Stated}}}
	if _, err := m.Apply(t.Context(), agent, late); !errors.Is(err, memory.ErrForgotten) {
		t.Errorf("what comes late: %v", err)
	}
	if _, err := m.Apply(t.Context(), bob, late); err != nil {
		t.Errorf("for somebody else: %v", err)
	}
	store(t, m, ann, "Ann is new here")
	if _, err := m.Forget(t.Context(), memory.Scope{}); !errors.Is(err, memory.ErrInvalid) {
		t.Errorf("forgot everybody: %v", err)
	}
}

func TestReembed(t *testing.T) {
	t.Parallel()
	kept := inmemory.NewFacts(inmemory.Options{})
	words, err := memory.New(inmemory.Fill(driver.Stores{FactStore: kept}), memory.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var contents []string
	for i := range 250 {
		contents = append(contents, fmt.Sprintf("tea number %d", i))
	}
	store(t, words, ann, contents...)
	e := newConcepts()
	m, err := memory.New(inmemory.Fill(driver.Stores{FactStore: kept}), memory.Options{Embedder: e})
	if err != nil {
		t.Fatal(err)
	}
	if n, err := m.Reembed(t.Context(), memory.FactQuery{Reach: ann.Only(), Limit: 120}); n != 120 || err != nil {
		t.Errorf("%d vectors, %v", n, err)
	}
	e.fail.Store(true)
	if _, err := m.Reembed(t.Context(), memory.FactQuery{Reach: ann.Only(), Limit: -1}); !errors.Is(err, errDown) {
		t.Errorf("got %v", err)
	}
	e.fail.Store(false)
	if n, err := m.Reembed(t.Context(), memory.FactQuery{Reach: ann.Only(), Limit: -1}); n != 130 || err != nil {
		t.Errorf("%d vectors, %v", n, err)
	}
	if n, err := m.Reembed(t.Context(), memory.FactQuery{Reach: ann.Only(), Limit: -1}); n != 0 || err != nil {
		t.Errorf("%d vectors, %v", n, err)
	}
	if got := recall(t, m, memory.Recall{Query: memory.FactQuery{Reach: ann.Only(), Limit: 5}, Text: "a beverage"}); len(got) != 5 {
		t.Errorf("got %q", got)
	}
	if _, err := words.Reembed(t.Context(), memory.FactQuery{Reach: ann.Only()}); !errors.Is(err, memory.ErrInvalid) {
		t.Errorf("got %v without an embedder", err)
	}
	f, err := m.Get(t.Context(), ann, slices.Collect(ids(t, m))[0])
	if err != nil || f.Version != 1 {
		t.Errorf("a vector counts as a change: %+v, %v", f, err)
	}
}

func TestQuota(t *testing.T) {
	t.Parallel()
	m, err := memory.New(inmemory.New(inmemory.Options{MaxFacts: 2}), memory.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ids := store(t, m, ann, "one", "two")
	if _, err := m.Store(t.Context(), ann, memory.Fact{Content: "three", Trust: memory.Stated}); !errors.Is(err, memory.ErrQuota) {
		t.Errorf("got %v", err)
	}
	store(t, m, ann, "one.")
	if _, err := m.Supersede(t.Context(), ann, memory.Fact{Content: "three", Trust: memory.Stated}, ids[0]); err != nil {
		t.Errorf("in the place of another: %v", err)
	}
}

func TestSimilar(t *testing.T) {
	t.Parallel()
	m := newMemory(t, memory.Options{Embedder: newConcepts()})
	store(t, m, ann, "Ann drinks tea", "the car is red")
	near, err := m.Similar(t.Context(), memory.FactQuery{Reach: ann.Only(), Limit: 2}, "Ann  drinks tea.", "Ann drinks coffee", "The automobile is red")
	if err != nil || len(near) != 3 || len(near[0]) != 2 {
		t.Fatal(near, err)
	}
	if n := near[0][0]; !n.Same || n.Content != "Ann drinks tea" || n.Overlap != 1 {
		t.Errorf("got %+v", n)
	}
	if n := near[1][0]; n.Same || n.Content != "Ann drinks tea" || n.Cosine < 0.99 || n.Overlap == 1 || n.Overlap == 0 {
		t.Errorf("got %+v", n)
	}
	if n := near[2][0]; n.Content != "the car is red" || n.Cosine < 0.99 {
		t.Errorf("got %+v", n)
	}
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
		if _, err := memory.New(inmemory.Fill(driver.Stores{FactStore: kept}), o); !errors.Is(err, memory.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := memory.New(nil, memory.Options{}); !errors.Is(err, memory.ErrInvalid) {
		t.Errorf("no backend: %v", err)
	}
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
			if err != nil {
				tb.Fatal(err)
			}
			if !yield(f.ID) {
				return
			}
		}
	}
}
