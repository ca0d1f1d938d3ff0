package memcheckpoint

import (
	"context"
	"fmt"
	"iter"
	"sync"

	"github.com/weft-go/weft/checkpoint"
)

// Options configures [New]. The zero value works.
type Options struct {
	// MaxValue is the maximum number of bytes in one value: the Control of a
	// checkpoint, or the Data of a change or of a pending write. Zero means
	// [checkpoint.DefaultMaxValue]. A negative number means no limit.
	MaxValue int
}

// Store is a [checkpoint.Store] that keeps checkpoints in memory. It is safe for
// concurrent use. Create one with [New].
type Store struct {
	maxValue int

	mu      sync.RWMutex // guards the maps; a goroutine may lock it while it holds the lock of a thread
	threads map[string]*thread
	leases  map[string]*lease // by the id of the thread
}

// New returns an empty store.
func New(o Options) *Store {
	return &Store{maxValue: o.MaxValue, threads: map[string]*thread{}, leases: map[string]*lease{}}
}

// Put implements [checkpoint.Store].
func (s *Store) Put(ctx context.Context, c checkpoint.Checkpoint, head string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := c.Check(s.maxValue); err != nil {
		return err
	}
	// Only a first checkpoint may create the thread.
	t := s.lock(c.Thread, head == "" && c.Parent == "")
	if t == nil {
		if head != "" {
			return conflict(&c, head, "")
		}
		return parentNotFound(&c)
	}
	defer t.mu.Unlock()
	return t.put(&c, head)
}

// PutWrites implements [checkpoint.Store].
func (s *Store) PutWrites(ctx context.Context, k checkpoint.Key, writes []checkpoint.Write) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := checkpoint.CheckWrites(k, writes, s.maxValue); err != nil {
		return err
	}
	t := s.lock(k.Thread, false)
	if t == nil {
		return notFoundError{k}
	}
	defer t.mu.Unlock()
	at := t.find(k)
	if at == none {
		return notFoundError{k}
	}
	t.putWrites(at, writes)
	return nil
}

// Get implements [checkpoint.Store].
func (s *Store) Get(ctx context.Context, k checkpoint.Key) (checkpoint.Checkpoint, error) {
	if err := ctx.Err(); err != nil {
		return checkpoint.Checkpoint{}, err
	}
	if k.Thread == "" {
		return checkpoint.Checkpoint{}, fmt.Errorf("memcheckpoint: get: empty thread id: %w", checkpoint.ErrInvalid)
	}
	t := s.lock(k.Thread, false)
	if t == nil {
		return checkpoint.Checkpoint{}, notFoundError{k}
	}
	at := t.find(k)
	if at == none {
		t.mu.Unlock()
		return checkpoint.Checkpoint{}, notFoundError{k}
	}
	h, writes := t.history, t.writes(at)
	t.mu.Unlock()

	c := h.checkpoint(k.Thread, at)
	c.Writes = writes
	var err error
	if c.Changes, err = decode(h.changesOf(at)); err != nil {
		return checkpoint.Checkpoint{}, err
	}
	if c.Snapshot, err = decode(h.snapshotOf(at)); err != nil {
		return checkpoint.Checkpoint{}, err
	}
	c.Lineage, err = h.lineage(at)
	return c, err
}

// List implements [checkpoint.Store]. It yields the checkpoints that the thread
// has when the loop starts, except those removed before the loop reaches them.
func (s *Store) List(ctx context.Context, q checkpoint.Query) iter.Seq2[checkpoint.Checkpoint, error] {
	return func(yield func(checkpoint.Checkpoint, error) bool) {
		if err := s.list(ctx, &q, yield); err != nil {
			yield(checkpoint.Checkpoint{}, err)
		}
	}
}

func (s *Store) list(ctx context.Context, q *checkpoint.Query, yield func(checkpoint.Checkpoint, error) bool) error {
	if err := q.Check(); err != nil {
		return err
	}
	t := s.lock(q.Thread, false)
	if t == nil {
		if q.Before != "" {
			return notFoundError{checkpoint.Key{Thread: q.Thread, ID: q.Before}}
		}
		return ctx.Err()
	}
	end, err := t.before(q)
	h := t.history
	t.mu.Unlock()
	if err != nil {
		return err
	}
	yielded := 0
	for at := end - 1; at >= 0; at-- {
		if err := ctx.Err(); err != nil {
			return err
		}
		if !h.matches(q, at) {
			continue
		}
		if c, ok := t.listed(q, h.id(at)); ok {
			yielded++
			if !yield(c, nil) || yielded == q.Limit {
				return nil
			}
		}
	}
	return ctx.Err()
}

// DeleteThread implements [checkpoint.Store].
func (s *Store) DeleteThread(ctx context.Context, id string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if id == "" {
		return fmt.Errorf("memcheckpoint: delete thread: empty thread id: %w", checkpoint.ErrInvalid)
	}
	s.remove(id, func(t *thread) []bool { return t.dropped(func(int32) bool { return true }) })
	return nil
}

// lock returns a thread with its lock held. If the thread does not exist, lock
// creates it, or returns nil when create is false. The caller must unlock the
// thread, and must add a checkpoint to a thread that is new.
func (s *Store) lock(id string, create bool) *thread {
	for {
		s.mu.RLock()
		t := s.threads[id]
		s.mu.RUnlock()
		if t == nil {
			if !create {
				return nil
			}
			created := newThread()
			created.mu.Lock() // before others can find the thread
			if s.add(id, created) {
				return created
			}
			continue
		}
		t.mu.Lock()
		if !t.deleted {
			return t
		}
		t.mu.Unlock() // another goroutine deleted the thread meanwhile
	}
}

// add adds a thread, or reports false if the thread exists.
func (s *Store) add(id string, t *thread) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.threads[id] != nil {
		return false
	}
	s.threads[id] = t
	return true
}

// A notFoundError reports that a checkpoint does not exist. Its text is built only when Error is
// called, because the first run of a thread needs the error and not the text.
type notFoundError struct{ key checkpoint.Key }

// Error names the checkpoint.
func (e notFoundError) Error() string {
	which := "no checkpoint"
	if e.key.ID != "" {
		which = fmt.Sprintf("checkpoint %q", e.key.ID)
	}
	return fmt.Sprintf("memcheckpoint: thread %q, namespace %q: %s: %v", e.key.Thread, e.key.Namespace, which, checkpoint.ErrNotFound)
}

// Unwrap returns [checkpoint.ErrNotFound].
func (notFoundError) Unwrap() error { return checkpoint.ErrNotFound }

func parentNotFound(c *checkpoint.Checkpoint) error {
	return fmt.Errorf("memcheckpoint: thread %q, namespace %q: put checkpoint %q: parent %q: %w",
		c.Thread, c.Namespace, c.ID, c.Parent, checkpoint.ErrNotFound)
}

func conflict(c *checkpoint.Checkpoint, head, newest string) error {
	return fmt.Errorf("memcheckpoint: thread %q, namespace %q: put checkpoint %q: the caller expects %q to be the newest checkpoint, but it is %q: read the thread again: %w",
		c.Thread, c.Namespace, c.ID, head, newest, checkpoint.ErrConflict)
}

func idExists(c *checkpoint.Checkpoint) error {
	return fmt.Errorf("memcheckpoint: thread %q, namespace %q: put checkpoint %q: the id is already in use: %w",
		c.Thread, c.Namespace, c.ID, checkpoint.ErrConflict)
}
