package memory_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weft-go/weft/memory"
)

var noon = time.Date(2999, 1, 1, 12, 0, 0, 0, time.UTC)

// An edit leaves the fields that it does not name unchanged.
func TestUpdateKeeps(t *testing.T) {
	t.Parallel()
	was := memory.Fact{
		Kind: memory.Preference, Content: "Ann likes tea", Metadata: json.RawMessage(`{"a":1}`), Importance: 0.9, Trust: memory.Untrusted, ExpiresAt: noon,
		Conversation: "c", Turn: 3,
	}
	for name, c := range map[string]struct {
		edit memory.Edit
		want func(f *memory.Fact)
	}{
		"nothing":       {memory.Edit{}, func(*memory.Fact) {}},
		"content":       {memory.Edit{Content: "Ann likes coffee"}, func(f *memory.Fact) { f.Content = "Ann likes coffee" }},
		"metadata":      {memory.Edit{Metadata: []byte(` {"b":2}`)}, func(f *memory.Fact) { f.Metadata = []byte(`{"b":2}`) }},
		"no metadata":   {memory.Edit{Metadata: []byte(`{}`)}, func(f *memory.Fact) { f.Metadata = []byte(`{}`) }},
		"importance":    {memory.Edit{Importance: 0.1}, func(f *memory.Fact) { f.Importance = 0.1 }},
		"trust":         {memory.Edit{Trust: new(memory.Stated)}, func(f *memory.Fact) { f.Trust = memory.Stated }},
		"expiry":        {memory.Edit{ExpiresAt: new(noon.Add(1500))}, func(f *memory.Fact) { f.ExpiresAt = noon.Add(1000) }},
		"no expiry":     {memory.Edit{ExpiresAt: new(time.Time{})}, func(f *memory.Fact) { f.ExpiresAt = time.Time{} }},
		"all by a name": {memory.Edit{Content: "x", Importance: 1, Actor: "me", Version: 1}, func(f *memory.Fact) { f.Content, f.Importance = "x", 1 }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newConcepts()
			m := newMemory(t, memory.Options{Embedder: e})
			stored, err := m.Store(t.Context(), ann, was)
			if err != nil {
				t.Fatal(err)
			}
			before, err := m.Get(t.Context(), ann, stored[0].ID)
			if err != nil {
				t.Fatal(err)
			}
			calls := e.calls.Load()
			if err := m.Update(t.Context(), ann, before.ID, c.edit); err != nil {
				t.Fatal(err)
			}
			if embedded := e.calls.Load() - calls; embedded > 1 || (embedded == 1) != (c.edit.Content != "") {
				t.Errorf("%d calls of the embedder", embedded)
			}
			got, err := m.Get(t.Context(), ann, before.ID)
			if err != nil {
				t.Fatal(err)
			}
			want := before
			c.want(&want)
			want.Version, want.UpdatedAt = 2, got.UpdatedAt
			if fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", want) {
				t.Errorf("got  %+v\nwant %+v", got, want)
			}
			for e, err := range m.History(t.Context(), ann, before.ID) {
				if err != nil || e.Kind == memory.Update && (e.Before != before.Content || e.After != got.Content || e.By != c.edit.Actor) {
					t.Errorf("got %+v, error %v", e, err)
				}
			}
			found, err := m.Recall(t.Context(), memory.Recall{Query: memory.FactQuery{Reach: ann.Only(), Untrusted: true}, Text: got.Content})
			if err != nil || len(found) != 1 || found[0].Score.Vector == 0 || found[0].Score.Keyword == 0 && c.edit.Content != "x" {
				t.Errorf("recall: got %+v, error %v", found, err)
			}
		})
	}
}

