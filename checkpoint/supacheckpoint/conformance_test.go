package supacheckpoint_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/checkpointtest"
	"github.com/weft-go/weft/checkpoint/supacheckpoint"
)

// A bindFunc returns the store that a test uses: the store of the service itself, or one that
// is bound to a user.
type bindFunc func(tb testing.TB, whole *supacheckpoint.Store, user string) *supacheckpoint.Store

func forService(_ testing.TB, whole *supacheckpoint.Store, _ string) *supacheckpoint.Store {
	return whole
}

func forUser(tb testing.TB, whole *supacheckpoint.Store, user string) *supacheckpoint.Store {
	tb.Helper()
	store, err := whole.For(user)
	require.NoError(tb, err)
	return store
}

// The store passes the tests of checkpointtest for the service and for a user, on a direct
// connection and through a PgBouncer. Each case of the service has its own schema. The cases of
// users share one schema, as in a project, and each has its own user.
func TestConformance(t *testing.T) {
	t.Parallel()
	for name, newPlace := range places {
		shared := newPlace(t)
		users := func(testing.TB) place { return shared }
		suites := map[string]checkpointtest.Harness{"service": harness(newPlace, forService), "user": harness(users, as)}
		if name == "direct" { // one way to connect is enough: only the tenant differs
			suites["service for a user"] = harness(users, forUser)
		}
		for who, h := range suites {
			t.Run(who+", "+name, func(t *testing.T) {
				t.Parallel()
				h.Run(t)
			})
		}
	}
}

func harness(newPlace func(testing.TB) place, bind bindFunc) checkpointtest.Harness {
	type opened struct {
		place place
		whole *supacheckpoint.Store
		user  string
	}
	var stores sync.Map
	open := func(tb testing.TB, p place, user string) checkpoint.Store {
		whole := p.open(tb)
		store := bind(tb, whole, user)
		stores.Store(checkpoint.Store(store), opened{p, whole, user})
		return store
	}
	return checkpointtest.Harness{
		Open: func(tb testing.TB) checkpoint.Store { return open(tb, newPlace(tb), newUser()) },
		Reopen: func(tb testing.TB, store checkpoint.Store) checkpoint.Store {
			found, _ := stores.Load(store)
			o := found.(opened)
			o.whole.Close()
			return open(tb, o.place, o.user)
		},
		MaxValue: maxValue,
	}
}

// newUser returns a random user id.
func newUser() string {
	return fmt.Sprintf("%08x-0000-4000-8000-%012x", rand.Uint32(), rand.Uint64N(1<<48))
}
