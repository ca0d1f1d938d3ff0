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
	"testing/synctest"
	"time"

	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/driver"
	"github.com/weft-go/weft/memory/inmemory"
)

func checkItems(tb testing.TB, got, want string) {
	tb.Helper()
	if got != want {
		tb.Errorf("got  %s\nwant %s", got, want)
	}
}

func put(tb testing.TB, n memory.Namespace, key, value string, o memory.PutOptions) memory.Item {
	tb.Helper()
	item, err := n.Put(tb.Context(), key, json.RawMessage(value), o)
	if err != nil {
		tb.Fatal(err)
	}
	return item
}

func listItems(tb testing.TB, n memory.Namespace, q memory.ValueQuery) string {
	tb.Helper()
	var keys []string
	for item, err := range n.List(tb.Context(), q) {
		if err != nil {
			tb.Fatal(err)
		}
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
	if err != nil || string(got.Value) != `{"x":1.50}` || got.Version != first.Version || !slices.Equal(got.Namespace, []string{"a.b", "c%_"}) {
		t.Errorf("got %+v and %v", got, err)
	}
	if got := put(t, n, "nil", "null", memory.PutOptions{}); string(got.Value) != "null" || !got.Known() {
		t.Errorf("got %+v", got)
	}
	if got, err := n.Put(ctx, "nil", nil, memory.PutOptions{}); err != nil || string(got.Value) != "null" {
		t.Errorf("got %+v and %v, want null", got, err)
	}
	if err := n.Delete(ctx, "k", first.Version+1); !errors.Is(err, memory.ErrConflict) {
		t.Errorf("another version: got %v", err)
	}
	for range 2 {
		if err := n.Delete(ctx, "k", 0); err != nil {
			t.Error(err)
		}
	}
	if err := n.Delete(ctx, "k", first.Version); !errors.Is(err, memory.ErrConflict) {
		t.Errorf("a version of what is gone: got %v", err)
	}
	for name, err := range map[string]error{
		"deleted": errorOf(n.Get(ctx, "k")), "another namespace": errorOf(n.In("d").Get(ctx, "nil")),
		"another scope": errorOf(newValues(memory.ValueOptions{}).In(memory.Scope{}, "a.b", "c%_").Get(ctx, "nil")),
	} {
		if !errors.Is(err, memory.ErrNotFound) {
			t.Errorf("%s: got %v, want an ErrNotFound", name, err)
		}
	}
}

func TestTypedValues(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	n := newValues(memory.ValueOptions{}).In(lea, "typed")
	item, err := memory.PutValue(ctx, n, "k", theme{Dark: true}, memory.PutOptions{})
	if err != nil {
		t.Fatal(err)
	}
	got, version, err := memory.GetValue[theme](ctx, n, "k")
	if err != nil || !got.Dark || version != item.Version {
		t.Errorf("got %+v, %d and %v", got, version, err)
	}
	if got, _, err := memory.GetValue[int](ctx, n, "k"); err == nil || got != 0 {
		t.Errorf("another type: got %d and %v", got, err)
	}
	if _, err := memory.PutValue(ctx, n, "k", math.NaN(), memory.PutOptions{}); !errors.Is(err, memory.ErrInvalid) {
		t.Errorf("no JSON: got %v", err)
	}
	no := errors.New("no")
	if _, err := memory.UpdateValue(ctx, n, "k", memory.PutOptions{}, func(theme) (theme, error) { return theme{}, no }); !errors.Is(err, no) {
		t.Errorf("got %v", err)
	}
	if _, err := memory.UpdateValue(ctx, n, "k", memory.PutOptions{}, func(n int) (int, error) { return n, nil }); err == nil {
		t.Error("an update of another type succeeded")
	}
	if got, _, err := memory.GetValue[theme](ctx, n, "k"); err != nil || !got.Dark {
		t.Errorf("got %+v and %v", got, err)
	}
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
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if got, _, err := memory.GetValue[int](t.Context(), n, "k"); got != 200 || err != nil {
		t.Errorf("got %d and %v", got, err)
	}
}

// racing changes a value between each read and the write that follows.
type racing struct{ driver.ValueStore }

func (r racing) Apply(ctx context.Context, s memory.Scope, writes []driver.ValueWrite) ([]memory.Item, error) {
	return nil, memory.ErrConflict
}

func TestUpdateGivesUp(t *testing.T) {
	t.Parallel()
	m, err := memory.New(inmemory.Fill(driver.Stores{ValueStore: racing{inmemory.NewValues(inmemory.Options{})}}), memory.Options{})
	if err != nil {
		t.Fatal(err)
	}
	values := m.Values()
	calls := 0
	_, err = memory.UpdateValue(t.Context(), values.In(lea, "n"), "k", memory.PutOptions{}, func(n int) (int, error) { calls++; return n, nil })
	if !errors.Is(err, memory.ErrConflict) || calls != 100 {
		t.Errorf("got %v after %d calls", err, calls)
	}
}

func TestValuesExpire(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		m := newMemory(t, memory.Options{Values: memory.ValueOptions{TTL: 10 * time.Minute, Sliding: true, Index: [][]string{{}}}})
		values := m.Values()
		n := values.In(lea, "n")
		put(t, n, "read", `"word"`, memory.PutOptions{})
		put(t, n, "unread", `"other"`, memory.PutOptions{})
		put(t, n, "fixed", `"word"`, memory.PutOptions{TTL: 10 * time.Minute})
		put(t, n, "ever", `"word"`, memory.PutOptions{TTL: -1})
		put(t, n, "long", `"word"`, memory.PutOptions{TTL: time.Hour, Sliding: true})
		time.Sleep(6 * time.Minute)
		if item, err := n.Get(ctx, "read"); err != nil || time.Until(item.ExpiresAt).Round(time.Second) != 10*time.Minute {
			t.Errorf("got %+v and %v", item, err)
		}
		checkItems(t, listItems(t, n, memory.ValueQuery{Order: memory.ByKey, Peek: true}), "ever fixed long read unread")
		time.Sleep(6 * time.Minute)
		found, err := n.Search(ctx, memory.FindValues{Text: "word"})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range found {
			if f.Item.Key == "read" && time.Until(f.Item.ExpiresAt).Round(time.Second) != 10*time.Minute {
				t.Errorf("what was found does not live on: %+v", f)
			}
		}
		if len(found) != 3 {
			t.Errorf("found %d values: %+v", len(found), found)
		}
		if _, err := n.Get(ctx, "unread"); !errors.Is(err, memory.ErrNotFound) {
			t.Errorf("got %v", err)
		}
		time.Sleep(6 * time.Minute)
		checkItems(t, listItems(t, n, memory.ValueQuery{Order: memory.ByKey}), "ever long read")
		time.Sleep(6 * time.Minute)
		checkItems(t, listItems(t, n, memory.ValueQuery{Order: memory.ByKey, Peek: true}), "ever long read")
		if found, err := n.Search(ctx, memory.FindValues{Text: "word", Query: memory.ValueQuery{Peek: true}}); len(found) != 3 || err != nil {
			t.Errorf("got %d and %v", len(found), err)
		}
		time.Sleep(6 * time.Minute)
		checkItems(t, listItems(t, n, memory.ValueQuery{Order: memory.ByKey}), "ever long")
		if n, err := m.Sweep(ctx); n != 3 || err != nil {
			t.Errorf("swept %d, %v", n, err)
		}
		put(t, n, "fixed", `1`, memory.PutOptions{Version: memory.Absent})
		time.Sleep(24 * time.Hour)
		checkItems(t, listItems(t, n, memory.ValueQuery{}), "ever")
	})
}

