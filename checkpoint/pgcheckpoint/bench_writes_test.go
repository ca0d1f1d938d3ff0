package pgcheckpoint_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
)

// taskResults returns one result of 100 bytes for each of n tasks.
func taskResults(n int) []checkpoint.Write {
	writes := make([]checkpoint.Write, n)
	for i := range writes {
		writes[i] = checkpoint.Write{
			Task: fmt.Sprintf("worker:%016x", i), Channel: "results", Kind: 1, Data: fmt.Appendf(nil, `"%0100d"`, i),
		}
	}
	return writes
}

// BenchmarkPutWrites stores the results of 1,000 tasks in one call, and the same rows
// with one COPY.
func BenchmarkPutWrites(b *testing.B) {
	const tasks = 1000
	p := newPlace(b)
	store := p.open(b)
	writes := taskResults(tasks)
	step1 := func(i int) checkpoint.Checkpoint {
		c := step(fmt.Sprint("t", i), 1)
		require.NoError(b, store.Put(context.Background(), c, ""))
		return c
	}
	b.Run("store", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			b.StopTimer()
			c := step1(i)
			b.StartTimer()
			require.NoError(b, store.PutWrites(b.Context(), c.Key, writes))
			b.StopTimer()
			require.NoError(b, store.DeleteThread(b.Context(), c.Thread))
			b.StartTimer()
		}
	})
	b.Run("copy", func(b *testing.B) {
		conn := p.conn(b)
		rows := make([][]any, tasks)
		for i := 0; b.Loop(); i++ {
			b.StopTimer()
			for n, w := range writes {
				data := checkpoint.AppendChanges(nil, []checkpoint.Change{{Channel: w.Channel, Kind: w.Kind, Data: w.Data}})
				rows[n] = []any{int64(-1 - i), int32(1), w.Task, int64(0), data}
			}
			b.StartTimer()
			_, err := conn.CopyFrom(b.Context(), pgx.Identifier{p.options.Schema, "cp_write"},
				[]string{"thread", "seq", "task", "number", "data"}, pgx.CopyFromRows(rows))
			require.NoError(b, err)
			b.StopTimer()
			do(b, p, `DELETE FROM weft.cp_write WHERE thread < 0`)
			b.StartTimer()
		}
	})
}

// BenchmarkPendingWrites puts one write to a checkpoint with many pending writes, and reads
// that checkpoint.
func BenchmarkPendingWrites(b *testing.B) {
	for _, pending := range []int{20, 200, 2000} {
		store := newPlace(b).open(b)
		c := step("t", 1)
		require.NoError(b, store.Put(context.Background(), c, ""))
		require.NoError(b, store.PutWrites(context.Background(), c.Key, taskResults(pending)))
		b.Run(fmt.Sprint("put one of ", pending), func(b *testing.B) {
			one := []checkpoint.Write{{Task: "worker:answer", Channel: "results", Kind: 1, Data: []byte(`"yes"`)}}
			for b.Loop() {
				require.NoError(b, store.PutWrites(b.Context(), c.Key, one))
			}
		})
		b.Run(fmt.Sprint("get ", pending), func(b *testing.B) {
			for b.Loop() {
				got, err := store.Get(b.Context(), c.Key)
				require.NoError(b, err)
				require.GreaterOrEqual(b, len(got.Writes), pending)
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/float64(pending), "µs/write")
		})
	}
}
