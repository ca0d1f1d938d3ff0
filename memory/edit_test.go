package memory_test

import (
	"encoding/json"
	"fmt"
	"math"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

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
			require.NoError(t, err)
			before, err := m.Get(t.Context(), ann, stored[0].ID)
			require.NoError(t, err)
			calls := e.calls.Load()
			require.NoError(t, m.Update(t.Context(), ann, before.ID, c.edit))
			embedded := e.calls.Load() - calls
			require.LessOrEqual(t, embedded, int64(1))
			assert.Equal(t, (c.edit.Content != ""), (embedded == 1))
			got, err := m.Get(t.Context(), ann, before.ID)
			require.NoError(t, err)
			want := before
			c.want(&want)
			want.Version, want.UpdatedAt = 2, got.UpdatedAt
			assert.Equal(t, fmt.Sprintf("%+v", want), fmt.Sprintf("%+v", got))
			for e, err := range m.History(t.Context(), ann, before.ID) {
				require.NoError(t, err)
				assert.False(t, e.Kind == memory.Update && (e.Before != before.Content || e.After != got.Content || e.By != c.edit.Actor))
			}
			found, err := m.Recall(t.Context(), memory.Question{Reach: ann.Only(), Text: got.Content}, memory.FactFilter{Untrusted: true})
			require.NoError(t, err, "recall")
			require.Len(t, found, 1, "recall")
			require.NotEqual(t, 0, found[0].Score.Vector, "recall")
			assert.False(t, found[0].Score.Keyword == 0 && c.edit.Content != "x", "recall")
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
		err := m.Update(t.Context(), c.scope, c.id, c.edit)
		assert.ErrorIs(t, err, c.want, name)
	}
	f, err := m.Get(t.Context(), ann, id)
	require.NoError(t, err)
	require.Equal(t, "one", f.Content)
	assert.EqualValues(t, 1, f.Version)
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
				assert.NoError(t, m.Update(t.Context(), ann, id, e))
			})
		}
	}
	wg.Wait()
	f, err := m.Get(t.Context(), ann, id)
	require.NoError(t, err)
	require.EqualValues(t, 61, f.Version)
	require.Equal(t, 0.25, f.Importance)
	require.True(t, f.ExpiresAt.Equal(noon))
	assert.NotEqual(t, "one", f.Content)
}

// If a fact with an end is stored again without an end, it stays valid after the first
// end.
func TestStoredAgainForLonger(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newMemory(t, memory.Options{})
		soon, later := memory.Fact{Content: "the office is closed", Trust: memory.Stated}, memory.Fact{Content: "the lift works", Trust: memory.Stated}
		first, second := soon, later
		first.ExpiresAt, second.ValidFrom = time.Now().Add(time.Hour), time.Now().Add(time.Hour)
		for _, facts := range [][]memory.Fact{{first, second}, {soon, later}} {
			_, err := m.Store(t.Context(), ann, facts...)
			require.NoError(t, err)
		}
		time.Sleep(time.Minute)
		assert.Len(t, list(t, m, memory.FactQuery{Reach: ann.Only()}), 2)
		time.Sleep(2 * time.Hour)
		assert.Len(t, list(t, m, memory.FactQuery{Reach: ann.Only()}), 2, "later")
	})
}

func TestStoreTakenID(t *testing.T) {
	t.Parallel()
	m := newMemory(t, memory.Options{})
	id := store(t, m, ann, "one")[0]
	stored, err := m.Store(t.Context(), ann, memory.Fact{ID: id, Content: "one.", Trust: memory.Stated})
	require.NoError(t, err, "the same")
	assert.True(t, stored[0].Existed, "the same")
	_, err = m.Store(t.Context(), ann, memory.Fact{ID: id, Content: "two", Trust: memory.Stated})
	assert.ErrorIs(t, err, memory.ErrConflict, "another text")
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
	require.ErrorIs(t, err, memory.ErrInvalid)
	assert.ErrorContains(t, err, says)
}