func TestUpdateRefused(t *testing.T) {
	t.Parallel()
	m := newMemory(t, memory.Options{})
	id := store(t, m, ann, "one")[0]
	for name, c := range map[string]struct {
		scope memory.Scope
		id    string
		edit  memory.Edit
		want  error
	}{
		"another scope":  {memory.Scope{User: "bob"}, id, memory.Edit{Content: "x"}, memory.ErrNotFound},
		"no id":          {ann, "1", memory.Edit{Content: "x"}, memory.ErrNotFound},
		"a wrong scope":  {memory.Scope{User: "\xff"}, id, memory.Edit{}, memory.ErrInvalid},
		"blank":          {ann, id, memory.Edit{Content: " "}, memory.ErrInvalid},
		"metadata":       {ann, id, memory.Edit{Metadata: []byte(`null`)}, memory.ErrInvalid},
		"importance":     {ann, id, memory.Edit{Importance: math.NaN()}, memory.ErrInvalid},
		"trust":          {ann, id, memory.Edit{Trust: new(memory.Trust(7))}, memory.ErrInvalid},
		"a time":         {ann, id, memory.Edit{ExpiresAt: new(time.Date(-5, 1, 1, 0, 0, 0, 0, time.UTC))}, memory.ErrInvalid},
		"an actor":       {ann, id, memory.Edit{Actor: "\x00"}, memory.ErrInvalid},
		"an old version": {ann, id, memory.Edit{Content: "x", Version: 2}, memory.ErrConflict},
	} {
		if err := m.Update(t.Context(), c.scope, c.id, c.edit); !errors.Is(err, c.want) {
			t.Errorf("%s: got %v, want %v", name, err, c.want)
		}
	}
	if f, err := m.Get(t.Context(), ann, id); err != nil || f.Content != "one" || f.Version != 1 {
		t.Errorf("got %+v, error %v", f, err)
	}
}

// Concurrent edits of different fields of a fact are all kept.
func TestUpdateAtOnce(t *testing.T) {
	t.Parallel()
	m := newMemory(t, memory.Options{})
	id := store(t, m, ann, "one")[0]
	var wg sync.WaitGroup
	for i := range 20 {
		for _, e := range []memory.Edit{{Content: fmt.Sprint("text ", i)}, {Importance: 0.25}, {ExpiresAt: &noon}} {
			wg.Go(func() {
				if err := m.Update(t.Context(), ann, id, e); err != nil {
					t.Error(err)
				}
			})
		}
	}
	wg.Wait()
	f, err := m.Get(t.Context(), ann, id)
	if err != nil || f.Version != 61 || f.Importance != 0.25 || !f.ExpiresAt.Equal(noon) || f.Content == "one" {
		t.Errorf("got %+v, error %v", f, err)
	}
}

// A fact with an end that is stored again without one stays valid after the first end.
func TestStoredAgainForLonger(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newMemory(t, memory.Options{})
		soon, later := memory.Fact{Content: "the office is closed", Trust: memory.Stated}, memory.Fact{Content: "the lift works", Trust: memory.Stated}
		first, second := soon, later
		first.ExpiresAt, second.ValidFrom = time.Now().Add(time.Hour), time.Now().Add(time.Hour)
		for _, facts := range [][]memory.Fact{{first, second}, {soon, later}} {
			if _, err := m.Store(t.Context(), ann, facts...); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Minute)
		if got := list(t, m, memory.FactQuery{Reach: ann.Only()}); len(got) != 2 {
			t.Errorf("got %q", got)
		}
		time.Sleep(2 * time.Hour)
		if got := list(t, m, memory.FactQuery{Reach: ann.Only()}); len(got) != 2 {
			t.Errorf("later: got %q", got)
		}
	})
}

func TestStoreTakenID(t *testing.T) {
	t.Parallel()
	m := newMemory(t, memory.Options{})
	id := store(t, m, ann, "one")[0]
	if stored, err := m.Store(t.Context(), ann, memory.Fact{ID: id, Content: "one.", Trust: memory.Stated}); err != nil || !stored[0].Existed {
		t.Errorf("the same: got %+v, %v", stored, err)
	}
	if _, err := m.Store(t.Context(), ann, memory.Fact{ID: id, Content: "two", Trust: memory.Stated}); !errors.Is(err, memory.ErrConflict) {
		t.Errorf("another text: got %v", err)
	}
}

func TestQueryRefused(t *testing.T) {
	t.Parallel()
	m := newMemory(t, memory.Options{})
	for want, q := range map[string]memory.FactQuery{
		"as of the year -9000":         {AsOf: time.Date(-9000, 1, 1, 0, 0, 0, 0, time.UTC)},
		"as of the year 12000":         {AsOf: time.Date(12000, 1, 1, 0, 0, 0, 0, time.UTC)},
		"json: unsupported value: NaN": {Where: []memory.Condition{memory.Where("n", memory.Less, math.NaN())}},
		"no value":                     {Where: []memory.Condition{{Path: []string{"n"}, Op: memory.Less}}},
	} {
		for _, err := range m.List(t.Context(), q) {
			wantInvalid(t, err, want)
		}
	}
}

func wantInvalid(t *testing.T, err error, says string) {
	t.Helper()
	if !errors.Is(err, memory.ErrInvalid) || !strings.Contains(err.Error(), says) {
		t.Errorf("got %v, want an ErrInvalid that says %q", err, says)
	}
}
