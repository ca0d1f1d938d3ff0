package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/server/runs"
)

// An outcome is the end of a run.
type outcome struct {
	status string
	err    *failure
	// failed is an error whose text clients must not see, such as an error of a store or a panic of a node. The server
	// logs it.
	failed error
	// node is the node that failed, or "".
	node string
	// undone says that the run was rolled back, and drained that the next server continues it.
	undone, drained bool
}

// execute executes a run when the earlier runs of its thread have ended and the limits of the server allow another run.
func (s *Server) execute(a *activeRun) *outcome {
	if a.ctx.Err() != nil || !s.turn(a) {
		return canceledOutcome(a)
	}
	if a.g == nil {
		return failureOutcome(&requestError{"Error", fmt.Sprintf("this server does not have the graph %q of the run any more", a.record.Graph)})
	}
	if size := min(large(a.size), s.o.Limits.executed()); size > 0 { // small runs acquire no room, and do not wait behind large ones
		if err := s.room.Acquire(a.ctx, size); err != nil {
			return canceledOutcome(a)
		}
		defer s.room.Release(size)
	}
	if err := s.slots.Acquire(a.ctx, 1); err != nil { // acquire the slot last, so that a large run that waits holds none
		return canceledOutcome(a)
	}
	defer s.slots.Release(1)
	defer s.meters.began(a)()
	at := now()
	a.data.Attempt++
	if a.data.Began == nil {
		a.data.Began = &at
	}
	return s.outlast(a, func() *outcome { return s.attempt(a) })
}

// outlast calls try again after an outage of a store, or if another run has changed the thread meanwhile. It does so only
// until a task of the run has begun: before that, a second call repeats nothing.
func (s *Server) outlast(a *activeRun, try func() *outcome) *outcome {
	for wait := minRetry; ; wait = min(2*wait, maxRetry) {
		out := try()
		if a.ran || !isOutage(out.failed) && !errors.Is(out.failed, errMoved) {
			return out
		}
		s.o.Logger.Error("server: a run could not begin and is tried again", "run", a.id, "thread", a.thread, "error", out.failed)
		if !pause(a.ctx, wait) {
			return canceledOutcome(a)
		}
	}
}

// attempt runs the graph of a run and writes its events.
func (s *Server) attempt(a *activeRun) *outcome {
	log, err := s.openLog(a.background(), a.thread)
	if err != nil {
		return failedOutcome(err)
	}
	defer s.closeLog(log)
	before := log.begin(a.id, a.data.Before)
	a.data.Before = &before
	w := newLogWriter(log, a.id)
	if s.o.Queue != nil {
		w.owns = func(ctx context.Context) error { return s.owns(ctx, a) }
	}
	var out *outcome
	if err := safely(func() error { out = s.runGraph(a, w); return nil }); err != nil {
		out = failedOutcome(fmt.Errorf("writing the events: %w", err))
	}
	if werr := w.close(); werr != nil && out.failed == nil {
		out = failedOutcome(fmt.Errorf("storing the events: %w", werr))
	}
	if a.cancellation() == lostRun {
		return canceledOutcome(a)
	}
	return out
}

// runGraph runs the graph, and returns how it ended.
func (s *Server) runGraph(a *activeRun, w *logWriter) *outcome {
	var p *prepared
	var serr error
	err := aside(func() (err error) {
		p, err = s.prepare(a)
		serr = s.storeBegin(a) // before the first event
		return err
	})
	if serr != nil {
		return notBegun(a, serr)
	}
	if err != nil {
		rec := newRecorder(a, w, nil, nil)
		rec.began()
		return failureOutcome(err)
	}
	rec := newRecorder(a, w, p, s.reader(a.g, a.thread))
	rec.began()
	err = p.err
	switch {
	case err != nil:
	case p.paused:
		err = rec.stopped(p.before.Pauses)
	default:
		ctx := context.WithValue(a.ctx, contextKey{}, a.data.Context)
		if f := s.o.RunContext; f != nil {
			ctx = f(ctx, a.data.Trace, max(a.data.Began.Sub(a.due()), 0))
		}
		err = a.stream(ctx, p, rec)
	}
	a.data.Checkpoint = rec.root().checkpoint
	if err == nil {
		if a.cancellation() == rollbackRun { // a rollback after another cancellation does not reach the graph
			return canceledOutcome(a)
		}
		return &outcome{status: runSuccess}
	}
	if a.ctx.Err() != nil {
		out := canceledOutcome(a)
		if out.undone && errors.Is(context.Cause(a.ctx), graph.ErrRolledBack) && !errors.Is(err, graph.ErrRolledBack) {
			return failureOutcome(err)
		}
		return out
	}
	return failureOutcome(err)
}

