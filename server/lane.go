package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/weft-go/weft/server/runs"
)

// A lane is the queue of the runs of one thread. The first run is executed.
type lane struct{ runs []*activeRun }

// enqueue stores a run and puts it into the queue of its thread.
func (s *Server) enqueue(ctx context.Context, a *activeRun, r *runs.Record) error {
	if s.o.Queue != nil {
		return s.share(ctx, a, r, a.data.Request.Multitask)
	}
	return s.queue(ctx, a, r, a.data.Request.Multitask)
}

// queue puts a run into the lane of its thread, as a strategy says. It stores the record r, which is nil if it is stored
// already.
func (s *Server) queue(ctx context.Context, a *activeRun, r *runs.Record, strategy string) error {
	stored := r == nil
	waits := time.Until(a.data.After)
	before, err := s.accept(a, strategy, stored, waits > 0)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTime) // store the whole run even if the client leaves
	defer cancel()
	if !stored {
		err = s.o.Runs.Insert(ctx, *r)
	}
	if err == nil && waits <= 0 {
		err = s.joinThread(ctx, a, false)
	}
	if err != nil {
		s.leave(a)
		s.running.Done()
		close(a.done)
		return err
	}
	first := len(before) == 0
	if stored { // the run stops only runs that were created before it
		before = slices.DeleteFunc(before, func(b *activeRun) bool { return b.record.Created.After(a.record.Created) })
	}
	switch strategy {
	case multitaskInterrupt:
		err = s.stopRuns(ctx, before, interruptRun)
	case multitaskRollback:
		err = s.stopRuns(ctx, before, rollbackRun)
	}
	if err != nil { // the next server tries again, because the record of this run has the strategy
		s.o.Logger.Error("server: the end of the runs before another one was not stored", "run", a.id, "thread", a.thread, "error", err)
	}
	go func() {
		defer s.running.Done()
		s.supervise(a, waits, first)
	}()
	return nil
}

// accept counts a run, and puts it into the lane of its thread unless it is delayed. It returns the earlier runs of the
// thread, or an error if the server cannot accept the run.
func (s *Server) accept(a *activeRun, strategy string, stored, waits bool) (before []*activeRun, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, drainRefusal("")
	}
	if s.deleting[a.thread] {
		return nil, beingDeleted(a.thread)
	}
	if s.active[a.id] != nil {
		return nil, fmt.Errorf("run %s %w", a.id, runs.ErrExists)
	}
	l := s.lanes[a.thread]
	if l == nil {
		l = &lane{}
	}
	before = slices.Clone(l.runs)
	if !stored && len(s.active)-int(s.meters.executing.Load()) >= s.o.Limits.QueuedRuns {
		return nil, &Refusal{Status: http.StatusServiceUnavailable, Detail: "As many runs wait as may.", RetryAfter: time.Second}
	}
	if !stored && len(before) >= s.o.Limits.ThreadRuns {
		return nil, threadFull(a.thread, len(before))
	}
	if len(before) > 0 && strategy == multitaskReject && !stored {
		return nil, refuse(http.StatusConflict, "The thread %s is busy.", a.thread)
	}
	if err := s.accounts.take(a.record.Owner, a.size, s.o.Auth != nil && !stored); err != nil {
		return nil, err
	}
	s.active[a.id], a.counted = a, true
	if !waits {
		l.runs = append(l.runs, a)
		s.lanes[a.thread] = l
	}
	s.running.Add(1) // under the lock, so that Close waits for the run
	return before, nil
}

// stopRuns cancels runs, and stores the cancellations.
func (s *Server) stopRuns(ctx context.Context, list []*activeRun, how cancellation) error {
	for _, a := range list {
		a.stop(how)
	}
	var errs []error
	for _, a := range list {
		_, err := s.change(ctx, runs.Run, a.id, func(r *runs.Record) error {
			if r.Status != runPending && r.Status != runRunning {
				return errEnded
			}
			d, err := readRun(r)
			d.Cancel = a.canceledAs()
			r.Data = encoded(d)
			return err
		})
		if err != nil && !errors.Is(err, errEnded) && !errors.Is(err, runs.ErrNotFound) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

var errEnded = errors.New("the run has ended")

// joinThread makes the thread of a stored run busy, unless the run is delayed. If the thread does not exist or is being
// deleted, joinThread removes the run and returns an error. It tries again after any other error, because another server
// may already execute the run.
func (s *Server) joinThread(ctx context.Context, a *activeRun, delayed bool) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)()
	for wait := minRetry; ; wait = min(2*wait, maxRetry) {
		var err error
		if delayed {
			err = s.checkThread(ctx, a.thread)
		} else {
			err = s.setBusy(ctx, a.thread, a.id)
		}
		if err == nil || errors.Is(err, errEnded) {
			return nil
		}
		if _, refused := errors.AsType[*Refusal](err); refused || errors.Is(err, runs.ErrNotFound) {
			return errors.Join(err, s.dropRun(ctx, a.id))
		}
		s.o.Logger.Error("server: the status of a thread was not stored", "run", a.id, "thread", a.thread, "error", err)
		if !pause(ctx, wait) {
			return nil // the end of the run stores the status
		}
	}
}

