package drivertest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/weft-go/weft/memory/inmemory"

	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/driver"
	"github.com/weft-go/weft/memory/knowledge"
	"github.com/weft-go/weft/memory/knowledge/split"
)

// A lengthy embedder returns vectors of a given length under one model name. It gives "beverage" the
// vector of "tea", and "automobile" that of "car".
type lengthy int

func (lengthy) Model() string { return "m" }

func (l lengthy) Dimension() int { return int(l) }

var places = map[string]int{"tea": 1, "beverage": 1, "car": 2, "automobile": 2}

func (l lengthy) Embed(_ context.Context, texts []string) ([][]float32, error) {
	vectors := make([][]float32, len(texts))
	for i, text := range texts {
		v := make([]float32, l)
		v[0] = 0.01
		for word := range strings.FieldsSeq(strings.ToLower(text)) {
			if at, ok := places[strings.Trim(word, ".")]; ok {
				v[at] = 1
			}
		}
		vectors[i] = v
	}
	return vectors, nil
}

// The lengths of vectors before and after the change.
const long256, short64 lengthy = 256, 64

func (k *kit) memory(l lengthy) *memory.Memory {
	k.Helper()
	m, err := memory.New(inmemory.Fill(driver.Stores{FactStore: k.store}), memory.Options{Embedder: l})
	if err != nil {
		k.Fatal(err)
	}
	return m
}

func (k *kit) wantRecalled(m *memory.Memory, text string, want ...string) {
	k.Helper()
	found, err := m.Recall(k.ctx, memory.Question{Reach: ann.Only(), Text: text})
	var got []string
	for _, f := range found {
		if f.Score.BM25 > 0 || f.Score.Similarity > 0.1 {
			got = append(got, f.Item.Content)
		}
	}
	if err != nil || !slices.Equal(got, want) {
		k.Errorf("recall %q: got %q, %v want %q", text, got, err, want)
	}
}

var embedderCases = []factCase{
	{name: "embedder/dimension", promise: "with a Dimension, Without also selects the facts whose vector has another length", run: func(k *kit) {
		k.add(ann, "none")
		k.add(ann, "other", near("n", 1, 2))
		k.add(ann, "longer", near("m", 1, 2, 3))
		k.add(ann, "right", near("m", 1, 2))
		k.want(driver.FactQuery{Reach: ann.Only(), Without: "m"}, "other", "none")
		k.want(driver.FactQuery{Reach: ann.Only(), Without: "m", Dimension: 2}, "longer", "other", "none")
		k.want(driver.FactQuery{Reach: ann.Only(), Without: "m", Dimension: 3}, "right", "other", "none")
		k.want(driver.FactQuery{Reach: ann.Only(), Without: "n", Dimension: 1}, "right", "longer", "other", "none")
		k.want(driver.FactQuery{Reach: ann.Only(), Dimension: 3}, "right", "longer", "other", "none")
	}},
	{name: "embedder/shorter", promise: "facts with vectors of another length of the same model are all embedded again", run: func(k *kit) {
		before, after := k.memory(long256), k.memory(short64)
		facts := []driver.Fact{{Content: "She likes tea", Trust: driver.Stated}}
		for i := range 29 {
			facts = append(facts, driver.Fact{Content: fmt.Sprintf("Plain number %d", i), Trust: driver.Stated})
		}
		if _, err := before.Store(k.ctx, ann, facts...); err != nil {
			k.Fatal(err)
		}
		k.wantRecalled(before, "a beverage", "She likes tea")
		if _, err := after.Store(k.ctx, ann, driver.Fact{Content: "She has a red car", Trust: driver.Stated}); err != nil {
			k.Fatal(err)
		}
		k.wantRecalled(after, "a beverage")
		k.wantRecalled(after, "an automobile", "She has a red car")
		for _, want := range []int{30, 0} {
			if n, err := after.Reembed(k.ctx, driver.FactQuery{Reach: ann.Only()}); n != want || err != nil {
				k.Errorf("embedded %d, %v want %d", n, err, want)
			}
			k.wantRecalled(after, "a beverage", "She likes tea")
		}
		k.wantRecalled(before, "a beverage")
		if n, err := before.Reembed(k.ctx, driver.FactQuery{Reach: ann.Only(), Limit: 7}); n != 7 || err != nil {
			k.Errorf("embedded %d, %v want 7", n, err)
		}
	}},
	{name: "embedder/reindex", promise: "terms that do not belong to the content are made again, and the vector stays", run: func(k *kit) {
		m := k.memory(short64)
		if _, err := m.Store(k.ctx, ann, driver.Fact{Content: "Her dog plays", Trust: driver.Stated}, driver.Fact{Content: "Closed tea", Trust: driver.Stated}); err != nil {
			k.Fatal(err)
		}
		for r, err := range k.store.Find(k.ctx, driver.FactQuery{Reach: ann.Only()}) {
			if err != nil {
				k.Fatal(err)
			}
			r.Terms = []string{"as", "others", "have", "them"}
			k.apply(ann, driver.FactChange{Kind: driver.Embed, Record: r})
		}
		plain, err := memory.New(inmemory.Fill(driver.Stores{FactStore: k.store}), memory.Options{})
		if err != nil {
			k.Fatal(err)
		}
		k.wantRecalled(plain, "playing")
		for _, want := range []int{2, 0} {
			if n, err := plain.Reindex(k.ctx, driver.FactQuery{Reach: ann.Only()}); n != want || err != nil {
				k.Errorf("indexed %d, %v want %d", n, err, want)
			}
		}
		k.wantRecalled(plain, "playing", "Her dog plays")
		k.wantRecalled(m, "a beverage", "Closed tea")
	}},
	{name: "scopes/listed", promise: "a store yields the scopes of all tenants", run: func(k *kit) {
		var want []driver.Scope
		for i := range 300 {
			s := driver.Scope{Tenant: fmt.Sprint("t", i%3), User: fmt.Sprint("u", i)}
			k.add(s, "fact")
			want = append(want, s)
		}
		checkScopes(k.ctx, k, k.store, want)
	}},
}