// stream runs the graph and records its events.
func (a *activeRun) stream(ctx context.Context, p *prepared, rec *recorder) error {
	for e, err := range p.thread.Stream(ctx, p.input...) {
		if err != nil {
			return err
		}
		if _, ok := e.(graph.TaskStarted); ok {
			a.ran = true
		}
		if err := rec.event(e); err != nil {
			return err
		}
	}
	return nil
}

// storeBegin stores that this server executes the run. It tries again if the database is restarted meanwhile.
func (s *Server) storeBegin(a *activeRun) error {
	err := s.persist(a.ctx, a, func(ctx context.Context) error { return s.storeRun(ctx, a, runRunning) })
	a.began = err == nil
	return err
}

// notBegun returns the outcome of a run whose begin was not stored.
func notBegun(a *activeRun, err error) *outcome {
	if a.ctx.Err() != nil {
		return canceledOutcome(a)
	}
	return failedOutcome(err)
}

func canceledOutcome(a *activeRun) *outcome {
	switch a.cancellation() {
	case rollbackRun:
		return &outcome{status: runInterrupted, undone: true}
	case drainRun:
		return &outcome{status: runPending, drained: true}
	}
	return &outcome{status: runInterrupted}
}

// failureOutcome returns the outcome of a run that failed. If clients must not see the error, failed has it for the log.
func failureOutcome(err error) *outcome {
	f, shown := newFailure(err)
	out := &outcome{status: runError, err: f}
	if e, ok := errors.AsType[*graph.NodeError](err); ok {
		out.node = e.Node
	}
	if !shown {
		out.failed = err
	}
	return out
}

// failedOutcome returns the outcome of a run that the server could not execute, or whose events could not be stored.
func failedOutcome(err error) *outcome {
	return &outcome{status: runError, err: &failure{Name: "Error", Message: failedText}, failed: err}
}

// forget deletes the temporary thread of a run, after its readers have had time to read the last events.
func (s *Server) forget(a *activeRun) {
	wait := time.Second
	if s.o.Queue != nil { // readers on other servers get the last events later
		wait = forgetShared
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-s.ctx.Done():
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := s.deleteThread(ctx, a.thread, a.owner()); err != nil && !errors.Is(err, runs.ErrNotFound) {
		s.o.Logger.Error("server: a temporary thread was not deleted", "thread", a.thread, "error", err)
	}
}

const forgetShared = 5 * time.Second

// result returns the response of wait and join for a run that has ended.
func (s *Server) result(ctx context.Context, r runs.Record) (json.RawMessage, error) {
	d, err := readRun(&r)
	if err != nil {
		return nil, err
	}
	if d.Error != nil {
		return encoded(map[string]any{"__error__": d.Error}), nil
	}
	g, err := s.servedOf(ctx, &runs.Record{ID: r.Parent, Graph: r.Graph})
	if err != nil {
		return nil, err
	}
	if g == nil {
		return json.RawMessage("null"), nil
	}
	rd := s.reader(g, r.Parent)
	snap, err := rd.thread.Snapshot(ctx)
	if errors.Is(err, checkpoint.ErrNotFound) {
		return json.RawMessage("null"), nil
	}
	if err != nil {
		return nil, err
	}
	live := d.Checkpoint == "" || d.Checkpoint == snap.ID
	if !live {
		if snap, err = snapshotOr(ctx, rd.thread.At(d.Checkpoint), snap); err != nil {
			return nil, err
		}
	}
	values, err := rd.values(ctx, snap)
	if err != nil {
		return nil, err
	}
	values = g.channels.shown(values)
	if open := questionsIn(snap); live && r.Status == runSuccess && len(open) > 0 {
		if len(open) > 1 {
			values = map[string]json.RawMessage{}
		}
		values["__interrupt__"] = encoded(open)
	}
	return encoded(values), nil
}

// snapshotOr returns the state at the checkpoint of a handle, or otherwise if the checkpoint no longer exists.
func snapshotOr(ctx context.Context, at *graph.Thread, otherwise *graph.Snapshot) (*graph.Snapshot, error) {
	snap, err := at.Snapshot(ctx)
	if errors.Is(err, checkpoint.ErrNotFound) {
		return otherwise, nil
	}
	return snap, err
}

func questionsIn(snap *graph.Snapshot) []interrupt {
	var open []interrupt
	for _, p := range snap.Pauses {
		if p.Kind == graph.Question {
			open = append(open, newInterrupt(p))
		}
	}
	return open
}

// nodeOf returns the node of a task.
func nodeOf(task string) string {
	if i := strings.IndexAny(task, "[~"); i > 0 {
		return task[:i]
	}
	return task
}
