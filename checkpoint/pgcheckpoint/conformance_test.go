package pgcheckpoint_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/checkpointtest"
	"github.com/weft-go/weft/checkpoint/pgcheckpoint"
)

func (p place) sql(text string) string {
	return strings.ReplaceAll(text, "weft.", p.options.Schema+".")
}

// harness runs the suite on stores in places of their own.
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
			return flip(tb, where(store), k, offset)
		},
		MaxValue: maxValue,
	}
}

func TestConformance(t *testing.T) {
	t.Parallel()
	harness(newPlace).Run(t)
}

// What is sent as plain text takes another way through everything.
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

// flip flips a bit of what is stored of a checkpoint's values.
func flip(tb testing.TB, p place, k checkpoint.Key, offset int) bool {
	tb.Helper()
	ctx := context.Background()
	conn := p.conn(tb)
	defer conn.Close(ctx)
	var thread int64
	var seq int32
	err := conn.QueryRow(ctx, p.sql(`SELECT s.thread, s.seq FROM weft.cp_step s JOIN weft.cp_thread t ON t.key = s.thread
		WHERE t.id = $1 AND coalesce(s.name, s.id::text) = $2`), k.Thread, k.ID).Scan(&thread, &seq)
	if err != nil {
		tb.Fatal(err)
	}
	for _, column := range []string{"changes", "snapshot", "control"} {
		if flipValue(tb, conn, p.sql(`weft.cp_step`), column, []any{thread, seq, "", 0}, &offset) {
			return true
		}
	}
	rows, err := conn.Query(ctx, p.sql(`SELECT task, number FROM weft.cp_write WHERE thread = $1 AND seq = $2 ORDER BY task, number`), thread, seq)
	if err != nil {
		tb.Fatal(err)
	}
	type write struct {
		Task   string
		Number int64
	}
	writes, err := pgx.CollectRows(rows, pgx.RowToStructByPos[write])
	if err != nil {
		tb.Fatal(err)
	}
	for _, w := range writes {
		if flipValue(tb, conn, p.sql(`weft.cp_write`), "data", []any{thread, seq, w.Task, w.Number}, &offset) {
			return true
		}
	}
	return false
}

// flipValue takes the size of a value from an offset that is beyond it.
func flipValue(tb testing.TB, conn *pgx.Conn, table, column string, key []any, offset *int) bool {
	tb.Helper()
	ctx := context.Background()
	where := ` WHERE thread = $1 AND seq = $2 AND $3::text IS NOT NULL AND $4::bigint IS NOT NULL`
	if column == "data" {
		where += ` AND task = $3 AND number = $4`
	}
	var size *int
	if err := conn.QueryRow(ctx, `SELECT length(`+column+`) FROM `+table+where, key...).Scan(&size); err != nil {
		tb.Fatal(err)
	}
	if size == nil || *offset >= *size {
		if size != nil {
			*offset -= *size
		}
		return false
	}
	_, err := conn.Exec(ctx, `UPDATE `+table+` SET `+column+` = set_byte(`+column+`, $5, get_byte(`+column+`, $5) # $6)`+where,
		append(key, *offset, 1<<(*offset%8))...)
	if err != nil {
		tb.Fatal(err)
	}
	return true
}
