package pgcheckpoint

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/weft-go/weft/checkpoint"
)

// Stats say how much a store holds.
type Stats struct {
	// Threads and Checkpoints are those of the store's tenant.
	Threads     int64
	Checkpoints int64
	// Oldest and Newest are the times of the first and the last change to a
	// thread of the tenant; zero when there is none.
	Oldest, Newest time.Time
	// Bytes is what the tables take on disk with their indexes, those of all
	// tenants together, and Dead how much of their rows waits for a vacuum, from
	// 0 to 1, as far as the server knows.
	Bytes int64
	Dead  float64
}

const (
	// statsQuery takes tenant.
	statsQuery = `SELECT count(*), coalesce(sum(t.steps), 0)::bigint, min(t.created), max(t.at)
	FROM weft.cp_thread t WHERE t.tenant = $1::text AND t.steps > 0`

	// sizeQuery takes the schema.
	sizeQuery = `SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint,
	coalesce(sum(s.n_dead_tup)::float8 / nullif(sum(s.n_live_tup + s.n_dead_tup), 0), 0)::float8
	FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
	LEFT JOIN pg_stat_user_tables s ON s.relid = c.oid
	WHERE n.nspname = $1::text AND c.relkind IN ('r', 'p') AND c.relname LIKE 'cp\_%'`
)

// Stats looks at every thread of the store's tenant, and at the sizes of its tables.
func (s *Store) Stats(ctx context.Context) (Stats, error) {
	var st Stats
	var oldest, newest *time.Time
	err := s.queryWithin(ctx, labour, statsQuery, []any{s.tenant}, func(rows pgx.Rows) error {
		return rows.Scan(&st.Threads, &st.Checkpoints, &oldest, &newest)
	})
	if err == nil {
		err = s.queryWithin(ctx, labour, sizeQuery, []any{s.schema}, func(rows pgx.Rows) error {
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
