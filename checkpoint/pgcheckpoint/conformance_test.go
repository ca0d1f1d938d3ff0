package pgcheckpoint_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/checkpointtest"
	"github.com/weft-go/weft/checkpoint/pgcheckpoint"
)

func (p place) sql(text string) string {
	return strings.ReplaceAll(text, "weft.", p.options.Schema+".")
}

// harness runs the suite on stores with separate schemas.
func harness(newPlace func(testing.TB) place) checkpointtest.Harness {
	var places sync.Map
	open := func(tb testing.TB, p place) checkpoint.Store {
		store := p.open(tb)
		places.Store(checkpoint.Store(store), p)
		return store
	}
	where := func(store checkpoint.Store) place {
		p, _ := places.Load(store)
		return p.(place)
	}
	return checkpointtest.Harness{
		Open: func(tb testing.TB) checkpoint.Store { return open(tb, newPlace(tb)) },
		Reopen: func(tb testing.TB, store checkpoint.Store) checkpoint.Store {
			store.(*pgcheckpoint.Store).Close()
			return open(tb, where(store))
		},
		Corrupt: func(tb testing.TB, store checkpoint.Store, k checkpoint.Key, offset int) bool {
			return flipStored(tb, where(store), k, offset)
		},
		MaxValue: maxValue,
	}
}

func TestConformance(t *testing.T) {
	t.Parallel()
	harness(newPlace).Run(t)
}

// The store passes the suite with the simple protocol, in which arguments are text.
func TestConformanceSimpleProtocol(t *testing.T) {
	t.Parallel()
	checkpointtest.Harness{
		Open: func(tb testing.TB) checkpoint.Store {
			p := newPlace(tb)
			return p.migrated(tb, p.pool(tb, func(c *pgxpool.Config) {
				c.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeSimpleProtocol
			}))
		},
		MaxValue: maxValue,
	}.Run(t)
}

// flipStored flips a bit of the byte at the offset of a checkpoint's stored values: changes,
// snapshot, control and pending writes, in this order. It returns false if they are shorter.
func flipStored(tb testing.TB, p place, k checkpoint.Key, offset int) bool {
	tb.Helper()
	ctx := context.Background()
	conn := p.conn(tb)
	defer conn.Close(ctx)
	var thread int64
	var seq int32
	err := conn.QueryRow(ctx, p.sql(`SELECT s.thread, s.seq FROM weft.cp_step s JOIN weft.cp_thread t ON t.key = s.thread
		WHERE t.id = $1 AND coalesce(s.name, s.id::text) = $2`), k.Thread, k.ID).Scan(&thread, &seq)
	require.NoError(tb, err)
	for _, column := range []string{"changes", "snapshot", "control"} {
		if flipValue(tb, conn, p.sql(`weft.cp_step`), column, []any{thread, seq, "", 0}, &offset) {
			return true
		}
	}
	rows, err := conn.Query(ctx, p.sql(`SELECT task, number FROM weft.cp_write WHERE thread = $1 AND seq = $2 ORDER BY task, number`), thread, seq)
	require.NoError(tb, err)
	type write struct {
		Task   string
		Number int64
	}
	writes, err := pgx.CollectRows(rows, pgx.RowToStructByPos[write])
	require.NoError(tb, err)
	for _, w := range writes {
		if flipValue(tb, conn, p.sql(`weft.cp_write`), "data", []any{thread, seq, w.Task, w.Number}, &offset) {
			return true
		}
	}
	return false
}

// flipValue flips a bit of the byte at the offset of a value. If the value is shorter, it
// subtracts its length from the offset and returns false.
func flipValue(tb testing.TB, conn *pgx.Conn, table, column string, key []any, offset *int) bool {
	tb.Helper()
	ctx := context.Background()
	where := ` WHERE thread = $1 AND seq = $2 AND $3::text IS NOT NULL AND $4::bigint IS NOT NULL`
	if column == "data" {
		where += ` AND task = $3 AND number = $4`
	}
	var size *int
	require.NoError(tb, conn.QueryRow(ctx, `SELECT length(`+column+`) FROM `+table+where, key...).Scan(&size))
	if size == nil || *offset >= *size {
		if size != nil {
			*offset -= *size
		}
		return false
	}
	_, err := conn.Exec(ctx, `UPDATE `+table+` SET `+column+` = set_byte(`+column+`, $5, get_byte(`+column+`, $5) # $6)`+where,
		append(key, *offset, 1<<(*offset%8))...)
	require.NoError(tb, err)
	return true
}