func TestSweepMany(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newMemory(t, memory.Options{Values: memory.ValueOptions{TTL: time.Minute}})
		values := m.Values()
		for i := range 2500 {
			put(t, values.In(lea, fmt.Sprint("n", i%7)), fmt.Sprint(i), `1`, memory.PutOptions{})
		}
		time.Sleep(2 * time.Minute)
		if n, err := m.Sweep(t.Context()); n != 2500 || err != nil {
			t.Errorf("got %d and %v", n, err)
		}
	})
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
	if err != nil || done.Got[0].Known() || string(done.Got[1].Value) != "1" || done.Got[2].Version != old.Version || !done.Written[0].Known() || done.Written[1].Known() {
		t.Errorf("got %+v and %v", done, err)
	}
	checkItems(t, listItems(t, n, memory.ValueQuery{}), "new")
	_, err = values.Batch(ctx, lea, memory.Batch{Write: []memory.Entry{
		{Address: n.At("new"), Value: json.RawMessage(`3`)}, {Address: n.At("old"), PutOptions: memory.PutOptions{Version: old.Version}},
	}})
	if !errors.Is(err, memory.ErrConflict) {
		t.Errorf("got %v", err)
	}
	if got, _, err := memory.GetValue[int](ctx, n, "new"); got != 2 || err != nil {
		t.Errorf("a batch that was refused left %d, %v", got, err)
	}
	if done, err := values.Batch(ctx, lea, memory.Batch{}); err != nil || done.Got != nil || done.Written != nil {
		t.Errorf("nothing: got %+v and %v", done, err)
	}
}

