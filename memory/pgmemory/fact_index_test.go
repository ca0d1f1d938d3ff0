package pgmemory_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/memory/driver"
)

// A search uses the index if many facts meet its conditions on metadata, and does not use it if few
// facts meet them. Both find and count all matching facts.
func TestFactsByIndexAndConditions(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	p := newPlace(t)
	p.options.Exact = 100
	quick := p.open(t)
	p.options.Exact = 1_000_000
	exact := p.open(t)
	r := rand.New(rand.NewPCG(5, 6))
	vector := func() []float32 { return []float32{r.Float32() - 0.5, r.Float32() - 0.5, r.Float32() - 0.5} }
	for range 4 {
		var changes []driver.FactChange
		for i := range 500 {
			c := adding(fmt.Sprint("fact ", r.Uint64()), vector()...)
			c.Record.Metadata = fmt.Appendf(nil, `{"a \"b\"":{"percent":%d}}`, i%100)
			changes = append(changes, c)
		}
		_, err := quick.Facts().Apply(ctx, ann, changes)
		require.NoError(t, err)
	}
	require.NoError(t, quick.Index(ctx, "m", 3))
	for _, percent := range []int{100, 50, 10, 1, 0} {
		q := driver.FactQuery{Reach: ann.Only(), Where: []driver.Condition{{Path: []string{`a "b"`, "percent"}, Op: driver.Less, Value: fmt.Append(nil, percent)}}}
		for _, terms := range [][]string{nil, {"fact"}} {
			hits, wanted := 0, 0
			for range 10 { // the first searches learn the size of the selection and of the index
				s := driver.FactSearch{Query: q, Terms: terms, Embedding: vector(), Model: "m", Limit: 30}
				got, err := quick.Facts().Search(ctx, s)
				assert.NoError(t, err, "search")
				s.Terms = nil
				want, err := exact.Facts().Search(ctx, s)
				assert.NoError(t, err, "search")
				require.Len(t, want.Records, min(30, 20*percent), "%d %%", percent)
				require.GreaterOrEqual(t, len(got.Records), len(want.Records), "%d %%", percent)
				require.Equal(t, want.Facts, got.Facts, "%d %%", percent)
				require.Equal(t, want.Terms, got.Terms, "%d %%", percent)
				found := map[string]bool{}
				for _, r := range got.Records {
					found[r.ID] = true
				}
				for _, r := range want.Records {
					wanted++
					if found[r.ID] {
						hits++
					}
				}
			}
			assert.GreaterOrEqual(t, float64(hits), 0.95*float64(wanted), "%d %%", percent)
		}
	}
	quick.Close()
	wantScans(t, p, "mem_fact_near_%")
}

// wantScans fails unless an index whose name matches a pattern has been scanned. A connection
// reports its scans when it is closed, or up to ten seconds later.
func wantScans(t *testing.T, p place, pattern string) {
	t.Helper()
	const scans = `SELECT sum(idx_scan)::bigint FROM pg_stat_user_indexes WHERE schemaname = $1 AND indexrelname LIKE $2`
	for end := time.Now().Add(time.Minute); time.Now().Before(end); <-time.After(100 * time.Millisecond) {
		if ask[int64](t, p, scans, p.options.Schema, pattern) > 0 {
			return
		}
	}
	t.Errorf("no index like %s was read", pattern)
}

// Indexes in half precision are smaller, and searches use them and find the same nearest facts.
func TestHalfIndexes(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	p := newPlace(t)
	p.options.Exact = 1_000_000
	exact := p.open(t)
	p.options.Exact, p.options.HalfIndexes = 100, true
	half := p.open(t)
	r := rand.New(rand.NewPCG(7, 8))
	vector := func() []float32 {
		v := make([]float32, 512)
		for i := range v {
			v[i] = r.Float32() - 0.5
		}
		return v
	}
	for range 4 {
		var changes []driver.FactChange
		for range 500 {
			changes = append(changes, adding(fmt.Sprint("fact ", r.Uint64()), vector()...))
		}
		_, err := half.Facts().Apply(ctx, ann, changes)
		require.NoError(t, err)
	}
	require.NoError(t, exact.Index(ctx, "m", 512))
	require.NoError(t, half.Index(ctx, "m", 512))
	const size = `SELECT pg_relation_size(i.indexrelid) FROM pg_stat_user_indexes i WHERE schemaname = $1 AND indexrelname LIKE $2`
	whole := ask[int64](t, p, size, p.options.Schema, "mem_fact_near_________________")
	assert.Less(t, ask[int64](t, p, size, p.options.Schema, "mem_fact_near_half_%"), whole*3/4)
	hits, wanted := 0, 0
	for range 20 {
		s := driver.FactSearch{Query: driver.FactQuery{Reach: ann.Only()}, Embedding: vector(), Model: "m", Limit: 30}
		got, err := half.Facts().Search(ctx, s)
		require.NoError(t, err)
		want, err := exact.Facts().Search(ctx, s)
		require.NoError(t, err)
		require.Len(t, got.Records, 30)
		found := map[string]bool{}
		for _, r := range got.Records {
			found[r.ID] = true
		}
		for _, r := range want.Records {
			if wanted++; found[r.ID] {
				hits++
			}
		}
	}
	assert.GreaterOrEqual(t, float64(hits), 0.95*float64(wanted))
	half.Close()
	wantScans(t, p, "mem_fact_near_half_%")
}
