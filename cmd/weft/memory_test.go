package main

import (
	"net/http"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint/pgcheckpoint"
	"github.com/weft-go/weft/checkpoint/sqlitecheckpoint"
	"github.com/weft-go/weft/internal/pgtest"
	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/driver"
	"github.com/weft-go/weft/memory/pgmemory"
	"github.com/weft-go/weft/memory/sqlitememory"
)

const tea = "Ann drinks tea, never coffee"

func remember(t *testing.T, b driver.Backend) {
	t.Helper()
	m, err := memory.New(b, memory.Options{})
	require.NoError(t, err)
	_, err = m.Store(t.Context(), memory.Scope{User: "ann"}, memory.Fact{Content: tea, Trust: memory.Stated})
	require.NoError(t, err)
}

// checkFacts reads the facts of a memory over HTTP: the newest ones, and the facts that a question finds.
func checkFacts(t *testing.T, address string) {
	t.Helper()
	status, data := fetch(t, http.MethodGet, address+"/weft/memory/scopes", "")
	require.Equal(t, http.StatusOK, status, "%s", data)
	assert.Contains(t, string(data), `"user":"ann"`)
	for _, text := range []string{"", "who drinks tea?"} {
		status, data = fetch(t, http.MethodPost, address+"/weft/memory/facts", `{"scope":{"user":"ann"},"text":"`+text+`"}`)
		require.Equal(t, http.StatusOK, status, "%s", data)
		assert.Contains(t, string(data), tea, text)
	}
}

func TestTheStudioShowsTheFactsOfAMemory(t *testing.T) {
	path, other := filepath.Join(t.TempDir(), "threads.db"), filepath.Join(t.TempDir(), "memory.db")
	s, err := sqlitecheckpoint.Open(t.Context(), path, sqlitecheckpoint.Options{})
	require.NoError(t, err)
	put(t, s, served)
	require.NoError(t, s.Close())
	status, data := fetch(t, http.MethodGet, start(t, "-db", path)+"/weft/memory/scopes", "")
	assert.Equal(t, http.StatusNotImplemented, status, "without a memory: %s", data)
	for _, file := range []string{other, path} {
		m, err := sqlitememory.Open(t.Context(), file, sqlitememory.Options{})
		require.NoError(t, err)
		remember(t, m)
		require.NoError(t, m.Close())
	}
	checkFacts(t, start(t, "-db", path))
	threads := filepath.Join(t.TempDir(), "only.db")
	s, err = sqlitecheckpoint.Open(t.Context(), threads, sqlitecheckpoint.Options{})
	require.NoError(t, err)
	require.NoError(t, s.Close())
	checkFacts(t, start(t, "-db", threads, "-memory", other))
}

func TestTheStudioShowsTheFactsOfAPostgreSQLDatabase(t *testing.T) {
	url, schema := pgtest.DirectURL(t), pgtest.Schema(t)
	s, err := pgcheckpoint.Open(t.Context(), url, pgcheckpoint.Options{Schema: schema})
	require.NoError(t, err)
	put(t, s, served)
	s.Close()
	m, err := pgmemory.Open(t.Context(), url, pgmemory.Options{Schema: schema})
	require.NoError(t, err)
	remember(t, m)
	m.Close()
	checkFacts(t, start(t, "-db", url, "-schema", schema))
}
