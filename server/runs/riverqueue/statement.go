package riverqueue

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"

	"github.com/weft-go/weft/internal/pgdb"
	"github.com/weft-go/weft/server/runs"
)

// The package uses these statements to read and write River's table directly. They change only jobs of this package.
const (
	lockUser  = `SELECT pg_advisory_xact_lock(hashtextextended('weft queue ' || $1::text, 0))`
	countUser = `SELECT count(*) FROM weft.river_job
	WHERE kind = 'weft_thread' AND state IN ('available', 'retryable', 'running') AND args->>'owner' = $1::text`
	releaseHeld = `UPDATE weft.river_job SET state = 'available' WHERE id IN (
		SELECT id FROM weft.river_job WHERE kind = 'weft_thread' AND state = 'pending' AND args->>'owner' = $1::text
		ORDER BY priority, id LIMIT $2::int)`
	holders   = `SELECT DISTINCT args->>'owner' FROM weft.river_job WHERE kind = 'weft_thread' AND state = 'pending'`
	cutErrors = `UPDATE weft.river_job SET errors = errors[cardinality(errors) - $1::int + 1:]
	WHERE kind IN ('weft_thread', 'weft_task') AND state IN ('available', 'retryable', 'running') AND cardinality(errors) > $1::int`
	liveKeys = `SELECT coalesce(args->>'what', 'thread'), coalesce(args->>'key', args->>'thread') FROM weft.river_job
	WHERE kind IN ('weft_thread', 'weft_task') AND state IN ('available', 'pending', 'retryable', 'running', 'scheduled')`
	renewLeases = `UPDATE weft.river_job SET attempted_at = now() WHERE id = ANY($1::bigint[]) AND state = 'running' RETURNING id`
	endDead     = `UPDATE weft.river_job SET state = 'discarded', finalized_at = now(), errors = array_append(errors,
		jsonb_build_object('at', now(), 'attempt', attempt, 'error', 'the server of the job has died', 'trace', ''))
	WHERE id IN (
		SELECT id FROM weft.river_job WHERE state = 'running' AND kind IN ('weft_thread', 'weft_task')
		AND attempted_at < now() - make_interval(secs => $1::float8) FOR UPDATE SKIP LOCKED) AND state = 'running'
	RETURNING kind, args`
	stats = `SELECT
		count(*) FILTER (WHERE kind = 'weft_thread' AND state IN ('available', 'retryable')),
		count(*) FILTER (WHERE kind = 'weft_thread' AND state = 'pending'),
		count(*) FILTER (WHERE kind = 'weft_thread' AND state = 'running'),
		count(*) FILTER (WHERE kind = 'weft_task' AND state = 'scheduled'),
		count(*) FILTER (WHERE kind = 'weft_task' AND state = 'scheduled' AND args->>'what' = 'run'),
		coalesce(extract(epoch FROM now() - min(created_at) FILTER (WHERE kind = 'weft_thread' AND state <> 'running')), 0)::float8
	FROM weft.river_job WHERE state IN ('available', 'pending', 'retryable', 'running', 'scheduled')`
	notify   = `SELECT pg_notify($1, $2)`
	userJobs = `CREATE INDEX weft_river_owner ON weft.river_job ((args->>'owner'))
	WHERE kind = 'weft_thread' AND state IN ('available', 'pending', 'retryable', 'running')`
	migrating  = `SELECT pg_advisory_xact_lock(hashtextextended('weft queue migration ' || $1::text, 0))`
	haveSchema = `SELECT EXISTS (SELECT FROM pg_namespace WHERE nspname = $1::text)`
	haveIndex  = `SELECT EXISTS (SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
	WHERE nspname = $1::text AND relname = 'weft_river_owner')`
)

const statementTime = 10 * time.Second

// retries says for how long each statement is retried while the database cannot be reached, and the error after that.
var retries = pgdb.Retries{Patience: 15 * time.Second, Unreachable: errors.New("the database cannot be reached")}

