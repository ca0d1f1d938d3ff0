package checkpoint

import (
	"context"
	"fmt"
	"hash/maphash"
	"iter"
	"sync"
)

// MemoryOptions configures [NewMemory]. Its zero value works.
type MemoryOptions struct {
	// MaxValue is the most bytes that one change or pending write may hold.
	// Zero means 16 MB; a negative value means no limit.
	MaxValue int
}

// Memory is a [Store] that keeps checkpoints for the life of the process. It
// has every optional power: it is a [Leaser], [ThreadLister], [ThreadCopier],
// [Pruner] and [RunDeleter]. It is safe for use by any number of goroutines, and
// those that use different threads do not wait for each other.
type Memory struct {
	maxValue int
	clock    memoryClock
	shards   [memoryShards]memoryShard
}

const memoryShards = 64

// A memoryShard holds a part of the threads, so that starting many of them at
// once does not wait for one lock. Its lock and that of a thread are never held
// together.
type memoryShard struct {
	mu      sync.RWMutex
	threads map[string]*memoryThread
	held    map[string]*memoryLease
}

// A memoryThread is one thread. Once it is gone it has no checkpoints and gets no
// more: who still holds it drops it from its shard and looks again.
type memoryThread struct {
	mu    sync.Mutex
	gone  bool
	age   uint32 // how many logs it has had before
	log   *memoryLog
	first memoryLog // what log is at first: so there is one object less for the collector to find
}

func newMemoryThread() *memoryThread {
	t := &memoryThread{}
	t.first.init()
	t.log = &t.first
	return t
}

// replace is called with the lock of the thread.
func (t *memoryThread) replace(log *memoryLog) {
	t.log = log
	t.age++
	t.first.empty()
}

var memorySeed = maphash.MakeSeed()

// NewMemory returns an empty store.
func NewMemory(o MemoryOptions) *Memory {
	return &Memory{maxValue: o.MaxValue}
}

// Put implements [Store].
func (m *Memory) Put(ctx context.Context, c Checkpoint, head string) error {
	return m.put(ctx, &c, head, nil)
}

// put looks the thread up unless the lease, if any, has met it.
func (m *Memory) put(ctx context.Context, c *Checkpoint, head string, lease *memoryLease) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := c.Check(m.maxValue); err != nil {
		return err
	}
	t := lease.met()
	for {
		if t == nil && (head != "" || c.Parent != "") {
			t = m.thread(c.Thread)
		}
		if t == nil {
			if head != "" {
				return conflict(c, head, "")
			}
			if c.Parent != "" {
				return noParent(c)
			}
			t = m.startThread(c.Thread)
		}
		if done, err := t.put(c, head, &m.clock, lease); done {
			lease.meet(t)
			return err
		}
		m.drop(c.Thread, t)
		t = nil
	}
}

// put reports false when the thread is gone.
func (t *memoryThread) put(c *Checkpoint, head string, clock *memoryClock, lease *memoryLease) (bool, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.gone {
		return false, nil
	}
	return true, t.log.put(c, head, clock.now(), lease.recall(t))
}

// PutWrites implements [Store].
func (m *Memory) PutWrites(ctx context.Context, k Key, writes []Write) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := CheckWrites(k, writes, m.maxValue); err != nil {
		return err
	}
	if t := m.thread(k.Thread); t != nil {
		t.mu.Lock()
		defer t.mu.Unlock()
		if i := t.log.find(k.Namespace, k.ID); i >= 0 {
			t.log.putWrites(i, writes)
			return nil
		}
	}
	return notFound(k)
}

// Get implements [Store].
func (m *Memory) Get(ctx context.Context, k Key) (Checkpoint, error) {
	if err := ctx.Err(); err != nil {
		return Checkpoint{}, err
	}
	if k.Thread == "" {
		return Checkpoint{}, fmt.Errorf("checkpoint: get: empty thread id: %w", ErrInvalid)
	}
	t := m.thread(k.Thread)
	if t == nil {
		return Checkpoint{}, notFound(k)
	}
	t.mu.Lock()
	log := t.log
	i := log.find(k.Namespace, k.ID)
	if i < 0 {
		t.mu.Unlock()
		return Checkpoint{}, notFound(k)
	}
	view := log.view()
	writes := log.writes[i].copy()
	t.mu.Unlock()

	c := view.checkpoint(k.Thread, i)
	view.fill(&c, i)
	c.Writes = sortedWrites(writes)
	return c, nil
}

