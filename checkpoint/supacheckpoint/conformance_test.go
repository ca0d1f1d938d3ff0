package supacheckpoint_test

import (
	"sync"
	"testing"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/checkpointtest"
	"github.com/weft-go/weft/checkpoint/supacheckpoint"
)

// The promises hold for the service and for a user, on a connection and through a
// PgBouncer.
func TestConformance(t *testing.T) {
	t.Parallel()
	for name, newPlace := range map[string]func(testing.TB) place{"direct": directPlace, "pooled": pooledPlace} {
		for who, bind := range map[string]func(testing.TB, *supacheckpoint.Store) checkpoint.Store{
			"service": func(_ testing.TB, s *supacheckpoint.Store) checkpoint.Store { return s },
			"service for a user": func(tb testing.TB, s *supacheckpoint.Store) checkpoint.Store {
				mine, err := s.For(ann)
				if err != nil {
					tb.Fatal(err)
				}
				return mine
			},
			"user": func(tb testing.TB, s *supacheckpoint.Store) checkpoint.Store { return as(tb, s, ann) },
		} {
			t.Run(who+", "+name, func(t *testing.T) {
				t.Parallel()
				harness(newPlace, bind).Run(t)
			})
		}
	}
}

func harness(newPlace func(testing.TB) place, bind func(testing.TB, *supacheckpoint.Store) checkpoint.Store) checkpointtest.Harness {
	var places, owners sync.Map
	open := func(tb testing.TB, p place) checkpoint.Store {
		whole := p.open(tb)
		store := bind(tb, whole)
		places.Store(store, p)
		owners.Store(store, whole)
		return store
	}
	return checkpointtest.Harness{
		Open: func(tb testing.TB) checkpoint.Store { return open(tb, newPlace(tb)) },
		Reopen: func(tb testing.TB, store checkpoint.Store) checkpoint.Store {
			whole, _ := owners.Load(store)
			whole.(*supacheckpoint.Store).Close()
			p, _ := places.Load(store)
			return open(tb, p.(place))
		},
		MaxValue: maxValue,
	}
}
