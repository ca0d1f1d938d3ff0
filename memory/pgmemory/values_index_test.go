package pgmemory_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/memory/driver"
)

// A search of many values uses the index, and finds all matching values.
func TestValuesByIndex(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	p := newPlace(t)
	p.options.Exact = 100
	quick := p.open(t)
	p.options.Exact = 1_000_000
	exact := p.open(t)
	r := rand.New(rand.NewPCG(1, 2))
	vector := func() []float32 { return []float32{r.Float32() - 0.5, r.Float32() - 0.5, r.Float32() - 0.5} }
	for i := range 4 {
		var writes []driver.ValueWrite
		for j := range 500 {
			w := putting(fmt.Sprint(i, "-", j), `1`)
			w.Namespace, w.Embedding, w.Model = []string{"n", fmt.Sprint(j % 10)}, vector(), "m"
			writes = append(writes, w)
		}
		_, err := quick.Values().Apply(ctx, ann, writes)
		assert.NoError(t, err, "put")
	}
	assert.NoError(t, quick.Index(ctx, "m", 3), "index")
	for _, prefix := range [][]string{nil, {"n", "3"}, {"none"}} {
		for _, limit := range []int{1, 30, 3000} {
			hits, wanted := 0, 0
			for range 20 { // the first searches learn the size of the selection and of the index
				s := driver.ValueSearch{Selection: driver.ValueSelection{Prefix: prefix}, Embedding: vector(), Model: "m", Limit: limit}
				got, err := quick.Values().Search(ctx, ann, s)
				assert.NoError(t, err, "search")
				want, err := exact.Values().Search(ctx, ann, s)
				assert.NoError(t, err, "search")
				require.Len(t, got.Records, len(want.Records), "%q, limit %d", prefix, limit)
				require.Equal(t, want.Values, got.Values, "%q, limit %d", prefix, limit)
				there := map[string]bool{}
				for _, r := range want.Records {
					there[r.Key] = true
				}
				for _, r := range got.Records {
					if there[r.Key] {
						hits++
					}
				}
				wanted += len(want.Records)
			}
			assert.GreaterOrEqual(t, hits*100, wanted*95, "%q, limit %d", prefix, limit)
		}
	}
}