// List implements [Store]. It yields what the thread held when the loop began.
func (m *Memory) List(ctx context.Context, q Query) iter.Seq2[Checkpoint, error] {
	return func(yield func(Checkpoint, error) bool) {
		if err := m.list(ctx, q, yield); err != nil {
			yield(Checkpoint{}, err)
		}
	}
}

func (m *Memory) list(ctx context.Context, q Query, yield func(Checkpoint, error) bool) error {
	if err := q.Check(); err != nil {
		return err
	}
	t := m.thread(q.Thread)
	if t == nil {
		if q.Before != "" {
			return notFound(Key{Thread: q.Thread, ID: q.Before})
		}
		return ctx.Err()
	}
	t.mu.Lock()
	pending, view, last := t.log.writes, t.log.view(), t.log.len()
	if q.Before != "" {
		last = t.log.findID(q.Before)
	}
	t.mu.Unlock()
	if last < 0 {
		return notFound(Key{Thread: q.Thread, ID: q.Before})
	}
	n := 0
	for i := view.newest(&q, last); i >= 0; i = view.newest(&q, i) {
		if err := ctx.Err(); err != nil {
			return err
		}
		c := view.checkpoint(q.Thread, i)
		if q.Writes {
			t.mu.Lock()
			writes := pending[i].copy()
			t.mu.Unlock()
			c.Writes = sortedWrites(writes)
		}
		if n++; !yield(c, nil) || n == q.Limit {
			return nil
		}
	}
	return ctx.Err()
}

// DeleteThread implements [Store].
func (m *Memory) DeleteThread(ctx context.Context, thread string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if thread == "" {
		return fmt.Errorf("checkpoint: delete: empty thread id: %w", ErrInvalid)
	}
	if t := m.thread(thread); t != nil {
		t.mu.Lock()
		t.end()
		t.mu.Unlock()
		m.drop(thread, t)
	}
	return nil
}

func (m *Memory) shard(thread string) *memoryShard {
	return &m.shards[maphash.String(memorySeed, thread)%memoryShards]
}

// thread returns nil if there is none.
func (m *Memory) thread(id string) *memoryThread {
	s := m.shard(id)
	s.mu.RLock()
	t := s.threads[id]
	s.mu.RUnlock()
	return t
}

func (m *Memory) startThread(id string) *memoryThread {
	s := m.shard(id)
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.threads[id]
	if t == nil {
		t = newMemoryThread()
		s.enter(id, t)
	}
	return t
}

// enter is called with the lock of the shard. The map is made late, so that a new
// store is small.
func (s *memoryShard) enter(id string, t *memoryThread) {
	if s.threads == nil {
		s.threads = map[string]*memoryThread{}
	}
	s.threads[id] = t
}

// drop forgets a thread that is gone.
func (m *Memory) drop(id string, t *memoryThread) {
	s := m.shard(id)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.threads[id] == t {
		delete(s.threads, id)
	}
}

// end is called with the lock of the thread.
func (t *memoryThread) end() {
	t.gone = true
	t.replace(newMemoryLog())
}

// A missing is what a new thread is met with each time: its text is made when it
// is asked for.
type missing Key

func (k *missing) Error() string {
	if k.ID == "" {
		return fmt.Sprintf("checkpoint: thread %q, namespace %q: %s", k.Thread, k.Namespace, ErrNotFound)
	}
	return fmt.Sprintf("checkpoint: thread %q, namespace %q: checkpoint %q: %s", k.Thread, k.Namespace, k.ID, ErrNotFound)
}

func (*missing) Unwrap() error { return ErrNotFound }

func notFound(k Key) error { return (*missing)(&k) }

func noParent(c *Checkpoint) error {
	return fmt.Errorf("checkpoint: thread %q, namespace %q: parent %q of %q: %w",
		c.Thread, c.Namespace, c.Parent, c.ID, ErrNotFound)
}

func conflict(c *Checkpoint, head, newest string) error {
	return fmt.Errorf("checkpoint: thread %q, namespace %q: %q was to follow %q, but the newest is %q: %w",
		c.Thread, c.Namespace, c.ID, head, newest, ErrConflict)
}
