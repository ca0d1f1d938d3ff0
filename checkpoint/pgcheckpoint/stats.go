package pgcheckpoint

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/weft-go/weft/checkpoint"
)

// Stats describes the contents of a store.
type Stats struct {
	// Threads and Checkpoints are counted for the store's tenant.
	Threads     int64
	Checkpoints int64
	// Oldest is the time at which the oldest thread of the tenant was created. Newest is
	// the time of the newest checkpoint. Both are zero if there are no threads.
	Oldest, Newest time.Time
	// Bytes is the size of the tables and indexes on disk, for all tenants. Dead is the
	// fraction of rows that wait for a vacuum, from 0 to 1. The server estimates it.
	Bytes int64
	Dead  float64
}

const (
	// statsQuery has the parameter tenant.
	statsQuery = `SELECT count(*), coalesce(sum(t.steps), 0)::bigint, min(t.created), max(t.at)
	FROM weft.cp_thread t WHERE t.tenant = $1::text AND t.steps > 0`

	// sizeQuery has the parameter schema.
	sizeQuery = `SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint,
	coalesce(sum(s.n_dead_tup)::float8 / nullif(sum(s.n_live_tup + s.n_dead_tup), 0), 0)::float8
	FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
	LEFT JOIN pg_stat_user_tables s ON s.relid = c.oid
	WHERE n.nspname = $1::text AND c.relkind IN ('r', 'p') AND c.relname LIKE 'cp\_%'`
)

// Stats returns statistics of the store. It reads the row of every thread of the tenant, and
// the sizes of the tables.
func (s *Store) Stats(ctx context.Context) (Stats, error) {
	var st Stats
	var oldest, newest *time.Time
	err := s.queryWithin(ctx, maintenanceTimeout, statsQuery, []any{s.tenant}, func(rows pgx.Rows) error {
		return rows.Scan(&st.Threads, &st.Checkpoints, &oldest, &newest)
	})
	if err == nil {
		err = s.queryWithin(ctx, maintenanceTimeout, sizeQuery, []any{s.schema}, func(rows pgx.Rows) error {
			return rows.Scan(&st.Bytes, &st.Dead)
		})
	}
	if err != nil {
		return Stats{}, s.fail("stats", checkpoint.Key{}, err)
	}
	if oldest != nil {
		st.Oldest = *oldest
	}
	if newest != nil {
		st.Newest = *newest
	}
	return st, nil
}