// checkScopes requires that a store yields exactly the scopes want, each once.
func checkScopes(ctx context.Context, tb interface {
	Helper()
	Errorf(format string, args ...any)
}, store interface {
	Scopes(ctx context.Context) iter.Seq2[driver.Scope, error]
}, want []driver.Scope,
) {
	tb.Helper()
	seen := map[driver.Scope]int{}
	for s, err := range store.Scopes(ctx) {
		if errors.Is(err, driver.ErrDenied) { // the role may only see the scopes of one user
			return
		}
		if err != nil {
			tb.Errorf("scopes: %v", err)
		}
		seen[s]++
	}
	for _, s := range want {
		if seen[s] != 1 {
			tb.Errorf("scope %s came %d times", s, seen[s])
		}
	}
	if len(seen) != len(want) {
		tb.Errorf("got %d scopes want %d", len(seen), len(want))
	}
	stopped, cancel := context.WithCancel(ctx)
	cancel()
	err := error(nil)
	for _, err = range store.Scopes(stopped) {
		break
	}
	if err == nil {
		tb.Errorf("a cancelled context was ignored")
	}
}

func (k *documentKit) base(e memory.Embedder) *knowledge.Base {
	k.Helper()
	m, err := memory.New(inmemory.Fill(driver.Stores{DocumentStore: k.store}), memory.Options{})
	if err != nil {
		k.Fatal(err)
	}
	b, err := knowledge.New(m, knowledge.Options{Embedder: e, Splitter: split.Splitter{Size: split.MinSize}})
	if err != nil {
		k.Fatal(err)
	}
	return b
}

// paper returns a text of several parts, one of which varies.
func paper(third string) string {
	var b strings.Builder
	for _, part := range []string{"The first part says something of tea", "The second is about other things", third} {
		fmt.Fprintf(&b, "# %s\n\n%s.\n\n", part, strings.Repeat(part+". ", 8))
	}
	return b.String()
}

func (k *documentKit) ingest(b *knowledge.Base, uri, text string) knowledge.Report {
	k.Helper()
	total, troubles, err := knowledge.Collect(b.Ingest(k.ctx, acme, knowledge.Documents(knowledge.Document{URI: uri, Text: text}), knowledge.IngestOptions{}))
	if err != nil || len(troubles) > 0 {
		k.Fatalf("ingest: %v, %v", troubles, err)
	}
	return total
}

// wantLength requires that all chunks of a source have vectors of length want, and no chunk has a
// vector of another length.
func (k *documentKit) wantLength(uri string, want lengthy) {
	k.Helper()
	s := k.get(acme, uri)
	for _, l := range []lengthy{long256, short64} {
		v := make([]float32, l)
		v[0] = 1
		n := 0
		if l == want {
			n = s.Chunks
		}
		c := k.search(driver.ChunkSearch{Query: driver.SourceQuery{Reach: acme.Only(), URIs: []string{uri}}, Embedding: v, Model: "m", Limit: 1000})
		if len(c.Records) != n {
			k.Errorf("%s: %d of %d chunks have vectors of length %d, want %d", uri, len(c.Records), s.Chunks, l, n)
		}
	}
}

