package main

import (
	"context"
	"runtime"
	"slices"

	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/driver"
	"github.com/weft-go/weft/memory/inmemory"
)

// workers is the number of questions that are asked at once.
var workers = runtime.GOMAXPROCS(0)

// The numbers of candidates that are compared, the default last.
var candidates = []int{100, 200, 400}

// A bench asks the questions of all collections, one collection after the other.
type bench struct {
	stores    []store // with the in-memory store first
	embedders []memory.Embedder
	questions int // how many questions of a set are asked at most
	sample    int // how many of these the other stores are asked
	timed     int // how many questions of the first collection are timed
}

// A figure is the result of a method with the questions of a set.
type figure struct {
	// recall5 and recall10 are the mean shares of the answers among the first 5 and 10, and mrr10 is the
	// mean of the inverse of the first answer's rank, 0 beyond 10.
	recall5, recall10, mrr10 float64
}

// An outcome is the result for a set.
type outcome struct {
	set, about string
	columns    []figure                      // by columns
	candidates [][]figure                    // by way and candidates
	top        [][][]memory.Hit[memory.Fact] // the ten best of each question, by way
}

// A way is a method to find facts: by words, or by words and the vectors of an embedder.
type way struct {
	name     string
	embedder memory.Embedder
}

func (b *bench) ways() []way {
	list := []way{{"words", nil}}
	for _, e := range b.embedders {
		list = append(list, way{e.Model(), e})
	}
	return list
}

// columns are the methods, in the order of the table.
func (b *bench) columns() []string {
	names := []string{"all words", "BM25", "BM25 of Weft's terms", "Weft, words"}
	for _, e := range b.embedders {
		names = append(names, "vectors, "+e.Model(), "ranks fused, "+e.Model(), "Weft, "+e.Model())
	}
	return names
}

// An answer holds the results of the methods for one question, by columns.
type answer struct {
	columns    [][]int
	candidates [][][]int
	top        [][]memory.Hit[memory.Fact]
}

// measure asks the first store all questions of a set.
func (b *bench) measure(ctx context.Context, c *collection, s set, stemmed, plain *wordIndex) (*outcome, error) {
	answers, failed := make([]answer, len(s.questions)), make([]error, len(s.questions))
	parallel(len(s.questions), func(i int) {
		text := s.questions[i].text
		answers[i].columns = [][]int{stemmed.byBM25(text, true), plain.byBM25(text, false)}
		failed[i] = b.ask(ctx, c, text, &answers[i])
	})
	o := &outcome{set: s.name}
	for i, a := range answers {
		if failed[i] != nil {
			return nil, failed[i]
		}
		if o.columns == nil {
			o.columns = make([]figure, len(a.columns))
			o.candidates = make([][]figure, len(a.candidates))
		}
		q, share := &s.questions[i], 1/float64(len(answers))
		for k, order := range a.columns {
			o.columns[k].add(share, order, q.answers)
		}
		for k, orders := range a.candidates {
			if o.candidates[k] == nil {
				o.candidates[k] = make([]figure, len(candidates))
			}
			for n, order := range orders {
				o.candidates[k][n].add(share, order, q.answers)
			}
		}
		o.top = append(o.top, a.top)
	}
	return o, nil
}

// ask asks the first store one question in all ways.
func (b *bench) ask(ctx context.Context, c *collection, text string, a *answer) error {
	var words []int
	for _, way := range b.ways() {
		e := way.embedder
		once := &searchOnce{FactStore: b.stores[0].facts}
		recall := func(w memory.Weights, candidates, limit int) []memory.Hit[memory.Fact] {
			if once.err != nil {
				return nil
			}
			var found []memory.Hit[memory.Fact]
			found, once.err = b.recall(ctx, once, c, text, memory.Options{Embedder: e, Weights: w, Candidates: candidates}, limit)
			return found
		}
		most := candidates[len(candidates)-1]
		all := recall(memory.Weights{}, most, most)
		if e == nil {
			words = numbers(recall(memory.Weights{Keyword: 1}, most, most))
			a.columns = append(a.columns, words)
		} else {
			vectors := numbers(recall(memory.Weights{Vector: 1}, most, most))
			a.columns = append(a.columns, vectors, fuseRanks(words, vectors))
		}
		a.columns = append(a.columns, numbers(all))
		var orders [][]int
		for _, n := range candidates[:len(candidates)-1] {
			orders = append(orders, numbers(recall(memory.Weights{}, n, 10)))
		}
		a.candidates = append(a.candidates, append(orders, numbers(all)))
		a.top = append(a.top, all[:min(10, len(all))])
		if once.err != nil {
			return once.err
		}
	}
	return nil
}

// recall asks a store in the scope of the embedder. Without an embedder, it uses the scope of
// the first one.
func (b *bench) recall(ctx context.Context, s driver.FactStore, c *collection, text string, o memory.Options, limit int) ([]memory.Hit[memory.Fact], error) {
	e := o.Embedder
	if e == nil {
		e = b.embedders[0]
	}
	m, err := memory.New(inmemory.Fill(driver.Stores{FactStore: s}), o)
	if err != nil {
		return nil, err
	}
	return m.Recall(ctx, memory.Question{Reach: scopeOf(c, e).Only(), Text: text, Limit: limit})
}

func numbers(found []memory.Hit[memory.Fact]) []int {
	list := make([]int, len(found))
	for i, f := range found {
		list[i] = numberOf(f.Item.ID)
	}
	return list
}

// A searchOnce is a store that searches once and returns the same candidates for all searches. The first search must
// ask for the most candidates, because Recall ignores candidates beyond Options.Candidates.
type searchOnce struct {
	driver.FactStore
	found *driver.FactCandidates
	err   error
}

// Search implements driver.FactStore.
func (s *searchOnce) Search(ctx context.Context, what driver.FactSearch) (driver.FactCandidates, error) {
	if s.found == nil {
		found, err := s.FactStore.Search(ctx, what)
		if err != nil {
			return found, err
		}
		s.found = &found
	}
	c := *s.found
	c.Records = slices.Clone(c.Records)
	return c, nil
}

// add adds the result of one question to the means. Its weight is share.
func (f *figure) add(share float64, order, answers []int) {
	var found5, found10 int
	for i, d := range order[:min(10, len(order))] {
		if !slices.Contains(answers, d) {
			continue
		}
		if found10 == 0 {
			f.mrr10 += share / float64(i+1)
		}
		found10++
		if i < 5 {
			found5++
		}
	}
	f.recall5 += share * float64(found5) / float64(min(5, len(answers)))
	f.recall10 += share * float64(found10) / float64(min(10, len(answers)))
}
