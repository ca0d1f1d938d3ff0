package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/internal/uuid"
	"github.com/weft-go/weft/server/runs"
)

// This file and replica.go are for servers that share a queue. The records have the unfinished runs, and the queue
// decides which server executes the next run of a thread.

// errSuperseded says that another server executes the run, or has ended it.
var errSuperseded = errors.New("another server has the run")

// maxDeaths is the number of servers that may die at the same checkpoint of a run. Then the run fails.
const maxDeaths = 5

// startQueue begins to receive jobs from the queue.
func (s *Server) startQueue() error {
	err := s.o.Queue.Start(s.ctx, runs.Worker{Slots: s.o.MaxRuns, Do: s.work, Done: s.worked, Changed: s.changed})
	if err != nil {
		return err
	}
	s.running.Go(s.countQueue)
	s.running.Go(func() { // find the work that earlier servers left
		if err := safely(func() error { return s.sweep(s.ctx) }); err != nil && s.ctx.Err() == nil {
			s.o.Logger.Error("server: work without a job was not looked for", "error", err)
		}
	})
	return nil
}

// countQueue reads the statistics of the queue once a second, for its limit and for metrics.
func (s *Server) countQueue() {
	tick := time.NewTicker(countTick)
	defer tick.Stop()
	for {
		if stats, err := s.o.Queue.Stats(s.ctx); err == nil {
			s.queued.Store(&stats)
		} else if s.ctx.Err() == nil {
			s.o.Logger.Error("server: the queue was not counted", "error", err)
		}
		select {
		case <-s.ctx.Done():
			return
		case <-tick.C:
		}
	}
}

const countTick = time.Second

// queueStats returns the last statistics that countQueue has read.
func (s *Server) queueStats() runs.QueueStats {
	if stats := s.queued.Load(); stats != nil {
		return *stats
	}
	return runs.QueueStats{}
}

// work executes a job.
func (s *Server) work(ctx context.Context, j runs.Job) error {
	switch j.Kind {
	case runs.JobThread:
		return s.executeNext(ctx, &j)
	case runs.JobRun:
		return s.joinDelayed(ctx, j.Key)
	case runs.JobCron:
		return s.fireAt(ctx, j.Key, j.At)
	case runs.JobSweep:
		return s.sweep(ctx)
	}
	return nil
}

// worked adds the job of the next run of a thread.
func (s *Server) worked(ctx context.Context, j runs.Job) {
	if j.Kind != runs.JobThread {
		return
	}
	err := s.addThread(ctx, j.Key)
	if err != nil && ctx.Err() == nil { // a sweep will do it
		s.o.Logger.Error("server: the next run of a thread was not queued", "thread", j.Key, "error", err)
	}
}

// addThread adds the job of a thread, if it has a run to execute.
func (s *Server) addThread(ctx context.Context, thread string) error {
	next, err := s.unfinished(ctx, thread)
	if err != nil || len(next) == 0 {
		return err
	}
	return s.o.Queue.Add(ctx, next[0].job())
}

// A storedRun is the record of a run that has not ended.
type storedRun struct {
	runs.Record
	data *runData
}

// job returns the job of the thread of a run.
func (r *storedRun) job() runs.Job {
	return runs.Job{Kind: runs.JobThread, Key: r.Parent, Owner: r.Owner, Graph: r.Graph, Assistant: r.data.Assistant}
}

// due returns the time since when the run has waited for its turn.
func (r *storedRun) due() time.Time {
	if r.data.After.After(r.Created) {
		return r.data.After
	}
	return r.Created
}

var unfinishedStatuses = []string{runPending, runRunning}

// unfinished returns the runs of a thread that are executed or wait for their turn, in the order of their execution.
func (s *Server) unfinished(ctx context.Context, thread string) ([]storedRun, error) {
	found, _, err := s.o.Runs.Search(ctx, runs.Query{Kind: runs.Run, Parent: thread, Statuses: unfinishedStatuses})
	if err != nil {
		return nil, err
	}
	return ordered(found, time.Now())
}

