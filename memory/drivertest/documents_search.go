package drivertest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/weft-go/weft/memory/driver"
)

var passageCases = []documentCase{
	{"search/words", "a chunk is a candidate by words if it has at least one of them", func(k *documentKit) {
		k.add(acme, "a", "tea with milk", "tea", "coffee with milk", "teapot")
		q := driver.SourceQuery{Reach: acme.Only()}
		k.wantFound(driver.ChunkSearch{Query: q, Terms: []string{"tea"}, Limit: 9}, "tea", "tea with milk")
		k.wantFound(driver.ChunkSearch{Query: q, Terms: []string{"tea", "coffee", "rum"}, Limit: 9}, "tea", "tea with milk", "coffee with milk")
		k.wantFound(driver.ChunkSearch{Query: q, Terms: []string{"te", "TEA", "tea with", "*", ""}, Limit: 9})
		k.wantFound(driver.ChunkSearch{Query: q, Limit: 9})
	}},
	{"search/terms", "terms are compared exactly, whatever their characters", func(k *documentKit) {
		terms := []string{
			"c++", "c#", "c", ".net", "v1.2.3", "foo_bar", "foo", "a-b", "a'b", `a"b`, "a*", "a", "é", "e", "日本", "日", "🙂", "and", "or", "not", "NEAR(", "terms:a",
			"1", "01", "%", "_", "^a", "{a}", "a:b", "--", strings.Repeat("x", 64), strings.Repeat("x", 63), "@", "#1", "a&b", "a|b", "!a", "<->", `\`, `a\`,
		}
		var list []driver.ChunkRecord
		for i, term := range terms {
			r := passage("a", fmt.Sprint("chunk ", i), i)
			r.Terms = []string{term, "padding"}
			list = append(list, r)
		}
		k.swap(acme, swap(k.source("a"), list...))
		for i, term := range terms {
			c := k.wantFound(driver.ChunkSearch{Query: driver.SourceQuery{Reach: acme.Only()}, Terms: []string{term}, Limit: 99}, fmt.Sprint("chunk ", i))
			if c.Frequency[0] != 1 {
				k.Errorf("term %q: got frequency %d want 1", term, c.Frequency[0])
			}
		}
	}},
	{"search/whole", "candidates are complete, with terms, vectors and sources, each once", func(k *documentKit) {
		r := vector(passage("a", "tea with milk and tea", 0), "m", 1, 2)
		k.swap(acme, swap(k.source("a"), r, passage("a", "rum", 1)))
		c := k.wantFound(driver.ChunkSearch{Query: driver.SourceQuery{Reach: acme.Only()}, Terms: []string{"tea", "milk"}, Embedding: []float32{1, 2}, Model: "m", Limit: 5}, "tea with milk and tea")
		s := k.get(acme, "a")
		r.Source = s.ID
		if got, want := fmt.Sprintf("%+v", c.Records[0]), fmt.Sprintf("%+v", r); got != want {
			k.Errorf("got\n%s\nwant\n%s", got, want)
		}
		if got, want := fmt.Sprintf("%+v", c.Sources[0]), fmt.Sprintf("%+v", s); got != want {
			k.Errorf("got\n%s\nwant\n%s", got, want)
		}
	}},
	{"search/statistics", "the counts of chunks, terms and frequencies cover exactly the selected sources", func(k *documentKit) {
		words := []string{"alpha", "beta", "gamma", "delta", "epsilon"}
		r := rand.New(rand.NewPCG(1, 2))
		type counted struct {
			source driver.Source
			chunks [][]string
		}
		var all []counted
		for i := range 60 {
			s := k.source(fmt.Sprintf("%c/%d", 'a'+i%3, i))
			s.Trust = driver.Trust(r.IntN(3))
			s.Metadata = []byte(fmt.Sprintf(`{"n":%d}`, r.IntN(4)))
			s.Scope = driver.Scope{Tenant: "acme", User: []string{"", "u"}[r.IntN(2)]}
			x := counted{source: s}
			var list []driver.ChunkRecord
			for n := range r.IntN(6) {
				var text []string
				for range 1 + r.IntN(9) {
					text = append(text, words[r.IntN(len(words))])
				}
				x.chunks = append(x.chunks, text)
				p := passage(s.URI, fmt.Sprint(n, " ", strings.Join(text, " ")), n)
				p.Terms = text
				list = append(list, p)
			}
			k.swap(s.Scope, swap(s, list...))
			all = append(all, x)
		}
		gone := driver.SourceQuery{Reach: acme.Only(), Prefix: "a/1"}
		k.delete(gone)
		for _, q := range []driver.SourceQuery{
			{Reach: acme.Only()},
			{Reach: driver.Reach{Scope: acme, AnyUser: true}},
			{Reach: driver.Reach{Scope: driver.Scope{Tenant: "acme", User: "u"}, Inherit: true}},
			{Reach: acme.Only(), Prefix: "b/"},
			{Reach: acme.Only(), Trusted: true},
			{Reach: driver.Reach{Scope: acme, AnyUser: true}, Where: []driver.Condition{driver.Where("n", driver.Less, 2)}},
			{Reach: other.Only()},
		} {
			var chunks, terms int64
			frequency := make([]int64, len(words))
			for _, x := range all {
				if !q.Match(&x.source) || gone.Match(&x.source) {
					continue
				}
				for _, text := range x.chunks {
					chunks++
					terms += int64(len(text))
					for i, word := range words {
						if slices.Contains(text, word) {
							frequency[i]++
						}
					}
				}
			}
			c := k.search(driver.ChunkSearch{Query: q, Terms: words, Limit: 1000})
			if c.Chunks != chunks || c.Terms != terms || !slices.Equal(c.Frequency, frequency) || int64(len(c.Records)) != chunks {
				k.Errorf("search %+v: got %d chunks, %d terms, frequency %d and %d candidates want %d, %d, %d", q, c.Chunks, c.Terms, c.Frequency, len(c.Records), chunks, terms, frequency)
			}
		}
	}},
	{"search/limit", "the search by words and the search by vectors each return the best chunks, up to the limit", func(k *documentKit) {
		var list []driver.ChunkRecord
		for i := range 50 {
			text := "padding " + strings.Repeat("filler ", i)
			if i < 30 {
				text = "word " + text
			}
			list = append(list, vector(passage("a", fmt.Sprint(i, " ", text), i), "m", 1, float32(i)))
		}
		list = append(list, passage("a", "rare word", 50))
		k.swap(acme, swap(k.source("a"), list...))
		q := driver.SourceQuery{Reach: acme.Only()}
		if c := k.search(driver.ChunkSearch{Query: q, Terms: []string{"word"}, Limit: 10}); len(c.Records) != 10 || c.Frequency[0] != 31 {
			k.Errorf("got %d candidates of %d want 10 of 31", len(c.Records), c.Frequency[0])
		}
		if c := k.search(driver.ChunkSearch{Query: q, Terms: []string{"word"}, Limit: 99}); len(c.Records) != 31 {
			k.Errorf("got %d candidates want 31", len(c.Records))
		}
		if c := k.search(driver.ChunkSearch{Query: q, Terms: []string{"word", "rare"}, Limit: 1}); len(c.Records) != 1 || c.Records[0].Content != "rare word" {
			k.Errorf("the best: got %+v want the rare word", c.Records)
		}
		c := k.search(driver.ChunkSearch{Query: q, Embedding: []float32{1, 0}, Model: "m", Limit: 3})
		got := []int{}
		for _, r := range c.Records {
			got = append(got, r.Ordinal)
		}
		if slices.Sort(got); !slices.Equal(got, []int{0, 1, 2}) {
			k.Errorf("the nearest: got %d want 0, 1, 2", got)
		}
		if c := k.search(driver.ChunkSearch{Query: q, Embedding: []float32{1, 0}, Model: "m", Limit: 99}); len(c.Records) != 50 {
			k.Errorf("got %d candidates want all 50 that have a vector", len(c.Records))
		}
	}},
	{"search/models", "vectors of different models are never compared", func(k *documentKit) {
		k.swap(acme, swap(k.source("a"),
			vector(passage("a", "first", 0), "m", 1, 0), vector(passage("a", "second", 1), "n", 1, 0), vector(passage("a", "third", 2), "o", 1, 0, 0), passage("a", "fourth", 3)))
		q := driver.SourceQuery{Reach: acme.Only()}
		k.wantFound(driver.ChunkSearch{Query: q, Embedding: []float32{0, 1}, Model: "m", Limit: 9}, "first")
		k.wantFound(driver.ChunkSearch{Query: q, Embedding: []float32{0, 1}, Model: "n", Limit: 9}, "second")
		k.wantFound(driver.ChunkSearch{Query: q, Embedding: []float32{0, 1, 1}, Model: "o", Limit: 9}, "third")
		k.wantFound(driver.ChunkSearch{Query: q, Embedding: []float32{0, 1}, Model: "none", Limit: 9})
		k.wantFound(driver.ChunkSearch{Query: q, Embedding: []float32{0, 1}, Model: "m", Terms: []string{"fourth"}, Limit: 9}, "first", "fourth")
	}},
	{"search/foreign", "no chunk of another scope is found or counted", func(k *documentKit) {
		k.swap(acme, swap(k.source("a"), vector(passage("a", "secret", 0), "m", 1)))
		for _, s := range []driver.Scope{{}, other, {Tenant: "ACME"}, {Tenant: "acme", User: "u"}, {Tenant: "acme", Workspace: "w"}, {Tenant: "acme", Agent: "a"}, {Workspace: "acme"}} {
			c := k.wantFound(driver.ChunkSearch{Query: driver.SourceQuery{Reach: s.Only()}, Terms: []string{"secret"}, Embedding: []float32{1}, Model: "m", Limit: 9})
			if c.Chunks != 0 || c.Terms != 0 || c.Frequency[0] != 0 {
				k.Errorf("%s: got %d chunks, %d terms, frequency %d want none", s, c.Chunks, c.Terms, c.Frequency)
			}
		}
	}},
}

var removalCases = []documentCase{
	{"delete/query", "Delete removes exactly the selected sources with their chunks, and returns their number", func(k *documentKit) {
		for _, uri := range []string{"a/1", "a/2", "b/1", "b/2", "c"} {
			k.add(acme, uri, "text of "+uri)
		}
		k.add(other, "a/1", "text of other")
		gone := k.get(acme, "a/1")
		if n := k.delete(driver.SourceQuery{Reach: acme.Only(), Prefix: "a/"}); n != 2 {
			k.Errorf("got %d want 2", n)
		}
		if n := k.delete(driver.SourceQuery{Reach: acme.Only(), URIs: []string{"c", "none", "a/1"}}); n != 1 {
			k.Errorf("got %d want 1", n)
		}
		k.wantURIs(driver.SourceQuery{Reach: acme.Only()}, "b/1", "b/2")
		k.wantURIs(driver.SourceQuery{Reach: other.Only()}, "a/1")
		k.wantContents(k.chunks(whole(gone)))
		c := k.wantFound(driver.ChunkSearch{Query: driver.SourceQuery{Reach: acme.Only()}, Terms: []string{"text"}, Limit: 9}, "text of b/1", "text of b/2")
		if c.Chunks != 2 || c.Frequency[0] != 2 || c.Terms != 6 {
			k.Errorf("got %d chunks, frequency %d, %d terms want 2, 2, 6", c.Chunks, c.Frequency, c.Terms)
		}
		if n := k.delete(driver.SourceQuery{Reach: acme.Only(), Trusted: true, Where: []driver.Condition{driver.Where("n", driver.Equal, 1)}}); n != 2 {
			k.Errorf("got %d want 2", n)
		}
		k.wantURIs(driver.SourceQuery{Reach: acme.Only()})
	}},
	{"delete/anew", "a deleted source can be stored again, as a new one", func(k *documentKit) {
		first := k.add(acme, "a", "one")
		k.delete(driver.SourceQuery{Reach: acme.Only()})
		second := k.add(acme, "a", "one")
		if second.ID == first.ID || second.Revision != 1 {
			k.Errorf("got id %s, revision %d after id %s", second.ID, second.Revision, first.ID)
		}
		k.wantChunks(second, passages("a", "one")...)
	}},
	{"delete/everywhere", "a query that reaches a whole tenant removes all of it", func(k *documentKit) {
		for i, s := range []driver.Scope{acme, {Tenant: "acme", User: "u"}, {Tenant: "acme", Workspace: "w", Agent: "a"}} {
			k.swap(s, swap(k.source("a"), passage(fmt.Sprint(i), "text", 0)))
		}
		k.add(other, "b", "text")
		if n := k.delete(driver.SourceQuery{Reach: driver.Reach{Scope: acme, AnyWorkspace: true, AnyUser: true, AnyAgent: true}}); n != 3 {
			k.Errorf("got %d want 3", n)
		}
		k.wantURIs(driver.SourceQuery{Reach: other.Only()}, "b")
	}},
}