var lengthCases = []documentCase{
	{name: "embedder/shorter", promise: "after embedding again, no source has vectors of two lengths, and none has the old length", run: func(k *documentKit) {
		before, after := k.base(long256), k.base(short64)
		for _, uri := range []string{"changed", "same", "left", "words"} {
			k.ingest(before, uri, paper("The third is of cars"))
			k.wantLength(uri, long256)
		}
		if got := k.ingest(after, "changed", paper("The third has changed")); got.Updated != 1 || got.Embedded != got.Chunks {
			k.Errorf("changed: got %+v", got)
		}
		k.wantLength("changed", short64)
		if got := k.ingest(after, "same", paper("The third is of cars")); got.Updated != 1 || got.Embedded != got.Chunks {
			k.Errorf("same: got %+v", got)
		}
		k.wantLength("same", short64)
		if got := k.ingest(k.base(nil), "words", paper("The third has words alone")); got.Updated != 1 || got.Embedded != 0 {
			k.Errorf("words: got %+v", got)
		}
		for _, want := range []int{2, 0} {
			total, troubles, err := knowledge.Collect(after.Reembed(k.ctx, driver.SourceQuery{Reach: acme.Only()}))
			if err != nil || len(troubles) > 0 || total.Updated != want || total.Embedded != total.Chunks {
				k.Errorf("reembed: got %+v, %v, %v want %d", total, troubles, err, want)
			}
		}
		for _, uri := range []string{"changed", "same", "left", "words"} {
			k.wantLength(uri, short64)
		}
		if got := k.ingest(after, "left", paper("The third is of cars")); got.Unchanged != 1 {
			k.Errorf("left: got %+v", got)
		}
	}},
	{name: "embedder/same", promise: "unchanged chunks of a changed document keep their vectors of the same length", run: func(k *documentKit) {
		b := k.base(short64)
		k.ingest(b, "a", paper("The third is of cars"))
		if got := k.ingest(b, "a", paper("The third has changed")); got.Updated != 1 || got.Embedded == 0 || got.Embedded >= got.Chunks {
			k.Errorf("got %+v", got)
		}
		k.wantLength("a", short64)
		k.ingest(k.base(nil), "a", paper("The third is of neither")) // keeps vectors
		if got := k.ingest(b, "a", paper("The third is of neither")); got.Updated != 1 || got.Embedded == 0 || got.Embedded >= got.Chunks {
			k.Errorf("got %+v", got)
		}
		k.wantLength("a", short64)
	}},
	{name: "scopes/listed", promise: "a store yields the scopes of all tenants", run: func(k *documentKit) {
		want := []driver.Scope{acme, other, {Tenant: "acme", User: "ann"}, {User: "bob", Workspace: "w", Agent: "a"}}
		for _, s := range want {
			k.add(s, "one", "text")
			k.add(s, "two", "text")
		}
		checkScopes(k.ctx, k, k.store, want)
	}},
}

// values returns the values of the store. With an embedder, whole values are indexed.
func (k *valueKit) values(e memory.Embedder) *memory.Values {
	k.Helper()
	o := memory.Options{Embedder: e, Values: memory.ValueOptions{Index: [][]string{{}}}}
	m, err := memory.New(inmemory.Fill(driver.Stores{ValueStore: k.store}), o)
	if err != nil {
		k.Fatal(err)
	}
	return m.Values()
}

func (k *valueKit) wantMeant(n memory.Namespace, text string, want ...string) {
	k.Helper()
	found, err := n.Search(k.ctx, memory.Question{Text: text}, memory.ValueFilter{Peek: true})
	var got []string
	for _, f := range found {
		if f.Score.Vector > 0.1 || f.Score.Keyword > 0 {
			got = append(got, f.Item.Key)
		}
	}
	if err != nil || !slices.Equal(got, want) {
		k.Errorf("search %q: got %q, %v want %q", text, got, err, want)
	}
}

