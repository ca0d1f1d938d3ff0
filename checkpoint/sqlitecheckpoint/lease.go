package sqlitecheckpoint

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"sync/atomic"

	"github.com/weft-go/weft/checkpoint"
)

// locks holds the leases of a store. A lease is a lock of the operating system on
// one byte of a file, so it ends with the process. Such a lock belongs to the open
// file: locking the byte again with the same file succeeds. So held has the threads
// that this store has leased.
type locks struct {
	path string // empty for a database in memory

	mu     sync.Mutex
	file   *os.File // nil until the first lease
	held   map[string]bool
	closed bool
}

// errLocked is returned when another open file holds the lock.
var errLocked = errors.New("locked")

func newLocks(path string) *locks {
	return &locks{path: path, held: map[string]bool{}}
}

// lock locks a thread. It returns errLocked if the thread is leased already.
func (l *locks) lock(thread string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.closed:
		return fs.ErrClosed
	case l.held[thread]:
		return errLocked
	}
	if l.path != "" {
		if err := l.lockFile(thread); err != nil {
			return err
		}
	}
	l.held[thread] = true
	return nil
}

func (l *locks) lockFile(thread string) error {
	if l.file == nil {
		f, err := os.OpenFile(l.path, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return err
		}
		l.file = f
	}
	return lockByte(l.file, lockOffset(thread))
}

// unlock unlocks a thread. It does nothing after close, which releases all locks.
func (l *locks) unlock(thread string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || !l.held[thread] {
		return nil
	}
	delete(l.held, thread)
	if l.file == nil {
		return nil
	}
	return unlockByte(l.file, lockOffset(thread))
}

// close releases all locks. It does not delete the file, because another process may be
// about to lock it.
func (l *locks) close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil
	}
	l.closed = true
	if l.file == nil {
		return nil
	}
	return l.file.Close()
}

// lockOffset returns the offset of the byte to lock for a thread. The file need not
// be that long.
func lockOffset(thread string) int64 {
	sum := sha256.Sum256([]byte(thread))
	return int64(binary.LittleEndian.Uint64(sum[:]) >> 2)
}

// A lease passes calls to its store. Put and PutWrites fail after Release.
type lease struct {
	*Store
	thread   string
	released atomic.Bool
}

// Lease implements [checkpoint.Leaser]. The lease ends when it is released, the
// store is closed or the process ends. It does not expire. On systems other than Linux,
// macOS and Windows, it excludes only other runs of this store. There, a run of another
// process gets [checkpoint.ErrConflict] at its first Put.
func (s *Store) Lease(ctx context.Context, thread string) (checkpoint.Lease, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if thread == "" {
		return nil, fmt.Errorf("sqlitecheckpoint: lease: empty thread id: %w", checkpoint.ErrInvalid)
	}
	err := s.locks.lock(thread)
	if errors.Is(err, errLocked) {
		err = fmt.Errorf("another run holds it: wait until it ends: %w", checkpoint.ErrConflict)
	}
	if err != nil {
		return nil, s.fail("lease", checkpoint.Key{Thread: thread}, err)
	}
	return &lease{Store: s, thread: thread}, nil
}

// Release implements [checkpoint.Lease].
func (l *lease) Release(context.Context) error {
	if l.released.Swap(true) {
		return nil
	}
	if err := l.locks.unlock(l.thread); err != nil {
		return l.fail("release", checkpoint.Key{Thread: l.thread}, err)
	}
	return nil
}

// Put implements [checkpoint.Store].
func (l *lease) Put(ctx context.Context, c checkpoint.Checkpoint, head string) error {
	if l.released.Load() {
		return l.lost(c.Key)
	}
	return l.Store.Put(ctx, c, head)
}

// PutWrites implements [checkpoint.Store].
func (l *lease) PutWrites(ctx context.Context, k checkpoint.Key, writes []checkpoint.Write) error {
	if l.released.Load() {
		return l.lost(k)
	}
	return l.Store.PutWrites(ctx, k, writes)
}

func (l *lease) lost(k checkpoint.Key) error {
	err := fmt.Errorf("the lease of thread %q was released: %w", l.thread, checkpoint.ErrConflict)
	return l.fail("put", k, err)
}
