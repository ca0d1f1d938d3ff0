package graph_test

import (
	"iter"
	"maps"
	"path/filepath"
	"testing"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/checkpoint/sqlitecheckpoint"
)

// stores are what the tests of this package run on.
var stores = map[string]func(t testing.TB) checkpoint.Store{
	"memory": func(testing.TB) checkpoint.Store { return memcheckpoint.New(memcheckpoint.Options{}) },
	"sqlite": func(t testing.TB) checkpoint.Store {
		return openFile(t, filepath.Join(t.TempDir(), "weft.db"))
	},
}

// openFile opens a store in a file until the test ends. Its commits survive
// the end of a process, which is all that these tests bring about.
func openFile(t testing.TB, path string) *sqlitecheckpoint.Store {
	t.Helper()
	s, err := sqlitecheckpoint.Open(t.Context(), path, sqlitecheckpoint.Options{Synchronous: sqlitecheckpoint.Normal})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// eachStore runs a test on every store.
func eachStore(t *testing.T, test func(t *testing.T, s checkpoint.Store)) {
	t.Parallel()
	for name, open := range stores {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, open(t))
		})
	}
}

func mapKeys[K comparable, V any](m map[K]V) iter.Seq[K] { return maps.Keys(m) }
