package drivertest

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/driver"
)

var searchCases = []factCase{
	{name: "search/words", promise: "a fact is a candidate by words if it has at least one of them", run: func(k *kit) {
		k.add(ann, "tea with milk")
		k.add(ann, "tea")
		k.add(ann, "coffee with milk", of(driver.Preference))
		k.add(ann, "teapot")
		q := driver.FactQuery{Reach: ann.Only()}
		k.wantSearch(driver.FactSearch{Query: q, Terms: []string{"tea"}, Limit: 9}, "tea", "tea with milk")
		k.wantSearch(driver.FactSearch{Query: q, Terms: []string{"tea", "coffee", "rum"}, Limit: 9}, "tea", "tea with milk", "coffee with milk")
		k.wantSearch(driver.FactSearch{Query: q, Terms: []string{"te", "TEA", "tea with", "*", ""}, Limit: 9})
		k.wantSearch(driver.FactSearch{Query: q, Limit: 9})
	}},
	{name: "search/terms", promise: "terms are compared exactly, whatever their characters", run: func(k *kit) {
		terms := []string{
			"c++", "c#", "c", ".net", "net", "v1.2.3", "foo_bar", "foo", "a-b", "a'b", `a"b`, "a*", "a", "ab", "é", "e", "e\u0301", "日本", "日", "本", "🙂", "🙂🙂",
			"and", "or", "not", "near", "AND", "NEAR(", "terms", "terms:a", "scope", "1", "2", "01", "%", "_", "^a", "{a}", "(a)", "a:b", "\u200f", "a b", "x'00'", "--",
			strings.Repeat("x", 64), strings.Repeat("x", 63), strings.Repeat("é", 32), "ﬁ", "fi", "ß", "ss", "İ", "i", "I", "\u0131", "\ufeff", "\u00ad", "\t", "\n",
		}
		for i, term := range terms {
			k.add(ann, fmt.Sprint("fact ", i), words(term, "padding"))
		}
		for i, term := range terms {
			c := k.wantSearch(driver.FactSearch{Query: driver.FactQuery{Reach: ann.Only()}, Terms: []string{term}, Limit: 99}, fmt.Sprint("fact ", i))
			if c.Frequency[0] != 1 {
				k.Errorf("term %q: got frequency %d want 1", term, c.Frequency[0])
			}
		}
		if c := k.search(driver.FactSearch{Query: driver.FactQuery{Reach: ann.Only()}, Terms: terms, Limit: 99}); len(c.Records) != len(terms) {
			k.Errorf("all terms: got %d candidates want %d", len(c.Records), len(terms))
		}
	}},
	{name: "search/records", promise: "candidates are complete, with their terms and vectors, each once", run: func(k *kit) {
		id := k.add(ann, "tea with milk", about(`{"a":1}`), during("c", 2), near("m", 1, 2), expiring(future))
		c := k.wantSearch(driver.FactSearch{Query: driver.FactQuery{Reach: ann.Only()}, Terms: []string{"tea", "milk"}, Embedding: []float32{1, 2}, Model: "m", Limit: 5}, "tea with milk")
		k.wantSame(c.Records[0], k.get(ann, id))
	}},
	{name: "search/statistics", promise: "the counts of facts, terms and frequencies cover exactly the selected facts", run: func(k *kit) {
		vocabulary := []string{"alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta"}
		r := k.rand()
		scopes := []driver.Scope{ann, bob, {Tenant: "acme"}, {Tenant: "else", User: "ann"}}
		for i := range 300 {
			var terms []string
			for range 1 + r.IntN(9) {
				terms = append(terms, vocabulary[r.IntN(len(vocabulary))])
			}
			mods := []mod{words(terms...), of(driver.Kinds()[r.IntN(7)]), trusted(driver.Trust(r.IntN(3))), about(fmt.Sprintf(`{"n":%d}`, r.IntN(4)))}
			switch r.IntN(4) {
			case 0:
				mods = append(mods, from(before), to(long))
			case 1:
				mods = append(mods, from(before), expiring(long))
			}
			k.add(scopes[r.IntN(len(scopes))], fmt.Sprint("fact ", i), mods...)
		}
		for i := range 40 {
			q := driver.FactQuery{Reach: driver.Reach{Scope: scopes[i%4], AnyUser: i%3 == 0, Inherit: i%5 == 0}, Untrusted: i%2 == 0, Closed: i%7 == 0, Limit: -1}
			if i%4 == 1 {
				q.Kinds = []driver.Kind{driver.Plain, driver.Episode}
			}
			if i%4 == 2 {
				q.Where = []driver.Condition{driver.Where("n", driver.Less, 2)}
			}
			if i%6 == 3 {
				q.AsOf = before
			}
			k.wantStatistics(q, vocabulary[:1+i%len(vocabulary)])
		}
	}},
	{name: "search/limit", promise: "a search by words returns as many candidates as its limit, if there are so many, whatever the limit of the query", run: func(k *kit) {
		k.fill(ann, 30)
		for limit, want := range map[int]int{1: 1, 7: 7, 29: 29, 30: 30, 31: 30, math.MaxInt32: 30} {
			s := driver.FactSearch{Query: driver.FactQuery{Reach: ann.Only(), Limit: 3}, Terms: []string{"fact"}, Limit: limit}
			if c := k.search(s); len(c.Records) != want || c.Facts != 30 || c.Frequency[0] != 30 {
				k.Errorf("limit %d: got %d candidates, %d facts, frequency %d want %d, 30, 30", limit, len(c.Records), c.Facts, c.Frequency, want)
			}
		}
		if c := k.search(driver.FactSearch{Query: driver.FactQuery{Reach: ann.Only()}, Terms: []string{"fact", "7"}, Embedding: []float32{1}, Model: "m"}); len(c.Records) != 0 || c.Facts != 30 || c.Frequency[1] != 1 {
			k.Errorf("no limit: got %d candidates, %d facts, frequency %d want the statistics alone", len(c.Records), c.Facts, c.Frequency)
		}
	}},
	{name: "search/rare", promise: "if the limit leaves facts out, those with more and rarer words are returned", run: func(k *kit) {
		var changes []driver.FactChange
		for i := range 300 {
			changes = append(changes, k.adding(fmt.Sprint("common word ", i)))
		}
		k.apply(ann, changes...)
		k.add(ann, "common rare seldom")
		k.add(ann, "rare")
		for i := range 50 {
			k.add(driver.Scope{Tenant: "acme", User: fmt.Sprint("u", i)}, "rare seldom")
		}
		c := k.search(driver.FactSearch{Query: driver.FactQuery{Reach: ann.Only()}, Terms: []string{"common", "rare", "seldom"}, Limit: 5})
		got := contents(c.Records)
		if len(got) != 5 || !slices.Contains(got, "common rare seldom") {
			k.Errorf("got %q want 5, and the one with all words among them", got)
		}
	}},
	{name: "search/newest", promise: "of equally good facts, the newest are candidates", run: func(k *kit) {
		for i := range 10 {
			k.add(ann, fmt.Sprint("tea ", i), near("m", 1, 0))
		}
		for _, s := range []driver.FactSearch{{Terms: []string{"tea"}}, {Embedding: []float32{1, 1}, Model: "m"}} {
			s.Query, s.Limit = driver.FactQuery{Reach: ann.Only()}, 1
			k.wantSearch(s, "tea 9")
		}
	}},
	{name: "search/often", promise: "a fact that has a word often comes before shorter facts that have it once", run: func(k *kit) {
		often := strings.Repeat("tea ", 5) + strings.Repeat("and other things ", 5)
		k.add(ann, often)
		for i := range 20 {
			k.add(ann, fmt.Sprint("a cup of tea number ", i))
		}
		k.wantSearch(driver.FactSearch{Query: driver.FactQuery{Reach: ann.Only()}, Terms: []string{"tea", "absent"}, Limit: 1}, often)
	}},
	{name: "search/filtered", promise: "facts that the query leaves out do not take the place of selected ones", run: func(k *kit) {
		var changes, others []driver.FactChange
		for i := range 100 {
			changes = append(changes, k.adding(fmt.Sprint("tea tea tea ", i), trusted(driver.Untrusted), near("m", 1, 0)))
			others = append(others, k.adding(fmt.Sprint("tea tea tea ", i), near("m", 1, 0)))
		}
		k.apply(ann, changes...)
		k.apply(bob, others...)
		for i := range 10 {
			k.add(ann, fmt.Sprint("some of the tea that ann has ", i), near("m", 0, 1), about(fmt.Sprintf(`{"n":%d}`, i)))
		}
		for _, s := range []driver.FactSearch{{Terms: []string{"tea"}}, {Embedding: []float32{1, 0}, Model: "m"}} {
			s.Query, s.Limit = driver.FactQuery{Reach: ann.Only()}, 10
			if c := k.search(s); len(c.Records) != 10 {
				k.Errorf("got %d candidates want 10", len(c.Records))
			}
			s.Query.Where = []driver.Condition{driver.Where("n", driver.Equal, 4)}
			k.wantSearch(s, "some of the tea that ann has 4")
		}
	}},
	{name: "search/both", promise: "candidates by words and candidates by vectors are united", run: func(k *kit) {
		k.add(ann, "by both", near("m", 1, 0))
		k.add(ann, "by words")
		k.add(ann, "near it", near("m", 1, 0.1))
		k.add(ann, "far away", near("m", -1, 0))
		s := driver.FactSearch{Query: driver.FactQuery{Reach: ann.Only()}, Terms: []string{"by"}, Embedding: []float32{1, 0}, Model: "m", Limit: 2}
		k.wantSearch(s, "by both", "by words", "near it")
		s.Limit = 3
		k.wantSearch(s, "by both", "by words", "near it", "far away")
	}},
}

