package memory_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/driver"
	"github.com/weft-go/weft/memory/inmemory"
)

func newValues(o memory.ValueOptions) *memory.Values {
	m, err := memory.New(inmemory.New(inmemory.Options{}), memory.Options{Values: o})
	if err != nil {
		panic(err)
	}
	return m.Values()
}

func put(tb testing.TB, n memory.Namespace, key, value string, o memory.PutOptions) memory.Item {
	tb.Helper()
	item, err := n.Put(tb.Context(), key, json.RawMessage(value), o)
	require.NoError(tb, err)
	return item
}

func listItems(tb testing.TB, n memory.Namespace, q memory.ValueQuery) string {
	tb.Helper()
	var keys []string
	for item, err := range n.List(tb.Context(), q) {
		require.NoError(tb, err)
		keys = append(keys, item.Key)
	}
	return strings.Join(keys, " ")
}

func TestPutGetDelete(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	n := newValues(memory.ValueOptions{}).In(lea, "a.b", "c%_")
	first := put(t, n, "k", ` { "x" : 1.50 } `, memory.PutOptions{})
	got, err := n.Get(ctx, "k")
	require.NoError(t, err)
	require.Equal(t, `{"x":1.50}`, string(got.Value))
	require.Equal(t, first.Version, got.Version)
	assert.Equal(t, []string{"a.b", "c%_"}, got.Namespace)
	got = put(t, n, "nil", "null", memory.PutOptions{})
	require.Equal(t, "null", string(got.Value))
	assert.True(t, got.Known())
	got, err = n.Put(ctx, "nil", nil, memory.PutOptions{})
	require.NoError(t, err)
	assert.Equal(t, "null", string(got.Value))
	assert.ErrorIs(t, n.Delete(ctx, "k", first.Version+1), memory.ErrConflict, "another version")
	for range 2 {
		assert.NoError(t, n.Delete(ctx, "k", 0))
	}
	assert.ErrorIs(t, n.Delete(ctx, "k", first.Version), memory.ErrConflict, "a version of what is gone")
	for name, err := range map[string]error{
		"deleted": errorOf(n.Get(ctx, "k")), "another namespace": errorOf(n.In("d").Get(ctx, "nil")),
		"another scope": errorOf(newValues(memory.ValueOptions{}).In(memory.Scope{}, "a.b", "c%_").Get(ctx, "nil")),
	} {
		assert.ErrorIs(t, err, memory.ErrNotFound, name)
	}
}

func TestTypedValues(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	n := newValues(memory.ValueOptions{}).In(lea, "typed")
	item, err := memory.PutValue(ctx, n, "k", theme{Dark: true}, memory.PutOptions{})
	require.NoError(t, err)
	got, version, err := memory.GetValue[theme](ctx, n, "k")
	require.NoError(t, err)
	require.True(t, got.Dark)
	assert.Equal(t, item.Version, version)
	number, _, err := memory.GetValue[int](ctx, n, "k")
	assert.Error(t, err, "another type")
	assert.Zero(t, number, "another type")
	_, err = memory.PutValue(ctx, n, "k", math.NaN(), memory.PutOptions{})
	assert.ErrorIs(t, err, memory.ErrInvalid, "no JSON")
	no := errors.New("no")
	_, err = memory.UpdateValue(ctx, n, "k", memory.PutOptions{}, func(theme) (theme, error) { return theme{}, no })
	assert.ErrorIs(t, err, no)
	_, err = memory.UpdateValue(ctx, n, "k", memory.PutOptions{}, func(n int) (int, error) { return n, nil })
	assert.Error(t, err, "an update of another type succeeded")
	got, _, err = memory.GetValue[theme](ctx, n, "k")
	require.NoError(t, err)
	assert.True(t, got.Dark)
}

// Concurrent updates of one value are all applied.
func TestValuesUpdateAtOnce(t *testing.T) {
	t.Parallel()
	n := newValues(memory.ValueOptions{}).In(lea, "counters")
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 25 {
				_, err := memory.UpdateValue(t.Context(), n, "k", memory.PutOptions{}, func(n int) (int, error) { return n + 1, nil })
				assert.NoError(t, err)
			}
		})
	}
	wg.Wait()
	got, _, err := memory.GetValue[int](t.Context(), n, "k")
	require.Equal(t, 200, got)
	assert.NoError(t, err)
}