var valueEmbedderCases = []valueCase{
	{name: "embedder/without", promise: "Without selects the values that can be searched and have no vector of the model and length", run: func(k *valueKit) {
		with := func(w driver.ValueWrite, model string, v ...float32) driver.ValueWrite {
			w.Model, w.Embedding = model, v
			return w
		}
		k.apply(ann, putting("n/a", `1`), worded(putting("n/b", `1`), "word"), with(putting("n/c", `1`), "m", 1, 2, 3),
			with(worded(putting("n/d", `1`), "word"), "m", 1, 2), with(putting("n/e", `1`), "o", 1, 2), worded(putting("n/f/g", `1`), "word"))
		for _, test := range []struct {
			dimension int
			want      string
		}{{2, "[b c e]"}, {3, "[b d e]"}, {4, "[b c d e]"}} {
			var got []string
			for _, item := range k.find(ann, driver.ValueSelection{ValueQuery: driver.ValueQuery{Limit: -1, Order: driver.ByKey, Own: true}, Prefix: []string{"n"}, Without: "m", Dimension: test.dimension}) {
				got = append(got, item.Key)
			}
			if fmt.Sprint(got) != test.want {
				k.Errorf("length %d: got %q want %s", test.dimension, got, test.want)
			}
		}
	}},
	{name: "embedder/index", promise: "Index changes only terms and vectors, and only of values with the given version", run: func(k *valueKit) {
		items := k.apply(ann, worded(putting("n/a", `{"a":1}`), "old"), worded(putting("n/b", `2`), "old"))
		before := fmt.Sprint(k.find(ann, driver.ValueSelection{ValueQuery: driver.ValueQuery{Limit: -1}}))
		a, b := seen(items[0].Version, worded(putting("n/a", ""), "new words")), seen(items[1].Version+1000, worded(putting("n/b", ""), "new"))
		a.Embedding, a.Model = []float32{0, 1}, "m"
		gone := seen(items[0].Version, worded(putting("n/gone", ""), "new"))
		if n, err := k.store.Index(k.ctx, ann, []driver.ValueWrite{b, a, gone}); n != 1 || err != nil {
			k.Errorf("indexed %d, %v", n, err)
		}
		for _, s := range []driver.Scope{bob, {Tenant: "nobody"}} {
			if n, err := k.store.Index(k.ctx, s, []driver.ValueWrite{a}); n != 0 || err != nil {
				k.Errorf("of %s: indexed %d, %v", s, n, err)
			}
		}
		if after := fmt.Sprint(k.find(ann, driver.ValueSelection{ValueQuery: driver.ValueQuery{Limit: -1}})); after != before {
			k.Errorf("got %s want %s", after, before)
		}
		k.wantFound(driver.ValueSearch{Terms: []string{"new"}}, "n/a")
		k.wantFound(driver.ValueSearch{Terms: []string{"old"}}, "n/b")
		k.wantFound(driver.ValueSearch{Embedding: []float32{0, 1}, Model: "m"}, "n/a")
	}},
	{name: "embedder/shorter", promise: "values with vectors of another length of the same model are embedded again", run: func(k *valueKit) {
		before, after := k.values(long256).In(ann, "n"), k.values(short64).In(ann, "n")
		for i := range 150 {
			value := fmt.Sprintf(`{"text":"plain %d"}`, i)
			if i == 77 {
				value = `{"text":"some tea"}`
			}
			if _, err := before.Put(k.ctx, fmt.Sprint(i), []byte(value), memory.PutOptions{}); err != nil {
				k.Fatal(err)
			}
		}
		if _, err := before.Put(k.ctx, "hidden", []byte(`"tea"`), memory.PutOptions{NoIndex: true}); err != nil {
			k.Fatal(err)
		}
		k.wantMeant(before, "beverage", "77")
		k.wantMeant(after, "beverage")
		was, err := before.Get(k.ctx, "77")
		if err != nil {
			k.Fatal(err)
		}
		for _, want := range []int{150, 0} {
			if n, err := after.Reembed(k.ctx, driver.ValueQuery{}); n != want || err != nil {
				k.Errorf("embedded %d, %v want %d", n, err, want)
			}
		}
		k.wantMeant(after, "beverage", "77")
		k.wantMeant(before, "beverage")
		if is, err := after.Get(k.ctx, "77"); err != nil || fmt.Sprint(is) != fmt.Sprint(was) {
			k.Errorf("got %+v, %v want %+v", is, err, was)
		}
		if n, err := before.Reembed(k.ctx, driver.ValueQuery{Limit: 5}); n != 5 || err != nil {
			k.Errorf("embedded %d, %v want 5", n, err)
		}
	}},
	{name: "scopes/listed", promise: "a store yields the scopes of all tenants", run: func(k *valueKit) {
		want := []driver.Scope{ann, bob, {Tenant: "other"}, {User: "bob", Workspace: "w", Agent: "a"}}
		for _, s := range want {
			k.put(s, "n/a", `1`)
		}
		checkScopes(k.ctx, k, k.store, want)
	}},
}
