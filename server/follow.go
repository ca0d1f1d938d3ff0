package server

import (
	"time"

	"github.com/weft-go/weft/server/runs"
)

// follow calls f for each event of a run with a larger number than after, until the run or the request ends. It calls
// skip where events are missing.
func (c *call) follow(log *threadLog, run string, after int64, skip skipFunc, f func(*runs.Event) error) error {
	var looked time.Time
	r := log.reader(after)
	defer r.close()
	for {
		events, missed, changed, err := r.after(c.ctx(), after)
		if missed > 0 {
			after += missed
			err = skip(missed, after)
		}
		for i := range events {
			if err != nil {
				return err
			}
			after = events[i].Seq
			if events[i].Run != run {
				continue
			}
			if err = f(&events[i]); err == nil && events[i].Kind == kindEnd {
				return nil
			}
		}
		if err != nil {
			return err
		}
		if changed == nil {
			continue
		}
		if more, err := c.await(log, run, after, changed, &looked); !more {
			return err
		}
	}
}

// await waits for an event of a run with a larger number than after. It returns false if there will be none. looked is
// the time when await last checked whether a run of another server has ended.
func (c *call) await(log *threadLog, run string, after int64, changed <-chan struct{}, looked *time.Time) (more bool, err error) {
	ended, again := c.s.endOf(run), (<-chan time.Time)(nil)
	if !c.s.isActive(run) {
		if over, err := c.isOver(run, looked); over || err != nil {
			if err == nil && c.s.o.Queue != nil { // the other server may have stored the last events just before
				err = log.refresh(c.ctx())
			}
			if err != nil {
				return false, err
			}
			events, _, _, err := log.after(c.ctx(), after)
			return len(events) > 0 && err == nil, err // no events: the run has ended and its events are no longer kept
		}
		timer := time.NewTimer(recheck)
		defer timer.Stop()
		ended, again = nil, timer.C
	}
	select {
	case <-changed:
	case <-again:
	case <-ended:
	case <-c.s.unstoredOf(run):
		return false, errStoreSilent
	case <-c.ctx().Done():
		return false, c.ctx().Err()
	case <-c.s.ctx.Done():
		return false, errClosed
	}
	return true, nil
}

// isOver reports whether a run that this process does not execute has ended.
func (c *call) isOver(run string, looked *time.Time) (bool, error) {
	if c.s.o.Queue == nil {
		return true, nil
	}
	if time.Since(*looked) < recheck {
		return false, nil
	}
	*looked = time.Now()
	return c.s.hasEnded(c.ctx(), run)
}

func (s *Server) isActive(run string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.active[run] != nil
}

// unstoredOf returns a channel that is closed when the end of a run of this process cannot be stored.
func (s *Server) unstoredOf(run string) <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if a := s.active[run]; a != nil {
		return a.unstored
	}
	return nil
}

// endOf returns a channel that is closed when a run has ended.
func (s *Server) endOf(run string) <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if a := s.active[run]; a != nil {
		return a.done
	}
	ended := make(chan struct{})
	close(ended)
	return ended
}