func (q *Queue) sql(text string) string { return pgdb.InSchema(q.o.Schema, text) }

// rows sends a statement without effects and calls f for each row.
func (q *Queue) rows(ctx context.Context, sql string, args []any, f func(pgx.Rows) error) error {
	return retries.Do(ctx, statementTime, pgdb.AnyFault, func(ctx context.Context) error {
		rows, err := q.pool.Query(ctx, sql, args...)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			if err := f(rows); err != nil {
				return err
			}
		}
		return rows.Err()
	})
}

// Migrate creates the tables of a queue, or migrates them to this version, as [Queue.Start] does. Call it with a role
// that owns the tables, if the role of the servers may not create any. It uses two connections at the same time.
func Migrate(ctx context.Context, pool *pgxpool.Pool, o Options) error {
	q := New(pool, o)
	if err := q.migrate(ctx); err != nil {
		return fmt.Errorf("riverqueue: migrate: schema %q: %w", q.o.Schema, err)
	}
	return nil
}

// Migrated reports whether a schema has the tables of a queue in this version. It changes nothing.
func Migrated(ctx context.Context, pool *pgxpool.Pool, o Options) (bool, error) {
	q := New(pool, o)
	migrator, err := q.migrator()
	if err != nil {
		return false, err
	}
	there := false
	if err := pool.QueryRow(ctx, haveIndex, q.o.Schema).Scan(&there); err != nil || !there {
		return false, err
	}
	state, err := migrator.Validate(ctx, nil)
	if err != nil {
		return false, fmt.Errorf("riverqueue: migrated: schema %q: %w", q.o.Schema, err)
	}
	return state.OK, nil
}

func (q *Queue) migrator() (*rivermigrate.Migrator[pgx.Tx], error) {
	return rivermigrate.New(riverpgxv5.New(q.pool), &rivermigrate.Config{Schema: q.o.Schema, Logger: q.o.Logger})
}

// migrate applies the missing migrations of River. The transaction holds a lock against other servers, while River uses
// other connections.
func (q *Queue) migrate(ctx context.Context) error {
	migrator, err := q.migrator()
	if err != nil {
		return err
	}
	err = pgx.BeginFunc(ctx, q.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, migrating, q.o.Schema); err != nil {
			return err
		}
		there := false
		if err := q.pool.QueryRow(ctx, haveSchema, q.o.Schema).Scan(&there); err != nil {
			return err
		}
		if !there {
			if _, err := q.pool.Exec(ctx, `CREATE SCHEMA `+pgx.Identifier{q.o.Schema}.Sanitize()); err != nil {
				return err
			}
		}
		if _, err := migrator.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
			return fmt.Errorf("migrate: %w", err)
		}
		// CREATE INDEX IF NOT EXISTS would wait for transactions of other servers that store jobs, and block later ones.
		if err := q.pool.QueryRow(ctx, haveIndex, q.o.Schema).Scan(&there); err != nil || there {
			return err
		}
		_, err := q.pool.Exec(ctx, q.sql(userJobs))
		return err
	})
	return pgdb.Unprivileged(err, "weft threads migrate -queue")
}

// Stats implements [runs.Queue]. It also works without Start, for programs that only monitor the queue. It fails before
// the first server has created the tables.
func (q *Queue) Stats(ctx context.Context) (runs.QueueStats, error) {
	var s runs.QueueStats
	var oldest float64
	err := q.rows(ctx, q.sql(stats), nil, func(rows pgx.Rows) error {
		return rows.Scan(&s.Waiting, &s.Held, &s.Running, &s.Scheduled, &s.Delayed, &oldest)
	})
	if err != nil {
		return s, fmt.Errorf("riverqueue: stats: schema %q: %w", q.o.Schema, err)
	}
	s.Oldest, s.Rescued = time.Duration(oldest*float64(time.Second)), q.rescued.Load()
	return s, nil
}
