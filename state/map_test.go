package state_test

import (
	"maps"
	"math/rand/v2"
	"runtime"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/internal/statecore"
	"github.com/weft-go/weft/state"
)

// growMap runs n supersteps that each add one key. It returns the channel, the last
// state and the number of allocated bytes.
func growMap(tb testing.TB, n int) (*state.MapChannel[int, string], state.View, uint64) {
	tb.Helper()
	entries := state.Map[int, string]("entries")
	schema := schemaOf(tb, entries)
	v, tx := schema.Empty(), schema.Begin(schema.Empty())
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for i := range n {
		require.NoError(tb, statecore.Apply(tx, 0, []state.Write{entries.Put(map[int]string{i: "x"})}))
		next, err := tx.Finish(true)
		require.NoError(tb, err)
		v = next
		tx.Begin(schema, v)
	}
	runtime.ReadMemStats(&after)
	return entries, v, after.TotalAlloc - before.TotalAlloc
}

func TestMapWritesCostTheSameAtAnySize(t *testing.T) { // not parallel: it counts bytes
	_, _, few := growMap(t, 1_000)
	entries, v, many := growMap(t, 20_000)
	ratio := float64(many) / 20_000 / (float64(few) / 1_000)
	t.Logf("%d B a superstep up to 1,000 entries, %d B up to 20,000: ratio %.2f", few/1_000, many/20_000, ratio)
	assert.LessOrEqual(t, ratio, 1.5)
	require.Len(t, entries.Get(v), 20_000)
	got, ok := entries.Find(v, 12_345)
	assert.True(t, ok)
	assert.Equal(t, "x", got)
}

func TestMapsInForkedStatesEqualAModel(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 1))
		entries := state.Map[string, int]("entries")
		schema := schemaOf(t, entries)
		type moment struct {
			view   state.View
			model  map[string]int
			stored []change
		}
		moments := []moment{{view: schema.Empty(), model: map[string]int{}}}
		for range 200 {
			from := moments[r.IntN(len(moments))]
			if r.IntN(4) > 0 {
				from = moments[len(moments)-1] // most steps extend one long history
			}
			model, writes := maps.Clone(from.model), []state.Write(nil)
			for range 1 + r.IntN(3) {
				k, n := strconv.Itoa(r.IntN(60)), r.IntN(100)
				switch {
				case n < 3:
					model = map[string]int{k: n}
					writes = append(writes, entries.Overwrite(model))
				case n < 40:
					delete(model, k)
					writes = append(writes, entries.Remove(k))
				default:
					model[k] = n
					writes = append(writes, entries.Put(map[string]int{k: n}))
				}
				model = maps.Clone(model)
			}
			over := statecore.Overlay(schema, from.view, writes)
			assert.Equal(t, model, entries.Get(over), "an overlay")
			next, stored := changes(t, schema, from.view, writes...)
			moments = append(moments, moment{next, model, append(from.stored[:len(from.stored):len(from.stored)], stored...)})
		}
		for _, m := range moments {
			got := entries.Get(m.view)
			if got == nil {
				got = map[string]int{}
			}
			require.Equal(t, m.model, got)
			for k := range 60 {
				want, has := m.model[strconv.Itoa(k)]
				v, ok := entries.Find(m.view, strconv.Itoa(k))
				require.Equal(t, has, ok)
				require.Equal(t, want, v)
			}
			if back := entries.Get(replayed(t, schema, nil, m.stored...)); len(m.stored) > 0 {
				require.Equal(t, m.model, back, "replayed")
			}
		}
	}
}

// BenchmarkMapPut measures a superstep that adds one entry to a map of n entries.
func BenchmarkMapPut(b *testing.B) {
	for _, n := range []int{1_000, 20_000, 100_000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			entries, v, _ := growMap(b, n)
			schema := schemaOf(b, entries)
			tx := schema.Begin(schema.Import(nil, v, nil))
			b.ReportAllocs()
			for i := n; b.Loop(); i++ {
				require.NoError(b, statecore.Apply(tx, 0, []state.Write{entries.Put(map[int]string{i: "x"})}))
				next, err := tx.Finish(true)
				require.NoError(b, err)
				tx.Begin(schema, next)
			}
		})
	}
}