// racing rejects each write, as if another program always changed the value after it was read.
type racing struct{ driver.ValueStore }

func (r racing) Apply(ctx context.Context, s memory.Scope, writes []driver.ValueWrite) ([]memory.Item, error) {
	return nil, memory.ErrConflict
}

func TestUpdateGivesUp(t *testing.T) {
	t.Parallel()
	m, err := memory.New(inmemory.Fill(driver.Stores{ValueStore: racing{inmemory.NewValues(inmemory.Options{})}}), memory.Options{})
	require.NoError(t, err)
	values := m.Values()
	calls := 0
	_, err = memory.UpdateValue(t.Context(), values.In(lea, "n"), "k", memory.PutOptions{}, func(n int) (int, error) { calls++; return n, nil })
	require.ErrorIs(t, err, memory.ErrConflict)
	assert.Equal(t, 100, calls)
}

func TestBatch(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	values := newValues(memory.ValueOptions{})
	n := values.In(lea, "n")
	old := put(t, n, "old", `1`, memory.PutOptions{})
	done, err := values.Batch(ctx, lea, memory.Batch{
		Get:   []memory.Address{n.At("new"), n.At("old"), n.At("old")},
		Write: []memory.Entry{{Address: n.At("new"), Value: json.RawMessage(`2`)}, {Address: n.At("old")}},
	})
	require.NoError(t, err)
	require.False(t, done.Got[0].Known())
	require.Equal(t, "1", string(done.Got[1].Value))
	require.Equal(t, old.Version, done.Got[2].Version)
	require.True(t, done.Written[0].Known())
	assert.False(t, done.Written[1].Known())
	assert.Equal(t, "new", listItems(t, n, memory.ValueQuery{}))
	_, err = values.Batch(ctx, lea, memory.Batch{Write: []memory.Entry{
		{Address: n.At("new"), Value: json.RawMessage(`3`)}, {Address: n.At("old"), PutOptions: memory.PutOptions{Version: old.Version}},
	}})
	assert.ErrorIs(t, err, memory.ErrConflict)
	got, _, err := memory.GetValue[int](ctx, n, "new")
	require.Equal(t, 2, got)
	assert.NoError(t, err)
	done, err = values.Batch(ctx, lea, memory.Batch{})
	require.NoError(t, err, "nothing")
	require.Nil(t, done.Got, "nothing")
	assert.Nil(t, done.Written, "nothing")
}

// meaning is an embedder that returns the same vector for words with a similar meaning.
type meaning struct {
	dimension int
	err       error
	size      int
}

func (m meaning) Model() string { return "meaning" }

func (m meaning) Dimension() int { return m.dimension }

func (m meaning) Embed(_ context.Context, texts []string) ([][]float32, error) {
	vectors := make([][]float32, len(texts))
	for i, text := range texts {
		vectors[i] = make([]float32, m.size)
		for j, words := range []string{"tea coffee drink beverage", "car automobile drive", "ferry boat ship"} {
			for word := range strings.FieldsSeq(words) {
				if strings.Contains(text, word) {
					vectors[i][j]++
				}
			}
		}
		vectors[i][m.size-1] += 0.01
	}
	return vectors, m.err
}

