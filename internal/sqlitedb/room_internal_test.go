package sqlitedb

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestCheckRoomCountsTheDiskAndTheFreePages(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	db, err := Open(ctx, filepath.Join(t.TempDir(), "a.db"), Options{Table: "migration"})
	require.NoError(t, err)
	defer func() { assert.NoError(t, db.Close()) }()
	var free uint64
	db.free = func(string) (uint64, error) { return free, nil }
	check := func() error { return db.Write(ctx, db.CheckRoom) }
	exec := func(query string) {
		require.NoError(t, db.Write(ctx, func(w *Session) error { _, err := w.Exec(query); return err }))
	}

	free = minFree
	require.NoError(t, check())
	free--
	require.Equal(t, Full, FaultOf(check()))
	require.ErrorContains(t, check(), "free space on the disk")
	free = 0
	exec(`CREATE TABLE t (b BLOB)`)
	exec(`INSERT INTO t VALUES (zeroblob(9 << 20))`)
	require.Equal(t, Full, FaultOf(check()))
	exec(`DELETE FROM t`)
	require.NoError(t, check(), "9 MB are free inside the file")
}
