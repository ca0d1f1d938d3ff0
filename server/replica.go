package server

import (
	"context"
	"errors"
	"time"

	"github.com/weft-go/weft/server/runs"
)

// changed handles a notification of other servers: it passes new events to readers, and cancels runs. Without threads, it
// checks all threads.
func (s *Server) changed(threads ...string) {
	s.mu.Lock()
	logs := make([]*threadLog, 0, len(threads))
	var ids []string
	if len(threads) == 0 {
		for _, l := range s.logs {
			logs = append(logs, l)
		}
		for id := range s.active {
			ids = append(ids, id)
		}
	}
	for _, t := range threads {
		if l := s.logs[t]; l != nil {
			logs = append(logs, l)
		}
		if l := s.lanes[t]; l != nil {
			for _, a := range l.runs {
				ids = append(ids, a.id)
			}
		}
	}
	s.mu.Unlock()
	for _, l := range logs {
		l.refreshSoon(s)
	}
	if len(ids) > 0 {
		s.running.Go(func() {
			if err := safely(func() error { return s.obey(ids) }); err != nil && s.ctx.Err() == nil {
				s.o.Logger.Error("server: requests to cancel runs were not read", "error", err)
			}
		})
	}
}

// obey cancels the runs of this process for which other servers have stored a cancellation.
func (s *Server) obey(ids []string) error {
	found, _, err := s.o.Runs.Search(s.ctx, runs.Query{Kind: runs.Run, IDs: ids})
	if err != nil {
		return err
	}
	for i := range found {
		s.mu.Lock()
		a := s.active[found[i].ID]
		s.mu.Unlock()
		if a == nil || found[i].Status != runRunning { // the run has not begun, or has ended
			continue
		}
		if err := s.adopt(a, &found[i]); err != nil && !errors.Is(err, errSuperseded) {
			return err
		}
	}
	return nil
}

// cancelBefore cancels the runs before another run, unless they are already cancelled in the same or a stronger way.
func (s *Server) cancelBefore(ctx context.Context, list []storedRun, how cancellation) error {
	var errs error
	for i := range list {
		if strategyCancels(list[i].data.Cancel) < how {
			errs = errors.Join(errs, s.cancelStored(ctx, list[i].ID, how))
		}
	}
	return errs
}

// cancelStored cancels a run, whichever server executes it. A run that no server executes ends at once, unless only
// another server can end it.
func (s *Server) cancelStored(ctx context.Context, id string, how cancellation) error {
	a, err := s.claim(ctx, id, how)
	if errors.Is(err, errEnded) || errors.Is(err, runs.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	if a.record.Status == runPending && (a.g != nil || !needsGraph(a.data)) {
		s.mu.Lock()
		s.active[id], a.counted = a, true
		_ = s.accounts.take(a.record.Owner, a.size, false) // never refused
		s.running.Add(1)
		s.mu.Unlock()
		go func() {
			defer s.running.Done()
			s.finish(a, canceledOutcome(a))
		}()
		return nil
	}
	s.mu.Lock()
	here := s.active[id]
	s.mu.Unlock()
	if here != nil {
		here.stop(how)
	}
	s.o.Queue.Tell(a.thread)
	return nil
}

// cancelShared cancels runs. With wait, it returns when they have ended.
func (s *Server) cancelShared(ctx context.Context, ids []string, how cancellation, wait bool) error {
	for _, id := range ids {
		if err := s.cancelStored(ctx, id, how); err != nil {
			return err
		}
	}
	for _, id := range ids {
		if !wait {
			break
		}
		r, err := s.o.Runs.Get(ctx, runs.Run, id)
		if errors.Is(err, runs.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		select {
		case <-s.endOfRun(ctx, r.Parent, id):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if ended, err := s.hasEnded(ctx, id); err != nil {
			return err
		} else if !ended { // this server shuts down, and another one continues the run
			return drainRefusal(" The run " + id + " has not ended yet.")
		}
	}
	return nil
}

// endOfRun returns a channel that is closed when a run has ended, whichever server executes it. If servers share a
// queue, the channel is also closed when ctx ends or this server shuts down.
func (s *Server) endOfRun(ctx context.Context, thread, run string) <-chan struct{} {
	s.mu.Lock()
	a := s.active[run]
	s.mu.Unlock()
	if s.o.Queue == nil {
		return s.endOf(run)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(s.ctx, cancel)()
		if a != nil {
			select {
			case <-a.done:
			case <-ctx.Done():
				return
			}
			if a.cancellation() != lostRun && !a.drained.Load() {
				return
			}
		}
		s.awaitEnd(ctx, thread, run)
	}()
	return ended
}

// awaitEnd waits until a run has ended, or ctx ends.
func (s *Server) awaitEnd(ctx context.Context, thread, run string) {
	log, err := s.openLog(ctx, thread)
	for ; err != nil; log, err = s.openLog(ctx, thread) {
		if !pause(ctx, minRetry) {
			return
		}
	}
	defer s.closeLog(log)
	after := log.end()
	for {
		if ended, err := s.hasEnded(ctx, run); ended && err == nil {
			return
		}
		if !s.endIn(ctx, log, run, &after) {
			return
		}
	}
}

// endIn waits up to recheck for the event of the end of a run. It returns false if this event was stored or ctx has
// ended.
func (s *Server) endIn(ctx context.Context, log *threadLog, run string, after *int64) bool {
	timer := time.NewTimer(recheck)
	defer timer.Stop()
	r := log.reader(*after)
	defer r.close()
	for {
		events, missed, changed, err := r.after(ctx, *after)
		*after += missed
		for i := range events {
			*after = events[i].Seq
			if events[i].Run == run && events[i].Kind == kindEnd {
				return false
			}
		}
		if err != nil {
			return pause(ctx, minRetry)
		}
		if changed == nil {
			continue
		}
		select {
		case <-changed:
		case <-timer.C:
			return true
		case <-ctx.Done():
			return false
		}
	}
}

// recheck is the time after which a reader of a run of another server checks whether the run has ended.
const recheck = 2 * time.Second

// hasEnded reports whether a run has ended or no longer exists.
func (s *Server) hasEnded(ctx context.Context, run string) (bool, error) {
	r, err := s.o.Runs.Get(ctx, runs.Run, run)
	if errors.Is(err, runs.ErrNotFound) {
		return true, nil
	}
	return err == nil && r.Status != runPending && r.Status != runRunning, err
}

// unfinishedIDs returns the ids of the runs of a thread that have not ended, delayed ones included.
func (s *Server) unfinishedIDs(ctx context.Context, thread string) ([]string, error) {
	found, _, err := s.o.Runs.Search(ctx, runs.Query{Kind: runs.Run, Parent: thread, Statuses: unfinishedStatuses})
	ids := make([]string, len(found))
	for i := range found {
		ids[i] = found[i].ID
	}
	return ids, err
}