// meaning is an embedder that gives some different words the same vector.
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
	search := func(n memory.Namespace, f memory.FindValues) string {
		t.Helper()
		found, err := n.Search(t.Context(), f)
		if err != nil {
			t.Fatal(err)
		}
		var keys []string
		for _, one := range found {
			keys = append(keys, one.Item.Key)
			if s := one.Score; math.Abs(s.Total-s.Keyword-s.Vector) > 1e-9 || s.Total > 1 {
				t.Errorf("got the score %+v", s)
			}
		}
		return strings.Join(keys, " ")
	}
	one := memory.ValueQuery{Limit: 1}
	checkItems(t, search(n, memory.FindValues{Text: "a beverage", Query: one}), "tea")
	checkItems(t, search(n, memory.FindValues{Text: "automobile", Query: one}), "car")
	checkItems(t, search(n, memory.FindValues{Text: "boat", Query: one}), "ferry")
	checkItems(t, search(n, memory.FindValues{Text: "17", Query: one}), "number")
	checkItems(t, search(n.In("deep"), memory.FindValues{Text: "tea"}), "ferry")
	checkItems(t, search(n, memory.FindValues{Text: "tea", Query: memory.ValueQuery{Own: true, KeyPrefix: "c"}}), "car")
	checkItems(t, search(n, memory.FindValues{Text: "", Query: memory.ValueQuery{Limit: 2}}), "number hidden")
	all := strings.Fields(search(n, memory.FindValues{Text: "tea", Query: memory.ValueQuery{Limit: -1}}))
	checkItems(t, all[0], "tea")
	checkItems(t, fmt.Sprint(slices.Sorted(slices.Values(all))), "[car ferry number tea]")
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
		if _, err := n.Put(ctx, "k", json.RawMessage(`"tea"`), memory.PutOptions{}); !errors.Is(err, test.want) {
			t.Errorf("%s: put: got %v", name, err)
		}
		if _, err := n.Search(ctx, memory.FindValues{Text: "tea"}); !errors.Is(err, test.want) {
			t.Errorf("%s: search: got %v", name, err)
		}
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
		"search an empty label":  errorOf(n.In("").Search(ctx, memory.FindValues{Text: "x"})),
		"search too many":        errorOf(n.Search(ctx, memory.FindValues{Text: "x", Query: memory.ValueQuery{Limit: 1001}})),
		"namespaces depth":       named(n, memory.NamespaceQuery{MaxDepth: -1}),
		"namespaces long label":  named(n, memory.NamespaceQuery{Suffix: []string{long}}),
		"namespaces many labels": named(n, memory.NamespaceQuery{Prefix: make([]string, 17)}),
		"namespaces after":       named(n, memory.NamespaceQuery{After: []string{""}}),
		"forget a scope":         errorOf(values.Forget(ctx, memory.Scope{User: "\xff"})),
	} {
		if !errors.Is(err, memory.ErrInvalid) || !strings.HasPrefix(err.Error(), "values: ") && !strings.HasPrefix(err.Error(), "memory: new: ") {
			t.Errorf("%s: got %v, want an ErrInvalid", name, err)
		}
	}
	checkItems(t, listItems(t, values.In(lea), memory.ValueQuery{}), "")
	checkItems(t, fmt.Sprint(memory.Newest, memory.ByKey, memory.Order(7)), "newest by key Order(7)")
}

