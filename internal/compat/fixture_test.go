package compat_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/pgcheckpoint"
	"github.com/weft-go/weft/checkpoint/sqlitecheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/internal/pgtest"
	"github.com/weft-go/weft/internal/supatest"
)

// A fixture is a database that version 0.1 wrote.
type fixture struct {
	store      string // "sqlite", "postgres" or "supabase"
	durability graph.Durability
	encrypted  bool
	killed     bool // the SQLite file was copied while its process was running
}

// fixtures returns every fixture.
func fixtures() []fixture {
	var list []fixture
	for _, d := range []graph.Durability{graph.Sync, graph.Async, graph.Exit} {
		list = append(list,
			fixture{store: "sqlite", durability: d}, fixture{store: "sqlite", durability: d, encrypted: true},
			fixture{store: "sqlite", durability: d, killed: true},
			fixture{store: "postgres", durability: d}, fixture{store: "postgres", durability: d, encrypted: true},
			fixture{store: "supabase", durability: d})
	}
	return list
}

func (f fixture) name() string {
	name := f.store + "-" + f.durability.String()
	if f.encrypted {
		name += "-encrypted"
	}
	if f.killed {
		name += "-killed"
	}
	return name
}

// holds reports whether the fixture has the thread of a scenario.
func (f fixture) holds(sc *scenario) bool { return f.store != "sqlite" || f.killed == sc.killed }

// keyRing returns the two keys of encrypted fixtures. The fixtures were encrypted with the
// first key. The second key was added later.
func keyRing(active string) checkpoint.KeyRing {
	return checkpoint.KeyRing{Active: active, Keys: map[string][]byte{
		"first": bytes.Repeat([]byte{1}, checkpoint.KeySize), "second": bytes.Repeat([]byte{2}, checkpoint.KeySize),
	}}
}

// open loads the fixture into a database and opens it with the current code.
func (f fixture) open(t *testing.T) checkpoint.Store {
	t.Helper()
	var store checkpoint.Store
	switch f.store {
	case "sqlite":
		store = f.openSQLite(t)
	case "postgres":
		store = f.openPostgres(t)
	case "supabase":
		store = f.openSupabase(t, pgtest.SchemaIn(t, supatest.Database(t, nil)))
	}
	if !f.encrypted {
		return store
	}
	sealed, err := checkpoint.Encrypted(store, keyRing("second"))
	require.NoError(t, err)
	return sealed
}

func (f fixture) openSQLite(t *testing.T) checkpoint.Store {
	t.Helper()
	path := filepath.Join(t.TempDir(), "weft.db")
	for _, ending := range []string{"", "-wal"} {
		data := readFile(t, f.name()+".db"+ending)
		if data == nil {
			require.Equal(t, "-wal", ending, "the file of %s is missing", f.name())
			continue
		}
		require.NoError(t, os.WriteFile(path+ending, data, 0o600))
	}
	store, err := sqlitecheckpoint.Open(t.Context(), path, sqlitecheckpoint.Options{Synchronous: sqlitecheckpoint.Normal})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	return store
}

func (f fixture) openPostgres(t *testing.T) checkpoint.Store {
	t.Helper()
	url := pgtest.DirectURL(t)
	o := pgcheckpoint.Options{Schema: pgtest.Schema(t)}
	f.loadCheckpoints(t, url, o.Schema)
	store, err := pgcheckpoint.Open(t.Context(), pgtest.URL(t), o)
	require.NoError(t, err)
	t.Cleanup(store.Close)
	return store
}

// readFile returns the contents of a compressed file in testdata. It returns nil if the
// file does not exist.
func readFile(t *testing.T, name string) []byte {
	t.Helper()
	file, err := os.Open(filepath.Join("testdata", name+".gz"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	require.NoError(t, err)
	defer file.Close()
	unzip, err := gzip.NewReader(file)
	require.NoError(t, err)
	data, err := io.ReadAll(unzip)
	require.NoError(t, err)
	return data
}

// expectations returns the expectations of all threads of the fixture, by thread.
func (f fixture) expectations(t *testing.T) map[string]*expectation {
	t.Helper()
	var all map[string]*expectation
	require.NoError(t, json.Unmarshal(readFile(t, f.name()+".json"), &all))
	return all
}
