package sqlitecheckpoint_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/sqlitecheckpoint"
)

func manyWrites(n int) []checkpoint.Write {
	var writes []checkpoint.Write
	for i := range n {
		writes = append(writes, checkpoint.Write{Task: fmt.Sprint("task ", i), Channel: "results", Data: make([]byte, 100)})
	}
	return writes
}

// A superstep after several pending writes deletes them. It must not use the fast statement,
// which is for a parent without pending writes.
func TestStepAfterManyWritesSettlesThem(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	store := open(t, filepath.Join(t.TempDir(), "weft.db"), options)
	put(t, store, small(1), "")
	require.NoError(t, store.PutWrites(ctx, small(1).Key, manyWrites(10)))
	put(t, store, small(2), stepID(1))
	c, err := store.Get(ctx, small(1).Key)
	require.NoError(t, err)
	assert.Empty(t, c.Writes)
}

// BenchmarkPutWrites1000 compares a PutWrites of 1,000 results with a plain transaction of
// 1,000 rows.
func BenchmarkPutWrites1000(b *testing.B) {
	ctx := context.Background()
	store := open(b, filepath.Join(b.TempDir(), "store.db"), sqlitecheckpoint.Options{})
	require.NoError(b, store.Put(ctx, messageStep("thread", 1), ""))
	f := newFloor(b, sqlitecheckpoint.Full)
	_, err := f.db.Exec(`CREATE TABLE pending (step INTEGER NOT NULL, task TEXT NOT NULL, number INTEGER NOT NULL, data BLOB NOT NULL,
		PRIMARY KEY (step, task, number)) WITHOUT ROWID`)
	require.NoError(b, err)
	writes := manyWrites(1000)
	var ours, floors time.Duration
	for n := 0; b.Loop(); n++ {
		start := time.Now()
		require.NoError(b, store.PutWrites(ctx, checkpoint.Key{Thread: "thread", ID: stepID(1)}, writes))
		ours += time.Since(start)
		start = time.Now()
		tx, err := f.db.Begin()
		require.NoError(b, err)
		stmt, err := tx.Prepare(`INSERT OR REPLACE INTO pending (step, task, number, data) VALUES (?, ?, ?, ?)`)
		require.NoError(b, err)
		for _, w := range writes {
			_, err := stmt.Exec(1, w.Task, w.Index, w.Data)
			require.NoError(b, err)
		}
		require.NoError(b, tx.Commit())
		floors += time.Since(start)
	}
	b.ReportMetric(float64(ours)/float64(floors), "x-transaction")
}