// wantStatistics requires that the counts of a search agree with the facts that Find yields for the same query.
func (k *kit) wantStatistics(q driver.FactQuery, terms []string) {
	k.Helper()
	list := k.find(q)
	frequency := make([]int64, len(terms))
	var words int64
	var matching []string
	for _, r := range list {
		words += int64(len(r.Terms))
		matches := false
		for i, term := range terms {
			if slices.Contains(r.Terms, term) {
				frequency[i]++
				matches = true
			}
		}
		if matches {
			matching = append(matching, r.Content)
		}
	}
	c := k.wantSearch(driver.FactSearch{Query: q, Terms: terms, Limit: 1000}, matching...)
	if c.Facts != int64(len(list)) || c.Terms != words || !slices.Equal(c.Frequency, frequency) {
		k.Errorf("%+v: got %d facts, %d terms, frequency %d want %d, %d, %d", q, c.Facts, c.Terms, c.Frequency, len(list), words, frequency)
	}
}

var vectorCases = []factCase{
	{name: "vectors/nearest", promise: "the nearest facts by cosine are found, whatever the lengths of the vectors", run: func(k *kit) {
		r := k.rand()
		const dimension = 24
		random := func() []float32 {
			v := make([]float32, dimension)
			scale := math.Pow(10, float64(r.IntN(7)-3))
			for i := range v {
				v[i] = float32(r.NormFloat64() * scale)
			}
			return v
		}
		n := k.size(400, 150)
		vectors := map[string][]float32{}
		var mine, others []driver.FactChange
		for i := range n {
			text := fmt.Sprint("fact ", i)
			vectors[text] = random()
			mine = append(mine, k.adding(text, near("m", vectors[text]...)))
			others = append(others, k.adding(text, near("m", random()...)))
		}
		k.apply(ann, mine...)
		k.apply(bob, others...)
		for range 20 {
			want := random()
			for _, limit := range []int{1, 10, n + 5} {
				c := k.search(driver.FactSearch{Query: driver.FactQuery{Reach: ann.Only()}, Embedding: want, Model: "m", Limit: limit})
				k.wantNearest(c, want, vectors, limit)
			}
		}
	}},
	{name: "vectors/never_fewer", promise: "if as many facts as the limit have a vector, so many are returned, however few a filter leaves", run: func(k *kit) {
		n := k.size(2000, 300)
		var changes []driver.FactChange
		for i := range n {
			angle := float64(i) / float64(n) * math.Pi
			changes = append(changes, k.adding(fmt.Sprint("fact ", i), about(fmt.Sprintf(`{"rank":%d}`, i)), near("m", float32(math.Cos(angle)), float32(math.Sin(angle)))))
			if len(changes) == 500 || i == n-1 {
				k.apply(ann, changes...)
				changes = nil
			}
		}
		for _, percent := range []int{100, 10, 1} {
			// The facts that meet the filter are the farthest from the query.
			pass := max(1, n*percent/100)
			q := driver.FactQuery{Reach: ann.Only(), Where: []driver.Condition{driver.Where("rank", driver.GreaterEqual, n-pass)}}
			for _, limit := range []int{1, 10, 100} {
				c := k.search(driver.FactSearch{Query: q, Embedding: []float32{1, 0}, Model: "m", Limit: limit})
				if want := min(limit, pass); len(c.Records) != want || c.Facts != int64(pass) {
					k.Errorf("%d %%, limit %d: got %d of %d want %d of %d", percent, limit, len(c.Records), c.Facts, want, pass)
				}
			}
		}
	}},
	{name: "vectors/models", promise: "vectors of different models are never compared", run: func(k *kit) {
		k.add(ann, "by m", near("m", 1, 0))
		k.add(ann, "by n", near("n", 1, 0))
		k.add(ann, "capital", near("M", 1, 0))
		k.add(ann, "by none", near("", 1, 0))
		k.add(ann, "without")
		for model, want := range map[string]string{"m": "by m", "n": "by n", "M": "capital"} {
			k.wantSearch(driver.FactSearch{Query: driver.FactQuery{Reach: ann.Only()}, Embedding: []float32{1, 0}, Model: model, Limit: 9}, want)
		}
		k.wantSearch(driver.FactSearch{Query: driver.FactQuery{Reach: ann.Only()}, Embedding: []float32{1, 0}, Model: "x", Limit: 9})
	}},
	{name: "vectors/dimensions", promise: "a vector of another dimension is ignored", run: func(k *kit) {
		k.add(ann, "two", near("m", 1, 0))
		k.add(ann, "three", near("m", 1, 0, 0))
		k.add(ann, "one", near("m", 1))
		k.add(ann, "long", near("m", make([]float32, memory.MaxDimension)...))
		k.wantSearch(driver.FactSearch{Query: driver.FactQuery{Reach: ann.Only()}, Embedding: []float32{1, 0}, Model: "m", Limit: 9}, "two")
		k.wantSearch(driver.FactSearch{Query: driver.FactQuery{Reach: ann.Only()}, Embedding: []float32{1}, Model: "m", Limit: 9}, "one")
		if got := len(k.find(all(ann))[0].Embedding); got != memory.MaxDimension {
			k.Errorf("got %d numbers want %d", got, memory.MaxDimension)
		}
	}},
	{name: "vectors/zero", promise: "a vector of zeros has no similarity, and is found last", run: func(k *kit) {
		k.add(ann, "zero", near("m", 0, 0))
		k.add(ann, "some", near("m", 1, 1))
		k.wantSearch(driver.FactSearch{Query: driver.FactQuery{Reach: ann.Only()}, Embedding: []float32{1, 1}, Model: "m", Limit: 1}, "some")
		k.wantSearch(driver.FactSearch{Query: driver.FactQuery{Reach: ann.Only()}, Embedding: []float32{1, 1}, Model: "m", Limit: 2}, "some", "zero")
		k.wantSearch(driver.FactSearch{Query: driver.FactQuery{Reach: ann.Only()}, Embedding: []float32{0, 0}, Model: "m", Limit: 2}, "some", "zero")
	}},
	{name: "vectors/exact", promise: "vectors keep the value of each number", run: func(k *kit) {
		v := []float32{0, 1, -1, math.MaxFloat32, -math.MaxFloat32, math.SmallestNonzeroFloat32, 0.1, 1.0 / 3, 16777217}
		id := k.add(ann, "numbers", near("m", v...))
		if got := k.get(ann, id).Embedding; !slices.Equal(got, v) {
			k.Errorf("got %v want %v", got, v)
		}
	}},
}

// wantNearest requires that the candidates are the facts nearest to the vector want. It computes the similarity of all vectors.
func (k *kit) wantNearest(c driver.FactCandidates, want []float32, vectors map[string][]float32, limit int) {
	k.Helper()
	var scores []float64
	for _, v := range vectors {
		scores = append(scores, cosine(want, v))
	}
	slices.Sort(scores)
	slices.Reverse(scores)
	n := min(limit, len(scores))
	if len(c.Records) != n {
		k.Errorf("limit %d: got %d candidates want %d", limit, len(c.Records), n)
		return
	}
	if len(distinct(contents(c.Records))) != n {
		k.Errorf("limit %d: got a fact twice", limit)
	}
	for _, r := range c.Records {
		if got := cosine(want, vectors[r.Content]); got < scores[n-1]-1e-6 {
			k.Errorf("limit %d: got one with cosine %v, and %d have %v at least", limit, got, n, scores[n-1])
		}
	}
}

func cosine(a, b []float32) float64 {
	var dot, x, y float64
	for i := range a {
		dot += float64(a[i]) * float64(b[i])
		x += float64(a[i]) * float64(a[i])
		y += float64(b[i]) * float64(b[i])
	}
	return dot / math.Sqrt(x*y)
}
