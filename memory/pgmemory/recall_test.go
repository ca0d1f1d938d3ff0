package pgmemory_test

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/driver"
	"github.com/weft-go/weft/memory/pgmemory"
)

// A cloud generates vectors that are distributed like the vectors of texts: each lies near one of 2000
// subjects, and each subject lies near one of 40 points.
type cloud struct {
	r        *rand.Rand
	subjects [][]float32
}

const cloudDimension = 100

func newCloud(seed uint64) *cloud {
	c := &cloud{r: rand.New(rand.NewPCG(seed, 7))}
	var wide [][]float32
	for range 40 {
		wide = append(wide, c.around(nil, 1))
	}
	for range 2000 {
		c.subjects = append(c.subjects, c.around(wide[c.r.IntN(len(wide))], 0.9))
	}
	return c
}

func (c *cloud) around(centre []float32, spread float64) []float32 {
	v := make([]float32, cloudDimension)
	sum := 0.0
	for i := range v {
		x := c.r.NormFloat64() * spread
		if centre != nil {
			x += float64(centre[i]) * math.Sqrt(cloudDimension)
		}
		v[i] = float32(x)
		sum += x * x
	}
	for i := range v {
		v[i] /= float32(math.Sqrt(sum))
	}
	return v
}

func (c *cloud) vector() []float32 { return c.around(c.subjects[c.r.IntN(len(c.subjects))], 0.7) }

// A stored is a fact with a vector of a cloud.
type stored struct {
	user     string
	perMille int
	id       string
	vector   []float32
}

func userOf(i int) string {
	switch {
	case i%1000 == 5:
		return "u0.1"
	case i%100 == 3:
		return "u1"
	case i%10 == 0:
		return "u10"
	}
	return "rest"
}

// fill stores n facts of the tenant "t": a tenth of them have the user "u10", a hundredth "u1",
// and a thousandth "u0.1". Each fact has a number from 0 to 999.
func fill(tb testing.TB, store driver.FactStore, n int) []stored {
	tb.Helper()
	c := newCloud(1)
	batches := map[string][]driver.FactChange{}
	flush := func(user string) {
		_, err := store.Apply(context.Background(), driver.Scope{Tenant: "t", User: user}, batches[user])
		require.NoError(tb, err)
		batches[user] = nil
	}
	list := make([]stored, n)
	for i := range list {
		user := userOf(i)
		change := adding(fmt.Sprint("fact ", i), c.vector()...)
		list[i] = stored{user, c.r.IntN(1000), change.Record.ID, change.Record.Embedding}
		change.Record.Metadata = fmt.Appendf(nil, `{"per_mille":%d}`, list[i].perMille)
		if batches[user] = append(batches[user], change); len(batches[user]) == memory.MaxBatch {
			flush(user)
		}
	}
	for user := range batches {
		if len(batches[user]) > 0 {
			flush(user)
		}
	}
	return list
}

// vectorCount is the number of vectors: 100,000, or the value of WEFT_VECTORS. The test takes
// minutes, so it runs only on request.
func vectorCount(t *testing.T) int {
	t.Helper()
	if os.Getenv("WEFT_LARGE") != "1" {
		t.Skip("WEFT_LARGE=1 runs it")
	}
	return count(t, "WEFT_VECTORS", 100_000)
}

// A filter is a query, and a function that reports whether the query selects a fact.
type filter struct {
	name  string
	query driver.FactQuery
	holds func(stored) bool
}