// setBusy makes the thread of a run busy. It returns errEnded if another server has already executed the run.
func (s *Server) setBusy(ctx context.Context, thread, run string) error {
	_, err := s.change(ctx, runs.Thread, thread, func(r *runs.Record) error {
		if err := checkDeleting(r); err != nil {
			return err
		}
		if s.o.Queue != nil {
			if ended, err := s.hasEnded(ctx, run); ended || err != nil {
				return cmp.Or(err, errEnded)
			}
		}
		r.Status, r.Updated, r.Expires = threadBusy, now(), time.Time{}
		return nil
	})
	return err
}

// supervise waits for the turn of a run, executes it, and lets the next one begin.
func (s *Server) supervise(a *activeRun, waits time.Duration, first bool) {
	if waits > 0 {
		timer := time.NewTimer(waits)
		select {
		case <-timer.C:
			first = s.join(a)
		case <-a.ctx.Done():
			timer.Stop()
		}
	}
	if !first {
		select {
		case <-a.begin:
		case <-a.ctx.Done():
		}
	}
	s.finish(a, s.execute(a))
}

// join puts a delayed run into the lane of its thread when the delay is over. It reports whether the run is the first
// one.
func (s *Server) join(a *activeRun) bool {
	s.mu.Lock()
	l := s.lanes[a.thread]
	if l == nil {
		l = &lane{}
		s.lanes[a.thread] = l
	}
	l.runs = append(l.runs, a)
	first := len(l.runs) == 1
	s.mu.Unlock()
	if err := s.setBusy(s.ctx, a.thread, a.id); err != nil {
		s.o.Logger.Error("server: the status of a thread was not stored", "thread", a.thread, "error", err)
	}
	return first
}

// leave removes a run from the lane of its thread, and lets the next run begin. It reports whether no run is left.
func (s *Server) leave(a *activeRun) (idle bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.active[a.id] == a { // otherwise this server has claimed the run again
		delete(s.active, a.id)
	}
	if a.counted {
		a.counted = false
		s.accounts.give(a.record.Owner, a.size)
	}
	l := s.lanes[a.thread]
	if l == nil {
		return true
	}
	i := slices.Index(l.runs, a)
	if i >= 0 {
		l.runs = slices.Delete(l.runs, i, i+1)
	}
	if len(l.runs) == 0 {
		delete(s.lanes, a.thread)
		return true
	}
	if i == 0 {
		close(l.runs[0].begin)
	}
	return false
}

// busy reports whether the thread of a run has other runs that wait.
func (s *Server) busy(ctx context.Context, a *activeRun) (bool, error) {
	if s.o.Queue != nil {
		return s.others(ctx, a)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.lanes[a.thread]
	return l != nil && slices.ContainsFunc(l.runs, func(o *activeRun) bool { return o != a }), nil
}

// turn reports whether the run is the first of its thread.
func (s *Server) turn(a *activeRun) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.lanes[a.thread]
	return l != nil && len(l.runs) > 0 && l.runs[0] == a
}

