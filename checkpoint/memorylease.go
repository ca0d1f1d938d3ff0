package checkpoint

import (
	"context"
	"fmt"
	"sync/atomic"
)

// A memoryLease passes everything on to its store while it is held.
type memoryLease struct {
	*Memory
	thread   string
	released atomic.Bool
	own      atomic.Pointer[memoryThread] // so that it is looked up once
	last     memoryMemo                   // guarded by the lock of the thread
}

// met returns the thread as it was last seen, or nil. It may be gone.
func (l *memoryLease) met() *memoryThread {
	if l == nil {
		return nil
	}
	return l.own.Load()
}

func (l *memoryLease) meet(t *memoryThread) {
	if l != nil && l.own.Load() != t {
		l.own.Store(t)
	}
}

// recall returns what the lease knows of a thread, whose lock is held.
func (l *memoryLease) recall(t *memoryThread) *memoryMemo {
	if l == nil {
		return nil
	}
	if l.last.thread != t || l.last.age != t.age {
		l.last = memoryMemo{thread: t, age: t.age}
	}
	return &l.last
}

// A memoryMemo is what is known of the record that was put last, so that the texts
// of its ids need not be read again. A nil one knows nothing.
type memoryMemo struct {
	thread *memoryThread
	age    uint32 // of the thread, when its log had the record
	id     string
	index  int
	run    string
	shared uint64 // where the log tells of the run
}

func (m *memoryMemo) note(c *Checkpoint, index int, shared uint64) {
	if m == nil {
		return
	}
	m.id, m.index, m.shared = c.ID, index, shared
	if m.run != c.Run {
		m.run = c.Run
	}
}

// isRecord reports whether a record is known to have an id.
func (m *memoryMemo) isRecord(index int, id string) bool {
	return m != nil && m.id == id && m.index == index
}

// isRun reports whether what is shared is known to be of a run.
func (m *memoryMemo) isRun(shared uint64, run string) bool {
	return m != nil && m.id != "" && m.shared == shared && m.run == run
}

// Lease implements [Leaser]. A lease of this store does not run out.
func (m *Memory) Lease(ctx context.Context, thread string) (Lease, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if thread == "" {
		return nil, fmt.Errorf("checkpoint: lease: empty thread id: %w", ErrInvalid)
	}
	s := m.shard(thread)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held[thread] != nil {
		return nil, fmt.Errorf("checkpoint: lease of thread %q: another run holds it: %w", thread, ErrConflict)
	}
	if s.held == nil {
		s.held = map[string]*memoryLease{}
	}
	l := &memoryLease{Memory: m, thread: thread}
	s.held[thread] = l
	return l, nil
}

// Release implements [Lease].
func (l *memoryLease) Release(context.Context) error {
	s := l.shard(l.thread)
	s.mu.Lock()
	defer s.mu.Unlock()
	l.released.Store(true)
	if s.held[l.thread] == l {
		delete(s.held, l.thread)
	}
	return nil
}

// Put implements [Store].
func (l *memoryLease) Put(ctx context.Context, c Checkpoint, head string) error {
	if l.released.Load() {
		return l.lost()
	}
	if c.Thread != l.thread {
		return l.Memory.Put(ctx, c, head)
	}
	return l.put(ctx, &c, head, l)
}

// PutWrites implements [Store].
func (l *memoryLease) PutWrites(ctx context.Context, k Key, writes []Write) error {
	if l.released.Load() {
		return l.lost()
	}
	return l.Memory.PutWrites(ctx, k, writes)
}

func (l *memoryLease) lost() error {
	return fmt.Errorf("checkpoint: lease of thread %q was released: %w", l.thread, ErrConflict)
}