// filters select 100, 10, 1 and 0.1 % by scope, and 50, 10, 1 and 0.1 % by metadata.
func filters() []filter {
	list := []filter{{"scope of 100 %", driver.FactQuery{Reach: driver.Reach{Scope: driver.Scope{Tenant: "t"}, AnyUser: true}}, func(stored) bool { return true }}}
	for _, share := range []string{"10", "1", "0.1"} {
		user := "u" + share
		list = append(list, filter{"scope of " + share + " %", driver.FactQuery{Reach: driver.Scope{Tenant: "t", User: user}.Only()}, func(f stored) bool { return f.user == user }})
	}
	for _, perMille := range []int{500, 100, 10, 1} {
		q := driver.FactQuery{
			Reach: driver.Reach{Scope: driver.Scope{Tenant: "t"}, AnyUser: true},
			Where: []driver.Condition{driver.Where("per_mille", driver.Less, perMille)},
		}
		list = append(list, filter{fmt.Sprintf("metadata of %v %%", float64(perMille)/10), q, func(f stored) bool { return f.perMille < perMille }})
	}
	return list
}

// TestRecallOfIndex compares the results of searches with the nearest facts, and their time with
// the time of handwritten SQL.
func TestRecallOfIndex(t *testing.T) {
	n := vectorCount(t)
	ctx := context.Background()
	p := directPlace(t)
	db := p.open(t)
	start := time.Now()
	list := fill(t, db.Facts(), n)
	t.Logf("stored %d facts in %v", n, time.Since(start).Round(time.Second))
	index(t, p, db, "mem_fact")
	for _, f := range filters() {
		measureRecall(t, f, list, factsByHand(t, p, f.query), func(v []float32) (ids []string) {
			found, err := db.Facts().Search(ctx, driver.FactSearch{Query: f.query, Embedding: v, Model: "m", Limit: recallLimit})
			assert.NoError(t, err, f.name)
			for _, r := range found.Records {
				ids = append(ids, r.ID)
			}
			return ids
		})
	}
}

func index(t *testing.T, p place, db *pgmemory.DB, table string) {
	t.Helper()
	start := time.Now()
	require.NoError(t, db.Index(context.Background(), "m", cloudDimension))
	t.Logf("indexed in %v", time.Since(start).Round(time.Second))
	do(t, p, `VACUUM ANALYZE weft.`+table)
}

// fillChunks stores n chunks of the tenant "t" in sources of twenty chunks, distributed over users
// as by fill.
func fillChunks(tb testing.TB, store driver.DocumentStore, n int) (list []stored) {
	tb.Helper()
	c := newCloud(1)
	const size = 20
	for i := range n / size {
		user, perMille := userOf(i), c.r.IntN(1000)
		s := longDocument(c.r, fmt.Sprint("document ", i), size, cloudDimension)
		s.Source.Metadata = fmt.Appendf(nil, `{"per_mille":%d}`, perMille)
		for k := range s.Chunks {
			r := &s.Chunks[k]
			r.Embedding = c.vector()
			list = append(list, stored{user, perMille, r.ID, r.Embedding})
		}
		swapIn(tb, store, driver.Scope{Tenant: "t", User: user}, s)
	}
	return list
}

// TestRecallOfChunks is like TestRecallOfIndex, for chunks of documents. It also measures searches
// by words.
func TestRecallOfChunks(t *testing.T) {
	n := vectorCount(t)
	ctx := context.Background()
	p := directPlace(t)
	db := p.open(t)
	start := time.Now()
	list := fillChunks(t, db.Documents(), n)
	t.Logf("stored %d chunks in %v", n, time.Since(start).Round(time.Second))
	index(t, p, db, "mem_chunk")
	do(t, p, `VACUUM ANALYZE weft.mem_source`)
	for _, f := range filters() {
		q := driver.SourceQuery{Reach: driver.Reach{Scope: f.query.Scope, AnyUser: f.query.AnyUser}, Where: f.query.Where}
		measureRecall(t, f, list, chunksByHand(t, p, f.query), func(v []float32) (ids []string) {
			found, err := db.Documents().Search(ctx, driver.ChunkSearch{Query: q, Embedding: v, Model: "m", Limit: recallLimit})
			assert.NoError(t, err, f.name)
			for _, r := range found.Records {
				ids = append(ids, r.ID)
			}
			return ids
		})
	}
	r := rand.New(rand.NewPCG(3, 4))
	words := rand.NewZipf(r, 1.1, 8, 20_000) // the distribution of words in the documents
	var times []time.Duration
	for range recallQueries {
		terms := map[string]bool{}
		for len(terms) < 4 {
			terms[fmt.Sprint("word", words.Uint64())] = true
		}
		start := time.Now()
		found, err := db.Documents().Search(ctx, driver.ChunkSearch{
			Query: driver.SourceQuery{Reach: driver.Reach{Scope: driver.Scope{Tenant: "t"}, AnyUser: true}}, Terms: slices.Collect(maps.Keys(terms)), Limit: recallLimit,
		})
		times = append(times, time.Since(start))
		require.NoError(t, err)
		require.Len(t, found.Records, recallLimit)
	}
	slices.Sort(times)
	t.Logf("by four words, of %d chunks: p50 %.2f ms", n, ms(times))
}