func TestValuesAreFound(t *testing.T) {
	t.Parallel()
	values := newMemory(t, memory.Options{Embedder: meaning{dimension: 4, size: 4}, Values: memory.ValueOptions{Index: [][]string{{}}}}).Values()
	n := values.In(lea, "notes")
	put(t, n, "tea", `{"a":{"b":["a cup of tea"]}}`, memory.PutOptions{})
	put(t, n, "car", `"a red car"`, memory.PutOptions{})
	put(t, n.In("deep"), "ferry", `{"title":"the ferry","body":"tea"}`, memory.PutOptions{Index: [][]string{{"title"}}})
	put(t, n, "hidden", `"tea and coffee"`, memory.PutOptions{NoIndex: true})
	put(t, n, "number", `[17,true,null,""]`, memory.PutOptions{})
	search := func(n memory.Namespace, q memory.Question, only ...memory.ValueFilter) string {
		t.Helper()
		found, err := n.Search(t.Context(), q, only...)
		require.NoError(t, err)
		var keys []string
		for _, one := range found {
			keys = append(keys, one.Item.Key)
			s := one.Score
			require.LessOrEqual(t, math.Abs(s.Total-s.Keyword-s.Vector), 1e-9)
			assert.LessOrEqual(t, s.Total, float64(1))
		}
		return strings.Join(keys, " ")
	}
	assert.Equal(t, "tea", search(n, memory.Question{Text: "a beverage", Limit: 1}))
	assert.Equal(t, "car", search(n, memory.Question{Text: "automobile", Limit: 1}))
	assert.Equal(t, "ferry", search(n, memory.Question{Text: "boat", Limit: 1}))
	assert.Equal(t, "number", search(n, memory.Question{Text: "17", Limit: 1}))
	assert.Equal(t, "ferry", search(n.In("deep"), memory.Question{Text: "tea"}))
	assert.Equal(t, "car", search(n, memory.Question{Text: "tea"}, memory.ValueFilter{Own: true, KeyPrefix: "c"}))
	assert.Equal(t, "number hidden", search(n, memory.Question{Text: "", Limit: 2}))
	all := strings.Fields(search(n, memory.Question{Text: "tea", Limit: 1000}))
	assert.Equal(t, "tea", all[0])
	assert.Equal(t, "[car ferry number tea]", fmt.Sprint(slices.Sorted(slices.Values(all))))
}

func TestEmbedderFails(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	down := errors.New("down")
	for name, test := range map[string]struct {
		embedder meaning
		want     error
	}{
		"it is down":      {meaning{4, down, 4}, down},
		"wrong dimension": {meaning{5, nil, 4}, memory.ErrDimension},
	} {
		n := newMemory(t, memory.Options{Embedder: test.embedder, Values: memory.ValueOptions{Index: [][]string{{}}}}).Values().In(lea, "n")
		_, err := n.Put(ctx, "k", json.RawMessage(`"tea"`), memory.PutOptions{})
		assert.ErrorIs(t, err, test.want, "%s: put", name)
		_, err = n.Search(ctx, memory.Question{Text: "tea"})
		assert.ErrorIs(t, err, test.want, "%s: search", name)
		put(t, n, "k", `"tea"`, memory.PutOptions{NoIndex: true})
	}
}

