package pgmemory_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/memory/driver"
)

// A call that runs several statements does not end the caller's transaction on the connection. If the call fails, it undoes
// only its own statements.
func TestTransactionOfTheCallerStaysOpen(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	p := directPlace(t)
	conn := p.conn(t)
	exec := func(sql string) {
		t.Helper()
		_, err := conn.Exec(ctx, sql)
		require.NoError(t, err)
	}
	open := func(what string) {
		t.Helper()
		require.Equal(t, "T", string(conn.PgConn().TxStatus()), what)
	}
	exec("BEGIN")
	db := p.migrated(t, conn)
	open("migrate")
	exec("COMMIT")

	exec("BEGIN")
	require.ErrorIs(t, db.Index(ctx, "m", 3), driver.ErrInvalid)
	swapIn(t, db.Documents(), ann, document("large", 100, nil))
	open("swap")
	saved := func(key string) []driver.SavedTurn {
		return []driver.SavedTurn{{Turn: driver.Turn{Key: key, Scope: ann, Payload: []byte(`{}`), Said: time.Now()}, State: driver.TurnWaiting}}
	}
	n, err := db.Turns().Restore(ctx, saved("kept"))
	require.NoError(t, err)
	assert.Equal(t, 1, n)
	open("restore")
	twice := document("twice", 100, nil)
	twice.Chunks[1].ID = twice.Chunks[0].ID
	require.Error(t, db.Documents().Swap(ctx, driver.SourceChange{Scope: ann, Swaps: []driver.SourceSwap{twice}}))
	open("a swap that fails")
	exec("COMMIT")
	assert.Equal(t, 1, ask[int](t, p, `SELECT count(*) FROM weft.mem_source`))
	wantCounts(t, "after the commit", db.Turns(), 1, 0)

	exec("BEGIN")
	swapIn(t, db.Documents(), ann, document("dropped", 100, nil))
	exec("ROLLBACK")
	assert.Equal(t, 1, ask[int](t, p, `SELECT count(*) FROM weft.mem_source`))
}
