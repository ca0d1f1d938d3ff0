package state_test

import (
	"errors"
	"math"
	"testing"

	"github.com/weft-go/weft/state"
)

func TestSumOverflow(t *testing.T) {
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
			schema, err := state.NewSchema(c.ch)
			if err != nil {
				t.Fatal(err)
			}
			tx := schema.Begin(schema.Empty())
			for _, w := range c.writes {
				err = errors.Join(err, tx.Apply(0, w))
			}
			if !errors.Is(err, c.want) || (err == nil) != (c.want == nil) {
				t.Errorf("got %v, want %v", err, c.want)
			}
		})
	}
}

// What a pruner removed is not something that a task wrote.
func TestPrunedListsDoNotEcho(t *testing.T) {
	t.Parallel()
	plain := state.Keyed("plain", noteID{})
	pruned := state.Keyed("pruned", noteID{}).Prune(func(n []note) []note { return n })
	schema, err := state.NewSchema(plain, pruned)
	if err != nil {
		t.Fatal(err)
	}
	if !schema.Echoes("plain") || schema.Echoes("pruned") {
		t.Errorf("got %t and %t, want true and false", schema.Echoes("plain"), schema.Echoes("pruned"))
	}
}