const (
	recallLimit   = 100
	recallQueries = 50
	recallMost    = 500             // the maximum number of queries of a measurement
	recallTime    = 2 * time.Second // the maximum time of a measurement
	recallWarm    = 6               // calls after which PostgreSQL has cached the plan
)

// measureRecall checks that a search finds the ten nearest rows. It logs the time of the search,
// and the time of the fastest handwritten form that finds as many rows.
func measureRecall(t *testing.T, f filter, list []stored, byHand []form, search func(v []float32) []string) {
	t.Helper()
	var selected []stored
	for _, s := range list {
		if f.holds(s) {
			selected = append(selected, s)
		}
	}
	c := newCloud(2)
	c.subjects = newCloud(1).subjects
	const best = 10
	full := min(recallLimit, len(selected))
	var asked [][]float32
	var answers [][]string
	own := form{name: "search"}
	own.find = func(v []float32) (int, error) {
		ids := search(v)
		asked, answers = append(asked, v), append(answers, ids)
		return len(ids), nil
	}
	all := []*form{&own}
	for i := range byHand {
		all = append(all, &byHand[i])
	}
	start := time.Now()
	for i := range recallWarm + recallMost {
		if i >= recallWarm+recallQueries && time.Since(start) > recallTime {
			break
		}
		v := c.vector()
		for k := range all { // rotate the order, so that each form is first equally often
			all[(i+k)%len(all)].measure(v, full, i >= recallWarm)
		}
	}
	assert.False(t, own.short, "%s: got fewer than %d candidates", f.name, full)
	hits, wanted := 0, 0
	for i, v := range asked {
		near := make([]nearby, len(selected))
		for k, s := range selected {
			near[k] = nearby{s.id, dot(s.vector, v)}
		}
		slices.SortFunc(near, func(a, b nearby) int { return cmp.Compare(b.cosine, a.cosine) })
		for _, n := range near[:min(best, len(near))] {
			wanted++
			if slices.Contains(answers[i], n.id) {
				hits++
			}
		}
	}
	times := own.times
	recall := float64(hits) / float64(wanted)
	slices.Sort(times)
	text := ""
	for _, h := range byHand {
		if h.short {
			text += fmt.Sprintf(", %s falls short", h.name)
			continue
		}
		slices.Sort(h.times)
		text += fmt.Sprintf(", %s %.2f ms (%.2f)", h.name, ms(h.times), ms(times)/ms(h.times))
	}
	t.Logf("%-17s recall@10 %.3f of %6d, p50 %6.2f ms; by hand%s", f.name, recall, len(selected), ms(times), text[1:])
	assert.GreaterOrEqual(t, recall, 0.95, "%s: got recall@10 of %.3f want 0.95", f.name, recall)
}

type nearby struct {
	id     string
	cosine float64
}

func ms(times []time.Duration) float64 { return float64(times[len(times)/2].Microseconds()) / 1000 }

func dot(a, b []float32) (sum float64) {
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}
