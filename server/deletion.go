package server

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/server/runs"
)

// deleteThread cancels the runs of a thread of a user, and removes the thread with its states and events. Until the
// deletion has ended, the thread gets no new run.
func (s *Server) deleteThread(ctx context.Context, id, owner string) (err error) {
	s.mu.Lock()
	if s.deleting[id] {
		s.mu.Unlock()
		return beingDeleted(id)
	}
	s.deleting[id] = true
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.deleting, id)
		s.mu.Unlock()
	}()
	ctx = withOwner(withUser(ctx, owner), owner)
	if s.o.Queue == nil {
		return s.removeThread(ctx, id)
	}
	d, err := s.markDeleting(ctx, id)
	if err != nil {
		return err
	}
	return d.end(s.removeThread(d.ctx, id))
}

// removeThread cancels the runs of a thread, and removes it.
func (s *Server) removeThread(ctx context.Context, id string) error {
	if err := s.cancelThread(ctx, id); err != nil {
		return err
	}
	if s.o.OnDelete != nil {
		if err := s.o.OnDelete(ctx, id); err != nil {
			return err // the thread can be deleted again
		}
	}
	var errs error
	deleted := map[checkpoint.Store]bool{}
	for _, g := range s.graphs { // a thread may have had runs of several graphs
		if store := g.graph.Checkpoints(); !deleted[store] {
			deleted[store] = true
			errs = errors.Join(errs, store.DeleteThread(ctx, id))
		}
	}
	if errs != nil {
		return errs // the thread can be deleted again
	}
	defer s.dropLog(id, nil)
	return s.o.Runs.Delete(ctx, runs.Thread, id)
}

// A deletion is a mark in the record of a thread. The mark tells the servers that share a queue that this server deletes
// the thread. It is renewed until end is called.
type deletion struct {
	s      *Server
	thread string
	// at is the last mark whose writing succeeded, and next the last mark that was sent to the store. After an error, the
	// store may have either. Until done is closed, only the goroutine of renew uses them.
	at, next time.Time
	ctx      context.Context // ends when the mark is lost
	cancel   context.CancelCauseFunc
	done     chan struct{}
}

// markDeleting marks a thread, unless another server deletes it.
func (s *Server) markDeleting(ctx context.Context, id string) (*deletion, error) {
	d := &deletion{s: s, thread: id, done: make(chan struct{})}
	d.ctx, d.cancel = context.WithCancelCause(ctx)
	if err := d.mark(ctx, now()); err != nil {
		d.cancel(nil)
		return nil, err
	}
	go d.renew()
	return d, nil
}

// mark replaces the mark of this deletion. The thread expires at the same time as before.
func (d *deletion) mark(ctx context.Context, at time.Time) error {
	ctx, cancel := context.WithTimeout(ctx, deletingTime/3)
	defer cancel()
	_, err := d.s.change(ctx, runs.Thread, d.thread, func(r *runs.Record) error {
		var t threadData
		if err := json.Unmarshal(r.Data, &t); err != nil {
			return err
		}
		first := d.next.IsZero()
		if first && time.Since(t.Deleting) < deletingTime || !first && !t.Deleting.Equal(d.at) && !t.Deleting.Equal(d.next) {
			return beingDeleted(r.ID)
		}
		t.Deleting = at
		r.Data = encoded(t)
		return nil
	})
	d.next = at
	if err == nil {
		d.at = at
	}
	return err
}

// renew renews the mark until the deletion ends. If the mark may be too old, it cancels the deletion.
func (d *deletion) renew() {
	defer close(d.done)
	tick := time.NewTicker(deletingTime / 3)
	defer tick.Stop()
	for {
		select {
		case <-d.ctx.Done():
			return
		case <-tick.C:
		}
		err := d.mark(d.ctx, now())
		_, refused := errors.AsType[*Refusal](err)
		switch {
		case err == nil:
		case errors.Is(err, runs.ErrNotFound), d.ctx.Err() != nil:
			return // the thread is deleted
		case refused, time.Since(d.at) > deletingTime/2:
			d.cancel(err)
			return
		}
	}
}

// end ends the deletion. After an error, it removes the mark, so that the thread can be used again.
func (d *deletion) end(err error) error {
	lost := context.Cause(d.ctx)
	d.cancel(nil)
	<-d.done
	if err == nil {
		return nil
	}
	if lost != nil && !errors.Is(err, lost) {
		err = errors.Join(lost, err)
	}
	merr := d.mark(context.WithoutCancel(d.ctx), time.Time{})
	if _, refused := errors.AsType[*Refusal](merr); refused || errors.Is(merr, runs.ErrNotFound) { // another server deletes it
		merr = nil
	}
	return errors.Join(err, merr)
}

// deletingTime is the time after which the mark of a thread has no effect: the server that marked the thread has died or
// failed.
const deletingTime = 10 * time.Second

// checkDeleting refuses a run if another server is deleting the thread.
func checkDeleting(r *runs.Record) error {
	var d threadData
	if err := json.Unmarshal(r.Data, &d); err != nil {
		return err
	}
	if time.Since(d.Deleting) < deletingTime {
		return beingDeleted(r.ID)
	}
	return nil
}

func beingDeleted(thread string) error {
	return refuse(http.StatusConflict, "The thread %s is being deleted.", thread)
}
