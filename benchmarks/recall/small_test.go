package main

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/driver"
	"github.com/weft-go/weft/memory/inmemory"
)

// things are pairs of synonyms, each with three words that stand near them.
var things = [][]string{
	{"sofa", "couch", "cushion", "lounge", "velvet"},
	{"bicycle", "velocipede", "pedal", "saddle", "spoke"},
	{"doctor", "physician", "clinic", "patient", "surgery"},
	{"film", "picture", "cinema", "screen", "actor"},
	{"boat", "vessel", "harbour", "sail", "anchor"},
	{"autumn", "fall", "leaf", "harvest", "october"},
	{"lawyer", "attorney", "court", "trial", "judge"},
	{"garbage", "rubbish", "bin", "dump", "landfill"},
	{"stove", "cooker", "oven", "kitchen", "gas"},
	{"rucksack", "backpack", "strap", "hike", "trail"},
}

var people = []string{"Marta", "Tobias", "Ingrid", "Rafael", "Noor", "Yusuf", "Greta", "Kenji", "Paloma", "Anton"}

var colours = []string{"red", "green", "blue", "white", "black"}

// small returns 100 facts among 4,000 sentences, from which an embedder can learn the synonyms.
func small() (*collection, *coOccurrence) {
	c := &collection{name: "facts", sets: []set{{name: "facts, same words"}, {name: "facts, other words"}}}
	for i, name := range people {
		for j, thing := range things {
			answer := []int{len(c.documents)}
			c.documents = append(c.documents, document{text: fmt.Sprintf("%s has a %s %s.", name, colours[(i+j)%5], thing[0])})
			for k := range c.sets {
				c.sets[k].questions = append(c.sets[k].questions, question{fmt.Sprintf("Which %s does %s own?", thing[k], name), answer})
			}
		}
	}
	for i := range 4000 {
		thing := things[i%len(things)]
		c.documents = append(c.documents, document{text: fmt.Sprintf("Number %d: the %s near the %s, a %s and the %s.", i, thing[i/10%2], thing[2+i/20%3], thing[2+i/7%3], thing[2+i/60%3])})
	}
	list := make([][]string, len(c.documents))
	for i, d := range c.documents {
		list[i] = terms(d.text)
	}
	return c, learn(list, 16)
}

func inMemory(name string) store { return store{name, inmemory.NewFacts(inmemory.Options{})} }

func TestBenchMeetsItsChecksOnASmallCollection(t *testing.T) {
	t.Parallel()
	c, learned := small()
	b := &bench{stores: []store{inMemory("in memory"), inMemory("copy")}, embedders: []memory.Embedder{learned, trigrams(64)}, questions: 1000, sample: 10, timed: 1}
	r, err := b.run(t.Context(), []*collection{c}, func() error { return nil })
	require.NoError(t, err)
	require.Len(t, r.outcomes, 2)
	for _, line := range r.failures() {
		assert.Equal(t, "facts, other words: recall@10 with vectors against either leg: got 1.000, want 1.020 at least", line,
			"one leg alone finds all answers here, and nothing finds more than all")
	}
	assert.Len(t, r.comparisons, 2*3)
	assert.Len(t, r.timings, 2*3*3)
	for _, o := range r.outcomes {
		assert.Len(t, o.columns, len(b.columns()))
		for k, list := range o.candidates {
			require.Len(t, list, len(candidates))
			weft := o.columns[3+3*k]
			assert.InDelta(t, weft.recall10, list[len(list)-1].recall10, 1e-9, "400 candidates are the default")
		}
	}
}

// A worse store returns its facts in another order.
type worse struct{ *inmemory.Facts }

func (w worse) Search(ctx context.Context, s driver.FactSearch) (driver.FactCandidates, error) {
	s.Limit = 1
	return w.Facts.Search(ctx, s)
}

func TestCompareFindsAStoreThatReturnsOtherFacts(t *testing.T) {
	t.Parallel()
	c, learned := small()
	b := &bench{stores: []store{inMemory("in memory"), {"worse", worse{inmemory.NewFacts(inmemory.Options{})}}}, embedders: []memory.Embedder{learned}, questions: 50, sample: 3}
	r, err := b.run(t.Context(), []*collection{c}, func() error { return nil })
	require.NoError(t, err)
	assert.Contains(t, strings.Join(r.failures(), "\n"), "worse, facts, same words, words: 3 of 3 results differ from the in-memory store")
}

func TestUniteRemovesDocumentsWithOneText(t *testing.T) {
	t.Parallel()
	c := &collection{
		documents: []document{{text: "tea"}, {text: "milk"}, {text: "tea"}, {text: "cup"}},
		sets:      []set{{questions: []question{{"q", []int{2, 0, 3}}}}},
	}
	require.NoError(t, c.unite(t.Context()))
	assert.Equal(t, []document{{text: "tea"}, {text: "milk"}, {text: "cup"}}, c.documents)
	assert.Equal(t, []int{0, 2}, c.sets[0].questions[0].answers)
}

func TestFigure(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name           string
		order, answers []int
		want           figure
	}{
		{"first", []int{3}, []int{3}, figure{1, 1, 1}},
		{"nothing", nil, []int{3}, figure{}},
		{"one of two, second", []int{9, 3}, []int{3, 4}, figure{0.5, 0.5, 0.5}},
		{"sixth", []int{9, 8, 7, 6, 5, 3}, []int{3}, figure{0, 1, 1. / 6}},
		{"eleventh", []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, []int{10}, figure{}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var f figure
			f.add(1, test.order, test.answers)
			assert.Equal(t, test.want, f)
		})
	}
}

func TestBaselines(t *testing.T) {
	t.Parallel()
	x := newWordIndex([]document{{text: "green tea"}, {text: "black tea"}, {text: "water water"}}, plainWords)
	assert.Equal(t, []int{0, 1}, x.byBM25("green tea", false))
	assert.Equal(t, []int{0}, x.byBM25("green tea", true))
	assert.Equal(t, []int{2}, x.byBM25("water milk", false))
	assert.Empty(t, x.byBM25("water milk", true))
	assert.Equal(t, []int{1, 0, 2}, fuseRanks([]int{0, 1}, []int{1, 2}))
}

func TestEmbedders(t *testing.T) {
	t.Parallel()
	_, learned := small()
	assert.False(t, learned.knows("zebra"))
	assert.False(t, learned.knows("sofa couch"))
	assert.True(t, learned.knows("sofas"))
	for _, e := range []memory.Embedder{learned, trigrams(64)} {
		vectors, err := e.Embed(t.Context(), []string{"zebra", "", "sofas", "sofa", "attorney", "couch"})
		require.NoError(t, err)
		require.NoError(t, memory.CheckEmbedder(e))
		for _, v := range vectors {
			assert.Len(t, v, e.Dimension())
			assert.InDelta(t, 1, dot(v, v), 1e-4, e.Model())
		}
		assert.InDelta(t, 1, dot(vectors[2], vectors[3]), 1e-4, "forms of one word")
		if e == memory.Embedder(learned) {
			assert.Greater(t, dot(vectors[3], vectors[5]), dot(vectors[3], vectors[4])+0.3, "synonyms")
		}
	}
}
