package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/internal/stored"
	"github.com/weft-go/weft/server/runs"
)

// finish stores the end of a run and the status of its thread, and lets the next run begin.
func (s *Server) finish(a *activeRun, out *outcome) {
	defer close(a.done)
	if a.cancellation() == lostRun {
		s.leave(a)
		return
	}
	a.drained.Store(out.drained)
	if out.drained && !a.began { // the store still has the run as this server found it
		s.leave(a)
		return
	}
	s.logFailure(a, out)
	if !out.drained {
		at := now()
		a.data.Ended, a.data.Error = &at, out.err
		if !out.undone {
			a.data.Found = nil
		}
	}
	rested, err := s.persistEnd(a, out)
	idle := s.leave(a) || s.o.Queue != nil
	if errors.Is(err, errSuperseded) || errors.Is(err, runs.ErrNotFound) && s.dropOrphan(a) {
		return
	}
	if idle && !rested && !out.drained {
		_ = s.persist(s.ctx, a, func(ctx context.Context) error { return s.rest(ctx, a, out) })
	}
	if out.drained {
		return
	}
	s.afterEnd(a, out)
}

// logFailure logs that a run failed: as an error if clients do not get the reason, and otherwise as a warning.
func (s *Server) logFailure(a *activeRun, out *outcome) {
	about := []any{"run", a.id, "thread", a.thread, "user", a.record.Owner, "node", out.node, "error"}
	switch {
	case out.failed != nil:
		s.o.Logger.Error("server: a run failed", append(about, out.failed)...)
	case out.err != nil:
		s.o.Logger.Warn("server: a run failed", append(about, out.err.Name+": "+out.err.Message)...)
	}
}

// afterEnd counts the run, calls its webhook, and deletes a temporary thread.
func (s *Server) afterEnd(a *activeRun, out *outcome) {
	s.meters.finished(a, out.status)
	if a.data.Request.Webhook != "" {
		s.running.Go(func() { s.callWebhook(a, out) })
	}
	if a.data.Temporary && !a.data.Repeatable && !a.data.Cron { // otherwise the thread expires later
		s.running.Go(func() { s.forget(a) })
	}
}

// dropOrphan removes the record of a run whose thread no longer exists. It reports whether it has done so.
func (s *Server) dropOrphan(a *activeRun) bool {
	gone := false
	err := s.persist(s.ctx, a, func(ctx context.Context) error {
		_, err := s.o.Runs.Get(ctx, runs.Thread, a.thread)
		if !errors.Is(err, runs.ErrNotFound) {
			return err
		}
		gone = true
		return s.dropRun(ctx, a.id)
	})
	return gone && err == nil
}

// persistEnd stores the end of a run. If that is impossible, it stores a failure, so that the thread does not wait
// forever. It reports whether it has stored the status of the thread.
func (s *Server) persistEnd(a *activeRun, out *outcome) (rested bool, err error) {
	var late *time.Timer
	store := func(ctx context.Context) (err error) {
		rested, err = s.storeEnd(ctx, a, out)
		if err != nil && late == nil {
			late = time.AfterFunc(endPatience, func() { close(a.unstored) })
		}
		return err
	}
	defer func() {
		if late != nil {
			late.Stop()
		}
	}()
	err = s.persist(s.ctx, a, store)
	if errors.Is(err, errHopeless) && s.reset(a) == nil {
		*out = *failedOutcome(err)
		a.data.Ended, a.data.Error = new(now()), out.err
		err = s.persist(s.ctx, a, store)
	}
	return rested, err
}

// endPatience is the time for which the server tries to store the end of a run before it aborts the readers of the run.
const endPatience = 15 * time.Second

// reset replaces the data of a run by the stored data, which is known to be storable.
func (s *Server) reset(a *activeRun) error {
	return s.persist(s.ctx, a, func(ctx context.Context) error {
		r, err := s.o.Runs.Get(ctx, runs.Run, a.id)
		if err != nil {
			return err
		}
		d, err := readRun(&r)
		if err != nil {
			return fmt.Errorf("the stored run cannot be read, so it is %w: %w", runs.ErrInvalid, err)
		}
		d.Found = nil
		a.data = d
		return nil
	})
}

// errHopeless is the error of a call that fails each time.
var errHopeless = errors.New("it cannot be stored")

// maxPanics is the number of panics after which persist gives up: a single panic may have a temporary cause, but a
// mistake in the program panics each time.
const maxPanics = 5

// persist calls f until it succeeds, because a run whose end is not stored would stay busy until the next start. It gives
// up and returns the error if the context ends, the record no longer exists, another server has the run, or f cannot
// succeed.
func (s *Server) persist(ctx context.Context, a *activeRun, f func(context.Context) error) error {
	panics := 0
	for wait := minRetry; ; wait = min(2*wait, maxRetry) {
		err := safely(func() error {
			ctx, cancel := context.WithTimeoutCause(a.background(), storeTime, errStoreSilent)
			defer cancel()
			return f(ctx)
		})
		if err == nil || errors.Is(err, runs.ErrNotFound) || errors.Is(err, errSuperseded) { // the thread may have been deleted
			return err
		}
		s.o.Logger.Error("server: the status of a run was not stored", "run", a.id, "thread", a.thread, "error", err)
		if errors.Is(err, errPanic) {
			panics++
		}
		if panics == maxPanics || errors.Is(err, runs.ErrInvalid) {
			return fmt.Errorf("%w: %w", errHopeless, err)
		}
		if !pause(ctx, wait) {
			return err
		}
	}
}

const (
	minRetry = 100 * time.Millisecond
	maxRetry = 5 * time.Second
)

