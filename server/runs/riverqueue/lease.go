package riverqueue

import (
	"context"
	"encoding/json"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"github.com/weft-go/weft/internal/pgdb"
	"github.com/weft-go/weft/server/runs"
)

// renew renews the leases of the jobs that are executed, and takes the jobs of servers that have died, until ctx ends.
// The lease of a job is the column attempted_at. River itself sets it when a job begins, and does not rescue jobs without
// a time limit.
func (q *Queue) renew(ctx context.Context) {
	tick := time.NewTicker(q.o.Lease / renewals)
	defer tick.Stop()
	for since := time.Now(); ; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		begun := time.Now()
		err := q.renewOnce(ctx)
		if err == nil && begun.Sub(since) > q.o.Lease {
			err = q.rescue(ctx, begun)
		}
		if err != nil && ctx.Err() == nil {
			q.o.Logger.Error("riverqueue: the leases of jobs were not renewed", "error", err)
		}
		// After an outage or slowness of the database, give the other servers time to renew their leases.
		if err != nil || q.slow(begun) {
			since = time.Now()
		}
	}
}

// slow reports whether the database was slow for so long that other servers may have missed a renewal.
func (q *Queue) slow(begun time.Time) bool { return time.Since(begun) > q.o.Lease/renewals }

// renewals is the number of renewals in the time of a lease.
const renewals = 4

// renewOnce renews the leases. It cancels the jobs whose lease is lost.
func (q *Queue) renewOnce(ctx context.Context) error {
	q.mu.Lock()
	ids := make([]int64, 0, len(q.held))
	for id := range q.held {
		ids = append(ids, id)
	}
	q.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, q.o.Lease)
	defer cancel()
	if len(ids) == 0 {
		return q.pool.Ping(ctx)
	}
	kept := map[int64]bool{}
	rows, err := q.pool.Query(ctx, q.sql(renewLeases), ids)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			return err
		}
		kept[id] = true
	}
	if err := rows.Err(); err != nil {
		return err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, id := range ids {
		if end := q.held[id]; end != nil && !kept[id] {
			end(errLost)
		}
	}
	return nil
}

// A deadJob is a job whose server has died.
type deadJob struct {
	kind string
	args []byte
}

// rescue takes the jobs of servers that have died. It ends each job and adds a new one, so that a server that was only
// slow cannot end a job that another one executes. It takes no job if the database was slow since begun. Slowness after
// the begin of the transaction does no harm, because the transaction compares leases with that time.
func (q *Queue) rescue(ctx context.Context, begun time.Time) error {
	n, threads := 0, 0
	err := retries.Do(ctx, statementTime, pgdb.Unsent, func(ctx context.Context) error {
		return pgx.BeginFunc(ctx, q.pool, func(tx pgx.Tx) error {
			if n = 0; q.slow(begun) {
				return nil
			}
			rows, err := tx.Query(ctx, q.sql(endDead), q.o.Lease.Seconds())
			if err != nil {
				return err
			}
			dead, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (d deadJob, err error) {
				return d, row.Scan(&d.kind, &d.args)
			})
			if err != nil || len(dead) == 0 {
				return err
			}
			n, threads = len(dead), 0
			again := make([]river.InsertManyParams, n)
			for i := range dead {
				if dead[i].kind == threadKind {
					threads++
				}
				if again[i], err = q.again(&dead[i]); err != nil {
					return err
				}
			}
			_, err = q.client.InsertManyTx(ctx, tx, again)
			return err
		})
	})
	if err == nil && n > 0 {
		q.rescued.Add(int64(n))
		q.o.Logger.Warn("riverqueue: took the jobs of servers that have died", "jobs", n, "threads", threads)
	}
	return err
}

// again returns a new job that replaces the job of a dead server.
func (q *Queue) again(d *deadJob) (river.InsertManyParams, error) {
	var j runs.Job
	if d.kind == threadKind {
		var a threadArgs
		if err := json.Unmarshal(d.args, &a); err != nil {
			return river.InsertManyParams{}, err
		}
		j = runs.Job{Kind: runs.JobThread, Key: a.Thread, Owner: a.Owner, Graph: a.Graph, Assistant: a.Assistant, Rescued: a.Rescued + 1}
	} else {
		var a taskArgs
		if err := json.Unmarshal(d.args, &a); err != nil {
			return river.InsertManyParams{}, err
		}
		j = runs.Job{Kind: a.What, Key: a.Key, At: a.At}
	}
	args, opts := q.insertion(&j)
	return river.InsertManyParams{Args: args, InsertOpts: opts}, nil
}