// cancelRuns cancels runs. The cancellation is stored, so that it has effect even if this server is killed. With wait,
// cancelRuns returns when the runs have ended.
func (s *Server) cancelRuns(ctx context.Context, ids []string, rollback, wait bool) error {
	how := interruptRun
	if rollback {
		how = rollbackRun
	}
	if s.o.Queue != nil {
		return s.cancelShared(ctx, ids, how, wait)
	}
	var stopped []*activeRun
	s.mu.Lock()
	for _, id := range ids {
		if a := s.active[id]; a != nil {
			stopped = append(stopped, a)
		}
	}
	s.mu.Unlock()
	if err := s.stopRuns(ctx, stopped, how); err != nil {
		return err
	}
	for _, a := range stopped {
		if !wait {
			break
		}
		select {
		case <-a.done:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// cancelThread cancels all runs of a thread and waits for their end.
func (s *Server) cancelThread(ctx context.Context, thread string) error {
	if s.o.Queue != nil {
		for { // a run may have been stored before its server saw the mark of the deletion
			ids, err := s.unfinishedIDs(ctx, thread)
			if err != nil || len(ids) == 0 {
				return err
			}
			if err := s.cancelShared(ctx, ids, interruptRun, true); err != nil {
				return err
			}
		}
	}
	s.mu.Lock()
	var ids []string
	for id, a := range s.active {
		if a.thread == thread {
			ids = append(ids, id)
		}
	}
	s.mu.Unlock()
	return s.cancelRuns(ctx, ids, false, true)
}

// resumeRuns continues the runs that the previous server with the same store left unfinished.
func (s *Server) resumeRuns() error {
	found, _, err := s.o.Runs.Search(s.ctx, runs.Query{Kind: runs.Run, Statuses: []string{runPending, runRunning}})
	if err != nil {
		return err
	}
	var list []*activeRun
	threads := map[string][]*activeRun{}
	for _, r := range found {
		g := s.graphs[r.Graph]
		if g == nil && s.stored != nil {
			continue // with Options.Stored, a program that has the graph continues the run
		}
		a, err := newActiveRun(r, g)
		if err != nil {
			return err
		}
		list = append(list, a)
	}
	begunFirst(list)
	for _, a := range list {
		threads[a.thread] = append(threads[a.thread], a)
	}
	for _, a := range list {
		a.stopEarlier(threads[a.thread]) // before one of them begins or ends
	}
	begun, waiting := 0, 0
	for _, a := range list {
		if a.data.Attempt > 0 {
			begun++
		} else {
			waiting++
		}
		// queue stores the cancellations of a run that interrupts earlier runs.
		if err := s.queue(s.ctx, a, nil, a.data.Request.Multitask); err != nil && !errors.Is(err, runs.ErrNotFound) {
			return err
		}
	}
	if begun+waiting > 0 {
		s.o.Logger.Info("server: took over the runs of the server before this one", "begun", begun, "waiting", waiting)
	}
	return s.restThreads(func(t *runs.Record) bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.lanes[t.ID] != nil
	})
}

// begunFirst sorts runs that a server has begun before the others. Such a run is pending again if its server was drained.
func begunFirst(list []*activeRun) {
	begun := func(a *activeRun) bool { return a.record.Status == runRunning || a.data.Started }
	slices.SortStableFunc(list, func(a, b *activeRun) int { return boolOrder(begun(a), begun(b)) })
}

// stopEarlier stops the earlier runs of the thread, if the strategy of this run says so.
func (a *activeRun) stopEarlier(list []*activeRun) {
	how := strategyCancels(a.data.Request.Multitask)
	if how == notCanceled {
		return
	}
	for _, b := range list {
		if b != a && !b.record.Created.After(a.record.Created) {
			b.stop(how)
		}
	}
}

// restThreads corrects the status of threads that another server left busy without a run. It skips threads that are in
// use.
func (s *Server) restThreads(uses func(*runs.Record) bool) error {
	var busy []runs.Record
	err := s.each(s.ctx, runs.Query{Kind: runs.Thread, Statuses: []string{threadBusy}}, func(t *runs.Record) error {
		t.Metadata, t.Data = nil, nil
		busy = append(busy, *t)
		return nil
	})
	for _, t := range busy { // after the search, because a changed status shifts the pages
		if g := s.graphs[t.Graph]; g != nil && !uses(&t) {
			if err := s.rest(withOwner(withUser(s.ctx, t.Owner), t.Owner), &activeRun{thread: t.ID, g: g, data: &runData{}}, &outcome{}); err != nil {
				s.o.Logger.Error("server: the status of a thread was not stored", "thread", t.ID, "error", err)
			}
		}
	}
	return err
}

func boolOrder(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// storeRun replaces the status and the data of a run's record.
func (s *Server) storeRun(ctx context.Context, a *activeRun, status string) error {
	_, err := s.change(ctx, runs.Run, a.id, func(r *runs.Record) error {
		if err := s.adopt(a, r); err != nil {
			return err
		}
		data, err := a.encoded()
		r.Status, r.Updated, r.Data = status, now(), data
		return err
	})
	return err
}