// storeEnd stores the end of a run, the status of its thread and the event that ends its streams in
// one change. It reports whether it has stored the status of the thread, which it does if no other
// run of the thread waits.
func (s *Server) storeEnd(ctx context.Context, a *activeRun, out *outcome) (rested bool, err error) {
	if out.drained {
		return false, s.storeRun(ctx, a, out.status)
	}
	log, err := s.openLog(ctx, a.thread)
	if err != nil {
		return false, err
	}
	defer s.closeLog(log)
	if out.undone {
		if err := s.undo(ctx, a); err != nil {
			return false, err
		}
	}
	state, err := s.stateOf(ctx, a, out)
	if err != nil {
		return false, err
	}
	if out.undone {
		if err := s.o.Runs.Delete(ctx, runs.Run, a.id); err != nil && !errors.Is(err, runs.ErrNotFound) {
			return false, err
		}
	}
	return s.appendEnd(ctx, log, a, out, state)
}

// undo undoes the stored effects of a run, unless another server executes the run.
func (s *Server) undo(ctx context.Context, a *activeRun) error {
	r, err := s.o.Runs.Get(ctx, runs.Run, a.id)
	if err == nil {
		err = s.adopt(a, &r)
	}
	if err != nil && !errors.Is(err, runs.ErrNotFound) { // an earlier attempt may have deleted the run
		return err
	}
	return a.undo(ctx)
}

// appendEnd stores the event of the end of a run, and the records that it changes.
func (s *Server) appendEnd(ctx context.Context, log *threadLog, a *activeRun, out *outcome, state string) (rested bool, err error) {
	end := runEnd{Status: out.status, Error: out.err, Undone: out.undone, Paused: out.status == runSuccess && state == threadInterrupted}
	for {
		replaced, stored, err := s.endedRecords(ctx, a, out, state)
		if err != nil || stored {
			return false, err
		}
		err = log.append(ctx, []runs.Event{{Run: a.id, Time: now(), Kind: kindEnd, Data: encoded(end)}}, replaced...)
		if !errors.Is(err, runs.ErrConflict) {
			n := len(replaced)
			return n > 0 && replaced[n-1].Kind == runs.Thread, err
		}
	}
}

// endedRecords returns the records that change at the end of a run. It reports whether an earlier call has stored them,
// whose answer was lost.
func (s *Server) endedRecords(ctx context.Context, a *activeRun, out *outcome, state string) (replaced []runs.Record, stored bool, err error) {
	if !out.undone {
		r, err := s.o.Runs.Get(ctx, runs.Run, a.id)
		if err != nil {
			return nil, false, err
		}
		if err := s.adopt(a, &r); err != nil {
			return nil, false, err
		}
		if r.Status != runPending && r.Status != runRunning {
			return nil, true, nil
		}
		r.Status, r.Updated = out.status, now()
		if r.Data, err = a.encoded(); err != nil {
			return nil, false, err
		}
		replaced = append(replaced, r)
	}
	t, err := s.o.Runs.Get(ctx, runs.Thread, a.thread)
	if err != nil {
		return nil, false, err
	}
	// A run that begins to wait after this call of busy changes the record of the thread too, so that storing both is a conflict.
	busy, err := s.busy(ctx, a)
	if err != nil {
		return nil, false, err
	}
	if !busy {
		if err := s.setStatus(&t, a, state, out.err); err != nil {
			return nil, false, err
		}
		replaced = append(replaced, t)
	}
	return replaced, false, nil
}

// stateOf returns the status that a thread has after a run, if no other run waits.
func (s *Server) stateOf(ctx context.Context, a *activeRun, out *outcome) (string, error) {
	switch {
	case out.status == runError:
		return a.stateAfterFailure(ctx), nil
	case a.g == nil:
		return threadIdle, nil
	}
	snap, err := a.g.graph.Thread(a.thread).Snapshot(ctx)
	switch {
	case errors.Is(err, checkpoint.ErrNotFound):
		return threadIdle, nil
	case err != nil:
		return "", err
	case !snap.Done():
		return threadInterrupted, nil
	}
	return threadIdle, nil
}

// stateAfterFailure returns the status of a thread whose run has failed. If the run refused its input or an answer, the
// thread still waits at its question or pause.
func (a *activeRun) stateAfterFailure(ctx context.Context) string {
	if a.g == nil {
		return threadError
	}
	c, err := a.g.graph.Checkpoints().Get(ctx, checkpoint.Key{Thread: a.thread})
	if err == nil && stored.Waits(&c) {
		return threadInterrupted
	}
	return threadError // also if the thread cannot be read
}

// rest stores the status of a thread that has no other runs.
func (s *Server) rest(ctx context.Context, a *activeRun, out *outcome) error {
	state, err := s.stateOf(ctx, a, out)
	if err != nil {
		return err
	}
	_, err = s.change(ctx, runs.Thread, a.thread, func(r *runs.Record) error {
		if s.o.Queue != nil {
			if others, err := s.others(ctx, a); others || err != nil {
				return cmp.Or(err, errBusy)
			}
		}
		return s.setStatus(r, a, state, out.err)
	})
	if errors.Is(err, errBusy) {
		return nil
	}
	return err
}

var errBusy = errors.New("the thread has other runs")

// setStatus changes the status of a thread after a run. The thread of a cron's run becomes temporary only if the run has
// ended without a pause or an error. Otherwise a person needs the thread to answer the question, or to find the error.
func (s *Server) setStatus(r *runs.Record, a *activeRun, status string, failed *failure) error {
	r.Status, r.Updated = status, now()
	temporary := a.data.Temporary && (!a.data.Cron || status == threadIdle)
	return s.setThreadData(r, func(d *threadData) { d.Error, d.Temporary = failed, d.Temporary || temporary })
}
