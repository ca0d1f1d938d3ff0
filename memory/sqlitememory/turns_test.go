package sqlitememory_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/memory/driver"
	"github.com/weft-go/weft/memory/drivertest"
	"github.com/weft-go/weft/memory/sqlitememory"
)

func openDB(tb testing.TB) *sqlitememory.DB {
	tb.Helper()
	db, err := sqlitememory.Open(tb.Context(), filepath.Join(tb.TempDir(), "memory.db"), sqlitememory.Options{})
	require.NoError(tb, err)
	tb.Cleanup(func() { assert.NoError(tb, db.Close()) })
	return db
}

func TestTurns(t *testing.T) {
	t.Parallel()
	drivertest.RunTurns(t, func(tb testing.TB) driver.TurnStore { return openDB(tb).Turns() })
}

// Forget removes the turns of a user, and older turns are not accepted later.
func TestForgetTurns(t *testing.T) {
	t.Parallel()
	db := openDB(t)
	ann, elsewhere := driver.Scope{User: "ann"}, driver.Scope{User: "ann", Agent: "a"}
	before := time.Now()
	require.NoError(t, db.Turns().Enqueue(t.Context(), driver.Turn{Key: "1", Scope: ann, Payload: []byte(`{"user":"a secret"}`)}))
	_, err := db.Facts().Forget(t.Context(), ann)
	require.NoError(t, err)
	c, err := db.Turns().Count(t.Context())
	require.NoError(t, err)
	assert.Zero(t, c)
	bob := driver.Scope{User: "bob"}
	for _, j := range []driver.Turn{
		{Key: "2", Scope: ann, Said: before},
		{Key: "3", Scope: elsewhere, Said: before},
		{Key: "4", Scope: ann, Said: time.Now()},
		{Key: "5", Scope: bob, Said: before},
	} {
		j.Payload = []byte(`{}`)
		require.NoError(t, db.Turns().Enqueue(t.Context(), j))
	}
	jobs, err := db.Turns().Claim(t.Context(), 9, time.Minute)
	require.NoError(t, err)
	var keys []string
	for _, j := range jobs {
		keys = append(keys, j.Key)
	}
	assert.Equal(t, []string{"4", "5"}, keys, "the turn after Forget, and the turn of another user")
}