// ordered returns the runs that are not delayed any more, in the order of their execution. A run that has begun comes
// first.
func ordered(found []runs.Record, now time.Time) ([]storedRun, error) {
	list := make([]storedRun, 0, len(found))
	for i := range found {
		d, err := readRun(&found[i])
		if err != nil {
			return nil, err
		}
		if !d.After.After(now) {
			list = append(list, storedRun{found[i], d})
		}
	}
	sortDue(list)
	return list, nil
}

// sortDue sorts runs in the order of their execution.
func sortDue(list []storedRun) {
	slices.SortStableFunc(list, func(a, b storedRun) int {
		if c := boolOrder(a.begun(), b.begun()); c != 0 {
			return c
		}
		return a.due().Compare(b.due())
	})
}

// begun reports whether a server has begun the run. A run is pending again if its server was drained.
func (r *storedRun) begun() bool { return r.Status == runRunning || r.data.Started }

// others reports whether the thread has other runs that are executed or wait.
func (s *Server) others(ctx context.Context, a *activeRun) (bool, error) {
	list, err := s.unfinished(ctx, a.thread)
	return slices.ContainsFunc(list, func(r storedRun) bool { return r.ID != a.id }), err
}

// executeNext executes the first run of a thread. If the previous server of the run was only slow and has not died, it
// can no longer store anything of the run.
func (s *Server) executeNext(ctx context.Context, j *runs.Job) error {
	list, err := s.unfinished(ctx, j.Key)
	if err != nil || len(list) == 0 {
		return err
	}
	for i := range list { // cancel again, in case the server that accepted the run has died
		if how := strategyCancels(list[i].data.Request.Multitask); how != notCanceled {
			if err := s.cancelBefore(ctx, list[:i], how); err != nil {
				return err
			}
		}
	}
	if s.graphs[list[0].Graph] == nil && needsGraph(list[0].data) { // a server that has the graph must execute the run
		return &runs.HandOverError{After: graphPause}
	}
	a, err := s.claim(ctx, list[0].ID, notCanceled)
	if errors.Is(err, errEnded) || errors.Is(err, runs.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := s.activate(a); err != nil {
		return runs.ErrHandOver
	}
	defer s.running.Done()
	if a.data.Attempt > 0 {
		s.o.Logger.Debug("server: continues a run that another server has begun", "run", a.id, "thread", a.thread, "attempts", a.data.Attempt, "rescued", j.Rescued)
	}
	unhook := context.AfterFunc(ctx, func() { a.stop(lostRun) })
	defer unhook()
	s.finish(a, s.executeAgain(a, j))
	switch {
	case a.cancellation() == lostRun:
		return context.Cause(ctx)
	case a.drained.Load():
		return runs.ErrHandOver
	}
	return nil
}

// needsGraph reports whether only a server that has the graph of a run can end the run. To roll back a run that has
// begun, a server needs the checkpoints of the graph.
func needsGraph(d *runData) bool {
	return d.Cancel == "" || d.Cancel == multitaskRollback && d.Attempt > 0
}

// graphPause is the time after which the queue offers the job of a run or cron again, to find a server that has the
// graph.
const graphPause = 3 * time.Second

// executeAgain executes a run. It fails the run if maxDeaths servers have died while they executed it, without a new
// checkpoint in between.
func (s *Server) executeAgain(a *activeRun, j *runs.Job) *outcome {
	died := j.Rescued > a.data.Rescued // a hand-over counts no new death
	a.data.Rescued = j.Rescued
	if died && a.g != nil {
		var c checkpoint.Checkpoint
		out := s.outlast(a, func() *outcome {
			var err error
			if c, err = a.g.graph.Checkpoints().Get(a.background(), checkpoint.Key{Thread: a.thread}); err != nil && !errors.Is(err, checkpoint.ErrNotFound) {
				return failedOutcome(err)
			}
			return &outcome{}
		})
		if out.status != "" {
			return out
		}
		if c.ID != a.data.DiedAt {
			a.data.DiedAt, a.data.Deaths = c.ID, 0
		}
		if a.data.Deaths++; a.data.Deaths >= maxDeaths {
			text := fmt.Sprintf("the run was stopped: %d servers have died while they executed it, without a new checkpoint", a.data.Deaths)
			return failureOutcome(&requestError{"Error", text})
		}
	}
	return s.execute(a)
}

// strategyCancels returns how a run with a strategy cancels the runs before it.
func strategyCancels(strategy string) cancellation {
	switch strategy {
	case multitaskInterrupt:
		return interruptRun
	case multitaskRollback:
		return rollbackRun
	}
	return notCanceled
}

// claim stores that this server executes a run, and returns the run. With a cancellation, it cancels the run, and claims
// it only if no server executes it.
func (s *Server) claim(ctx context.Context, id string, how cancellation) (*activeRun, error) {
	token := uuid.New()
	r, err := s.change(ctx, runs.Run, id, func(r *runs.Record) error {
		if r.Status != runPending && r.Status != runRunning {
			return errEnded
		}
		d, err := readRun(r)
		if err != nil {
			return err
		}
		d.Cancel = stronger(d.Cancel, how)
		if how == notCanceled || r.Status == runPending {
			d.Worker = token
		}
		r.Data = encoded(d)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return newActiveRun(r, s.graphs[r.Graph])
}

// stronger returns the stronger one of two cancellations, in its stored form.
func stronger(stored string, how cancellation) string {
	switch max(how, strategyCancels(stored)) {
	case interruptRun:
		return multitaskInterrupt
	case rollbackRun:
		return multitaskRollback
	}
	return ""
}

// activate adds a run to the active runs of this process.
func (s *Server) activate(a *activeRun) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return errClosed
	}
	if err := s.accounts.take(a.record.Owner, a.size, false); err != nil {
		return err
	}
	s.active[a.id], a.counted = a, true
	s.lanes[a.thread] = &lane{runs: []*activeRun{a}}
	s.running.Add(1)
	return nil
}

// adopt applies a cancellation that another server has stored for a run. It returns errSuperseded if another server has
// claimed the run.
func (s *Server) adopt(a *activeRun, r *runs.Record) error {
	if s.o.Queue == nil {
		return nil
	}
	d, err := readRun(r)
	if err != nil {
		return err
	}
	if d.Worker != a.data.Worker {
		a.stop(lostRun)
		return errSuperseded
	}
	if how := strategyCancels(d.Cancel); how > a.cancellation() {
		a.stop(how)
	}
	return nil
}

// owns returns errSuperseded if another server has claimed the run, or the run was deleted.
func (s *Server) owns(ctx context.Context, a *activeRun) error {
	r, err := s.o.Runs.Get(ctx, runs.Run, a.id)
	if errors.Is(err, runs.ErrNotFound) {
		a.stop(lostRun)
		return errSuperseded
	}
	if err != nil {
		return err
	}
	return s.adopt(a, &r)
}

// joinDelayed puts a delayed run into the queue of its thread when the delay is over.
func (s *Server) joinDelayed(ctx context.Context, id string) error {
	r, err := s.o.Runs.Get(ctx, runs.Run, id)
	if errors.Is(err, runs.ErrNotFound) || err == nil && r.Status != runPending {
		return nil
	}
	if err == nil {
		err = s.setBusy(ctx, r.Parent, id)
	}
	if errors.Is(err, errEnded) {
		return nil
	}
	if errors.Is(err, runs.ErrNotFound) { // the thread was deleted
		return s.dropRun(ctx, id)
	}
	if err != nil {
		return err
	}
	return s.addThread(ctx, r.Parent)
}

// share stores a run and adds its job. It applies the strategy of the run to the runs before it.
func (s *Server) share(ctx context.Context, a *activeRun, r *runs.Record, strategy string) error {
	if err := s.roomInQueue(ctx, a.thread); err != nil {
		return err
	}
	delayed := a.data.After.After(time.Now())
	var reserved *runs.Record
	if strategy == multitaskReject {
		var err error
		if reserved, err = s.reserve(ctx, a.thread); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTime) // store the whole run even if the client leaves
	defer cancel()
	if err := s.o.Runs.Insert(ctx, *r); err != nil {
		if reserved != nil {
			s.unreserve(ctx, reserved)
		}
		return err
	}
	if err := s.joinThread(ctx, a, delayed); err != nil {
		return err
	}
	if how := strategyCancels(strategy); how != notCanceled {
		before, err := s.unfinished(ctx, a.thread)
		before = slices.DeleteFunc(before, func(r storedRun) bool { return r.ID == a.id || r.Created.After(a.record.Created) })
		if err == nil {
			err = s.cancelBefore(ctx, before, how)
		}
		if err != nil { // the server that executes the next run tries again
			s.o.Logger.Error("server: the end of the runs before another one was not stored", "run", a.id, "thread", a.thread, "error", err)
		}
	}
	run := storedRun{a.record, a.data}
	j := run.job()
	if delayed {
		j.Kind, j.Key, j.At = runs.JobRun, a.id, a.data.After
	}
	if err := s.o.Queue.Add(ctx, j); err != nil { // a sweep will add it
		s.o.Logger.Error("server: a run has no job yet", "run", a.id, "thread", a.thread, "error", err)
	}
	return nil
}

// roomInQueue refuses a run if too many runs wait in the queue or in its thread.
func (s *Server) roomInQueue(ctx context.Context, thread string) error {
	s.mu.Lock()
	closed := s.closed
	s.mu.Unlock()
	if closed {
		return drainRefusal("")
	}
	if q := s.queueStats(); q.Waiting+q.Held+q.Delayed >= s.o.Limits.QueuedRuns {
		return &Refusal{Status: http.StatusServiceUnavailable, Detail: "As many runs wait as may.", RetryAfter: time.Second}
	}
	_, n, err := s.o.Runs.Search(ctx, runs.Query{Kind: runs.Run, Parent: thread, Statuses: unfinishedStatuses, Limit: 1})
	if err == nil && n >= s.o.Limits.ThreadRuns {
		err = threadFull(thread, n)
	}
	return err
}

// threadFull returns the refusal of a run whose thread has too many runs.
func threadFull(thread string, n int) error {
	return &Refusal{
		Status: http.StatusServiceUnavailable, RetryAfter: time.Second,
		Detail: fmt.Sprintf("The thread %s has %d runs that have not ended, which is the limit.", thread, n),
	}
}

// checkThread returns an error if a thread does not exist or is being deleted.
func (s *Server) checkThread(ctx context.Context, thread string) error {
	t, err := s.o.Runs.Get(ctx, runs.Thread, thread)
	if err != nil {
		return err
	}
	return checkDeleting(&t)
}

// dropRun removes the record of a run, if there is one.
func (s *Server) dropRun(ctx context.Context, id string) error {
	err := s.o.Runs.Delete(ctx, runs.Run, id)
	if errors.Is(err, runs.ErrNotFound) {
		return nil
	}
	return err
}

// unreserve undoes reserve: it stores the earlier record of a thread, unless the thread has changed since.
func (s *Server) unreserve(ctx context.Context, before *runs.Record) {
	_, err := s.o.Runs.Update(ctx, *before)
	if err != nil && !errors.Is(err, runs.ErrConflict) && !errors.Is(err, runs.ErrNotFound) { // a sweep will do it
		s.o.Logger.Error("server: the status of a thread was not stored", "thread", before.ID, "error", err)
	}
}

// reserve makes a thread busy, or returns an error if the thread is busy. It returns the earlier record of the thread,
// with the new revision.
func (s *Server) reserve(ctx context.Context, thread string) (*runs.Record, error) {
	var before runs.Record
	r, err := s.change(ctx, runs.Thread, thread, func(r *runs.Record) error {
		before = *r
		if r.Status == threadBusy {
			list, err := s.unfinished(ctx, thread)
			if err != nil {
				return err
			}
			// Another server may be about to insert the run for which it has made the thread busy.
			if len(list) > 0 || time.Since(r.Updated) < reserveTime {
				return refuse(http.StatusConflict, "The thread %s is busy.", thread)
			}
		}
		r.Status, r.Updated, r.Expires = threadBusy, now(), time.Time{}
		return checkDeleting(r)
	})
	before.Revision = r.Revision
	return &before, err
}

// reserveTime is the time that a server has to insert the run for which it has made a thread busy.
const reserveTime = 10 * time.Second
