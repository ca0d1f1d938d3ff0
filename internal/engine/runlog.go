package engine

import (
	"context"
	"sync"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/internal/uuid"
)

// foundWrites are the pending writes of a checkpoint of an earlier run, as this
// run found them. A run that resumes adds to them, and its first commit deletes them.
type foundWrites struct {
	key    checkpoint.Key
	writes []checkpoint.Write
}

// A runLog names the checkpoints of one run and brings them to the store. Every
// run of a thread has one, which its subgraphs share.
type runLog struct {
	store  checkpoint.Store
	mode   Durability
	writer writer

	mu    sync.Mutex
	ids   uuid.Series       // ascending over all namespaces
	heads map[string]string // the newest checkpoint of each namespace, stored or under way
	found []foundWrites     // of earlier runs, in case this one is rolled back
}

func newRunLog(mode Durability) *runLog { return &runLog{mode: mode, heads: map[string]string{}} }

// use sets the store, once the run has its thread.
func (l *runLog) use(store checkpoint.Store) { l.store, l.writer = store, newWriter(l.mode, store) }

// nextID returns an id that is greater than all before it.
func (l *runLog) nextID() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ids.Next()
}

// put gives a checkpoint its id, and stores it as the newest of its namespace.
func (l *runLog) put(ctx context.Context, c *checkpoint.Checkpoint) error {
	l.mu.Lock()
	c.ID = l.ids.Next()
	head := l.heads[c.Namespace]
	l.heads[c.Namespace] = c.ID
	l.mu.Unlock()
	return l.writer.put(ctx, c, head)
}

// write stores pending writes.
func (l *runLog) write(ctx context.Context, k checkpoint.Key, writes []checkpoint.Write) error {
	if len(writes) == 0 {
		return nil
	}
	return l.writer.write(ctx, k, writes)
}

// wait returns when an asynchronous writer has stored everything. Under
// Exit nothing is stored before the end of the run, and there is nothing to wait for.
func (l *runLog) wait(ctx context.Context) error {
	if l.mode == Exit {
		return nil
	}
	return l.writer.sync(ctx, "")
}

// get reads a checkpoint of a subgraph, which the run may have put before.
func (l *runLog) get(ctx context.Context, k checkpoint.Key) (checkpoint.Checkpoint, error) {
	if err := l.writer.sync(ctx, k.Namespace); err != nil {
		return checkpoint.Checkpoint{}, err
	}
	return l.store.Get(ctx, k)
}

// setHead records the newest checkpoint of a namespace, as it was read.
func (l *runLog) setHead(namespace, id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.heads[namespace] = id
}

// head returns the newest checkpoint of a namespace.
func (l *runLog) head(namespace string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.heads[namespace]
}
