package server

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/weft-go/weft/server/runs"
)

// sweep adds missing jobs, corrects the status of threads, and removes old events and expired threads, for all servers
// that share a queue. Jobs are missing if a server has died between two statements. If one part fails, sweep still
// executes the other parts.
func (s *Server) sweep(ctx context.Context) error {
	at := time.Now()
	busy, runErr := s.sweepRuns(ctx, at)
	cronErr := s.sweepCrons(ctx)
	restErr := s.restThreads(func(t *runs.Record) bool { return busy[t.ID] || at.Sub(t.Updated) < reserveTime })
	return errors.Join(runErr, cronErr, restErr, s.trim(), s.expire(ctx))
}

// sweepRuns adds the jobs of runs that have not ended. It returns the threads that have a run to execute.
func (s *Server) sweepRuns(ctx context.Context, at time.Time) (busy map[string]bool, err error) {
	var due []storedRun
	var jobs []runs.Job
	err = s.each(ctx, runs.Query{Kind: runs.Run, Statuses: unfinishedStatuses}, func(r *runs.Record) error {
		d, err := readRun(r)
		switch {
		case err != nil:
			return err
		case d.After.After(at):
			jobs = append(jobs, runs.Job{Kind: runs.JobRun, Key: r.ID, At: d.After})
		default: // do not keep the input in memory
			r.Metadata, r.Data = nil, nil
			due = append(due, storedRun{*r, &runData{Assistant: d.Assistant, After: d.After}})
		}
		return nil
	})
	sortDue(due)
	busy = map[string]bool{}
	for i := range due {
		if !busy[due[i].Parent] {
			busy[due[i].Parent] = true
			jobs = append(jobs, due[i].job())
		}
	}
	return busy, errors.Join(err, s.addJobs(ctx, jobs))
}

// sweepCrons adds the jobs of crons.
func (s *Server) sweepCrons(ctx context.Context) error {
	var jobs []runs.Job
	err := s.each(ctx, runs.Query{Kind: runs.Cron}, func(r *runs.Record) error {
		_, d, err := readCron(*r)
		if err == nil && d.Next != nil {
			jobs = append(jobs, runs.Job{Kind: runs.JobCron, Key: r.ID, At: *d.Next})
		}
		return err
	})
	return errors.Join(err, s.addJobs(ctx, jobs))
}

func (s *Server) addJobs(ctx context.Context, jobs []runs.Job) error {
	if len(jobs) == 0 {
		return nil
	}
	return s.o.Queue.Add(ctx, jobs...)
}

// sweepPage is the number of records that a sweep reads with one search.
const sweepPage = 500

// each calls f for the records of a query, and joins its errors. If records change meanwhile, it may miss some: the next
// sweep finds them.
func (s *Server) each(ctx context.Context, q runs.Query, f func(*runs.Record) error) error {
	var errs error
	for q.Limit, q.Uncounted = sweepPage, true; ; q.Offset += sweepPage {
		found, _, err := s.o.Runs.Search(ctx, q)
		if err != nil {
			return errors.Join(errs, err)
		}
		for i := range found {
			if err := f(&found[i]); err != nil {
				errs = errors.Join(errs, fmt.Errorf("%s %s: %w", q.Kind, found[i].ID, err))
			}
		}
		if len(found) < sweepPage {
			return errs
		}
	}
}