func TestValuesRefuse(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	values := newValues(memory.ValueOptions{})
	n := values.In(lea, "n")
	long := strings.Repeat("x", 513)
	one := json.RawMessage(`1`)
	putAt := func(n memory.Namespace, key string, value json.RawMessage, o memory.PutOptions) error {
		return errorOf(n.Put(ctx, key, value, o))
	}
	options := func(o memory.Options) error { return errorOf(memory.New(inmemory.New(inmemory.Options{}), o)) }
	listed := func(n memory.Namespace, q memory.ValueQuery) error {
		for _, err := range n.List(ctx, q) {
			return err
		}
		return nil
	}
	named := func(n memory.Namespace, q memory.NamespaceQuery) error {
		for _, err := range n.Namespaces(ctx, q) {
			return err
		}
		return nil
	}
	for name, err := range map[string]error{
		"no backend":             errorOf(memory.New(nil, memory.Options{})),
		"a negative TTL":         options(memory.Options{Values: memory.ValueOptions{TTL: -1}}),
		"weights":                options(memory.Options{Weights: memory.Weights{Vector: -1}}),
		"an embedder":            options(memory.Options{Embedder: meaning{dimension: 0, size: 4}}),
		"an index":               options(memory.Options{Values: memory.ValueOptions{Index: [][]string{make([]string, 9)}}}),
		"a large index":          options(memory.Options{Values: memory.ValueOptions{Index: make([][]string, 33)}}),
		"no labels":              putAt(values.In(lea), "k", one, memory.PutOptions{}),
		"an empty label":         putAt(n.In(""), "k", one, memory.PutOptions{}),
		"many labels":            putAt(n.In(strings.Split(strings.Repeat("a", 16), "")...), "k", one, memory.PutOptions{}),
		"a long label":           putAt(n.In(long), "k", one, memory.PutOptions{}),
		"long labels":            putAt(n.In(long[:512], long[:512]), "k", one, memory.PutOptions{}),
		"a label with a NUL":     putAt(n.In("a\x00b"), "k", one, memory.PutOptions{}),
		"a label not of UTF-8":   putAt(n.In("\xff"), "k", one, memory.PutOptions{}),
		"no key":                 putAt(n, "", one, memory.PutOptions{}),
		"a long key":             putAt(n, long, one, memory.PutOptions{}),
		"a scope":                putAt(values.In(memory.Scope{User: "\xff"}, "n"), "k", one, memory.PutOptions{}),
		"no JSON":                putAt(n, "k", json.RawMessage(`{`), memory.PutOptions{}),
		"a NUL":                  putAt(n, "k", json.RawMessage(`"\u0000"`), memory.PutOptions{}),
		"a large value":          putAt(n, "k", json.RawMessage(`"`+strings.Repeat("x", memory.MaxValue)+`"`), memory.PutOptions{}),
		"a version":              putAt(n, "k", one, memory.PutOptions{Version: -2}),
		"an index of the value":  putAt(n, "k", one, memory.PutOptions{Index: [][]string{{"\xff"}}}),
		"get without a key":      errorOf(n.Get(ctx, "")),
		"delete without a key":   n.Delete(ctx, "", 0),
		"a large batch":          errorOf(values.Batch(ctx, lea, memory.Batch{Get: make([]memory.Address, 1001)})),
		"list another order":     listed(n, memory.ValueQuery{Order: 7}),
		"list a condition":       listed(n, memory.ValueQuery{Where: []memory.Condition{{}}}),
		"list many conditions":   listed(n, memory.ValueQuery{Where: slices.Repeat([]memory.Condition{memory.Where("a", memory.Exists, nil)}, 21)}),
		"list a prefix":          listed(n, memory.ValueQuery{KeyPrefix: "\x00"}),
		"list after nothing":     listed(n, memory.ValueQuery{After: &memory.Item{}}),
		"list an empty label":    listed(n.In(""), memory.ValueQuery{}),
		"search an empty label":  errorOf(n.In("").Search(ctx, memory.Question{Text: "x"})),
		"search too many":        errorOf(n.Search(ctx, memory.Question{Text: "x", Limit: 1001})),
		"namespaces depth":       named(n, memory.NamespaceQuery{MaxDepth: -1}),
		"namespaces long label":  named(n, memory.NamespaceQuery{Suffix: []string{long}}),
		"namespaces many labels": named(n, memory.NamespaceQuery{Prefix: make([]string, 17)}),
		"namespaces after":       named(n, memory.NamespaceQuery{After: []string{""}}),
		"forget a scope":         errorOf(values.Forget(ctx, memory.Scope{User: "\xff"})),
	} {
		require.ErrorIs(t, err, memory.ErrInvalid, name)
		assert.False(t, !strings.HasPrefix(err.Error(), "values: ") && !strings.HasPrefix(err.Error(), "memory: new: "), name)
	}
	assert.Equal(t, "", listItems(t, values.In(lea), memory.ValueQuery{}))
	assert.Equal(t, "newest by key Order(7)", fmt.Sprint(memory.Newest, memory.ByKey, memory.Order(7)))
}

func TestQuotaOfValues(t *testing.T) {
	t.Parallel()
	m, err := memory.New(inmemory.New(inmemory.Options{MaxValues: 2}), memory.Options{})
	require.NoError(t, err)
	values := m.Values()
	n := values.In(lea, "n")
	put(t, n, "1", `1`, memory.PutOptions{})
	put(t, n, "2", `1`, memory.PutOptions{})
	_, err = n.Put(t.Context(), "3", json.RawMessage(`1`), memory.PutOptions{})
	assert.ErrorIs(t, err, memory.ErrQuota)
	put(t, n, "2", `2`, memory.PutOptions{})
	assert.Equal(t, "2 1", listItems(t, n, memory.ValueQuery{}))
}

