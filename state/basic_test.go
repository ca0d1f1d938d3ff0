package state_test

import (
	"errors"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/internal/statecore"
	"github.com/weft-go/weft/state"
)

func TestSumOutsideTheRangeOfItsTypeFails(t *testing.T) {
	t.Parallel()
	small, unsigned, wide := state.Sum[int8]("small"), state.Sum[uint8]("unsigned"), state.Sum[int64]("wide")
	for _, c := range []struct {
		name   string
		ch     state.Handle
		writes []state.Write
		want   error
	}{
		{"up", small, []state.Write{small.Put(100), small.Put(27)}, nil},
		{"over", small, []state.Write{small.Put(100), small.Put(28)}, state.ErrOverflow},
		{"under", small, []state.Write{small.Put(-100), small.Put(-29)}, state.ErrOverflow},
		{"unsigned", unsigned, []state.Write{unsigned.Put(200, 56)}, state.ErrOverflow},
		{"wide", wide, []state.Write{wide.Put(math.MaxInt64), wide.Put(math.MinInt64)}, nil},
		{"wide over", wide, []state.Write{wide.Put(math.MaxInt64), wide.Put(1)}, state.ErrOverflow},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			schema, err := statecore.NewSchema[state.Handle](c.ch)
			require.NoError(t, err)
			tx := schema.Begin(schema.Empty())
			for _, w := range c.writes {
				err = errors.Join(err, statecore.Apply(tx, 0, []state.Write{w}))
			}
			assert.ErrorIs(t, err, c.want)
		})
	}
}

// TestSumsAreExact proves that a sum is exact after a write, in a later state and after a
// replay.
func TestSumsAreExact(t *testing.T) {
	t.Parallel()
	type grams float32
	t.Run("int8", exactSum[int8](math.MinInt8, math.MaxInt8, -1))
	t.Run("int", exactSum(math.MinInt, math.MaxInt, 256))
	t.Run("int64", exactSum[int64](math.MinInt64, math.MaxInt64, 1<<53+1))
	t.Run("uint64", exactSum[uint64](math.MaxUint64, 1<<63, 1<<53+1))
	t.Run("uint8", exactSum[uint8](math.MaxUint8))
	t.Run("float64", exactSum(0.1, -0.1, math.MaxFloat64, math.SmallestNonzeroFloat64, 1<<53))
	t.Run("grams", exactSum[grams](0.1, -2.5, math.MaxFloat32, math.SmallestNonzeroFloat32))
}

func exactSum[N state.Number](values ...N) func(*testing.T) {
	return func(t *testing.T) {
		t.Parallel()
		sum, other := state.Sum[N]("sum"), state.Last[string]("other")
		schema := schemaOf(t, sum, other)
		for _, want := range append(values, 0) {
			for _, w := range []state.Write{sum.Put(want), sum.Overwrite(want)} {
				written, stored := changes(t, schema, schema.Empty(), w)
				views := map[string]state.View{
					"written":  written,
					"a copy":   commit(t, schema, written, other.Put("x")),
					"replayed": replayed(t, schema, nil, stored...),
				}
				for name, v := range views {
					got, ok := sum.Lookup(v)
					assert.Equal(t, want, got, "%s, %s", w, name)
					assert.True(t, ok, "%s, %s", w, name)
				}
			}
		}
	}
}

// TestChangesOfPrunedListsAreNotWrites proves that ChangesAreWrites is false for a pruned
// list: its stored changes include removals that no task wrote.
func TestChangesOfPrunedListsAreNotWrites(t *testing.T) {
	t.Parallel()
	plain := state.Keyed("plain", noteID{})
	pruned := state.Keyed("pruned", noteID{}).Prune(func(n []note) []note { return n })
	schema, err := statecore.NewSchema[state.Handle](plain, pruned)
	require.NoError(t, err)
	assert.True(t, schema.ChangesAreWrites("plain"))
	assert.False(t, schema.ChangesAreWrites("pruned"))
}
