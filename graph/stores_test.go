package graph_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/checkpoint/sqlitecheckpoint"
)

// stores opens an empty store of each kind that the tests of this package use.
var stores = map[string]func(t testing.TB) checkpoint.Store{
	"memory": func(testing.TB) checkpoint.Store { return memcheckpoint.New(memcheckpoint.Options{}) },
	"sqlite": func(t testing.TB) checkpoint.Store {
		return openFile(t, filepath.Join(t.TempDir(), "weft.db"))
	},
}

// openFile opens a SQLite store and closes it when the test ends. To be fast, its commits
// survive a crash of the process, but not a power failure.
func openFile(t testing.TB, path string) *sqlitecheckpoint.Store {
	t.Helper()
	s, err := sqlitecheckpoint.Open(t.Context(), path, sqlitecheckpoint.Options{Synchronous: sqlitecheckpoint.Normal})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.Close()) })
	return s
}

// eachStore runs the test once per store, in parallel with other tests.
func eachStore(t *testing.T, test func(t *testing.T, s checkpoint.Store)) {
	t.Parallel()
	onStores(t, test)
}

// onStores runs the test once per store, in parallel subtests of a test that is already
// parallel.
func onStores(t *testing.T, test func(t *testing.T, s checkpoint.Store)) {
	t.Helper()
	for name, open := range stores {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, open(t))
		})
	}
}