func TestQuotaOfValues(t *testing.T) {
	t.Parallel()
	m, err := memory.New(inmemory.New(inmemory.Options{MaxValues: 2}), memory.Options{})
	if err != nil {
		t.Fatal(err)
	}
	values := m.Values()
	n := values.In(lea, "n")
	put(t, n, "1", `1`, memory.PutOptions{})
	put(t, n, "2", `1`, memory.PutOptions{})
	if _, err := n.Put(t.Context(), "3", json.RawMessage(`1`), memory.PutOptions{}); !errors.Is(err, memory.ErrQuota) {
		t.Errorf("got %v", err)
	}
	put(t, n, "2", `2`, memory.PutOptions{})
	checkItems(t, listItems(t, n, memory.ValueQuery{}), "2 1")
}

// brokenValues is a store of values whose every call fails with errStoreDown.
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
	if err != nil {
		t.Fatal(err)
	}
	values := m.Values()
	n := values.In(lea, "n")
	var listed, named error
	for _, listed = range n.List(ctx, memory.ValueQuery{}) {
	}
	for _, named = range n.Namespaces(ctx, memory.NamespaceQuery{}) {
	}
	for name, err := range map[string]error{
		"put": errorOf(n.Put(ctx, "k", json.RawMessage(`1`), memory.PutOptions{})), "get": errorOf(n.Get(ctx, "k")), "delete": n.Delete(ctx, "k", 0),
		"list": listed, "namespaces": named, "search": errorOf(n.Search(ctx, memory.FindValues{Text: "x"})), "forget": errorOf(values.Forget(ctx, lea)),
		"batch": errorOf(values.Batch(ctx, lea, memory.Batch{Get: []memory.Address{n.At("k")}})),
	} {
		if !errors.Is(err, errStoreDown) || !strings.HasPrefix(err.Error(), "values: "+name+": ") {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if _, err := n.Search(ctx, memory.FindValues{}); !errors.Is(err, errStoreDown) {
		t.Errorf("the newest: got %v", err)
	}
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
			if err != nil {
				t.Fatal(err)
			}
			want[fmt.Sprintf("%q", n.Labels())] = fmt.Sprint(i)
		}
		for _, n := range spaces {
			value, ok := want[fmt.Sprintf("%q", n.Labels())]
			item, err := n.Get(ctx, key)
			if ok != (err == nil) || ok && string(item.Value) != value {
				t.Fatalf("%q: got %s and %v, want %s", n.Labels(), item.Value, err, value)
			}
		}
		n := 0
		for labels, err := range values.In(lea).Namespaces(ctx, memory.NamespaceQuery{}) {
			if err != nil || want[fmt.Sprintf("%q", labels)] == "" {
				t.Fatalf("got the namespace %q and %v", labels, err)
			}
			n++
		}
		if n != len(want) {
			t.Fatalf("got %d namespaces want %d", n, len(want))
		}
	})
}
