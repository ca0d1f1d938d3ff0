package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
)

// times are measured durations.
type times []time.Duration

// percentile returns the duration that the given percentage of all durations does not exceed.
func (t times) percentile(percent int) time.Duration {
	if len(t) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(t))
	return sorted[min(len(sorted)*percent/100, len(sorted)-1)]
}

func milliseconds(d time.Duration) string {
	return fmt.Sprintf("%.1f ms", float64(d.Microseconds())/1000)
}

// A relation is a table or an index.
type relation struct {
	Name  string
	Table bool
	Bytes int64
}

// sizes prints the sizes of the tables and indexes.
func (p *place) sizes(ctx context.Context, threads int) error {
	rows, err := p.pool.Query(ctx, `SELECT c.relname, c.relkind = 'r', CASE c.relkind WHEN 'r' THEN pg_table_size(c.oid) ELSE pg_relation_size(c.oid) END
	FROM pg_class c WHERE c.relnamespace = $1::text::regnamespace AND c.relkind IN ('r', 'i') ORDER BY c.relkind DESC, 3 DESC`, p.schema)
	if err != nil {
		return err
	}
	list, err := pgx.CollectRows(rows, pgx.RowToStructByPos[relation])
	if err != nil {
		return err
	}
	total := int64(0)
	fmt.Println("| relation | MB | bytes a thread |\n| --- | --: | --: |")
	for _, r := range list {
		if total += r.Bytes; r.Bytes < 1<<20 {
			continue
		}
		what := "index "
		if r.Table {
			what = "table "
		}
		fmt.Printf("| %s`%s` | %.0f | %.0f |\n", what, r.Name, float64(r.Bytes)/(1<<20), float64(r.Bytes)/float64(threads))
	}
	fmt.Printf("| **sum** | %.0f | %.0f |\n\n", float64(total)/(1<<20), float64(total)/float64(threads))
	return nil
}

// dead prints how many rows wait for a vacuum.
func (p *place) dead(ctx context.Context, when string) error {
	var dead, live, vacuums int64
	err := p.pool.QueryRow(ctx, `SELECT sum(n_dead_tup)::bigint, sum(n_live_tup)::bigint, sum(autovacuum_count)::bigint FROM pg_stat_user_tables
	WHERE schemaname = $1`, p.schema).Scan(&dead, &live, &vacuums)
	if err == nil {
		fmt.Printf("%s, %d rows are dead and %d live, after %d runs of autovacuum.\n\n", when, dead, live, vacuums)
	}
	return err
}