// brokenValues is a store of values in which every call fails with errStoreDown.
type brokenValues struct{ driver.ValueStore }

func (brokenValues) Apply(context.Context, memory.Scope, []driver.ValueWrite) ([]memory.Item, error) {
	return nil, errStoreDown
}

func (brokenValues) Find(context.Context, memory.Scope, driver.ValueSelection) iter.Seq2[memory.Item, error] {
	return func(yield func(memory.Item, error) bool) { yield(memory.Item{}, errStoreDown) }
}

func (brokenValues) Search(context.Context, memory.Scope, driver.ValueSearch) (driver.ValueCandidates, error) {
	return driver.ValueCandidates{}, errStoreDown
}

func (brokenValues) Namespaces(context.Context, memory.Scope, memory.NamespaceQuery) iter.Seq2[[]string, error] {
	return func(yield func([]string, error) bool) { yield(nil, errStoreDown) }
}

func (brokenValues) Forget(context.Context, memory.Scope) (int, error) { return 0, errStoreDown }

func (brokenValues) Sweep(context.Context, int) (int, error) { return 0, errStoreDown }

func TestValuesOfAFailingStore(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	m, err := memory.New(inmemory.Fill(driver.Stores{ValueStore: brokenValues{}}), memory.Options{})
	require.NoError(t, err)
	values := m.Values()
	n := values.In(lea, "n")
	var listed, named error
	for _, listed = range n.List(ctx, memory.ValueQuery{}) {
	}
	for _, named = range n.Namespaces(ctx, memory.NamespaceQuery{}) {
	}
	for name, err := range map[string]error{
		"put": errorOf(n.Put(ctx, "k", json.RawMessage(`1`), memory.PutOptions{})), "get": errorOf(n.Get(ctx, "k")), "delete": n.Delete(ctx, "k", 0),
		"list": listed, "namespaces": named, "search": errorOf(n.Search(ctx, memory.Question{Text: "x"})), "forget": errorOf(values.Forget(ctx, lea)),
		"batch": errorOf(values.Batch(ctx, lea, memory.Batch{Get: []memory.Address{n.At("k")}})),
	} {
		require.ErrorIs(t, err, errStoreDown)
		assert.True(t, strings.HasPrefix(err.Error(), "values: "+name+": "))
	}
	_, err = n.Search(ctx, memory.Question{})
	assert.ErrorIs(t, err, errStoreDown, "the newest")
}

// A value is found under its own namespace and key, and under no other.
func FuzzNamespaces(f *testing.F) {
	f.Add("a", "b", "c", "d", "e")
	f.Add("a.b", "c", "a", "b.c", "k")
	f.Add("a%", "_", "*", "'", "\\")
	f.Add("a\x00", "b", "", "\xff", "☀")
	f.Fuzz(func(t *testing.T, a, b, c, d, key string) {
		ctx := t.Context()
		values := newValues(memory.ValueOptions{})
		spaces := []memory.Namespace{values.In(lea, a, b), values.In(lea, c, d), values.In(lea, a), values.In(lea, a, b, c), values.In(lea, d+b)}
		want := map[string]string{}
		for i, n := range spaces {
			_, err := memory.PutValue(ctx, n, key, i, memory.PutOptions{})
			if errors.Is(err, memory.ErrInvalid) {
				continue
			}
			require.NoError(t, err)
			want[fmt.Sprintf("%q", n.Labels())] = fmt.Sprint(i)
		}
		for _, n := range spaces {
			value, ok := want[fmt.Sprintf("%q", n.Labels())]
			item, err := n.Get(ctx, key)
			require.Equal(t, err == nil, ok, "%q", n.Labels())
			require.False(t, ok && string(item.Value) != value, "%q: got %s and %v, want %s", n.Labels(), item.Value, err, value)
		}
		n := 0
		for labels, err := range values.In(lea).Namespaces(ctx, memory.NamespaceQuery{}) {
			require.NoError(t, err)
			require.NotEqual(t, "", want[fmt.Sprintf("%q", labels)])
			n++
		}
		require.Equal(t, len(want), n)
	})
}
