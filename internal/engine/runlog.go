package engine

import (
	"context"
	"sync"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/internal/uuid"
)

// foundWrites are the pending writes of a checkpoint at the start of a run.
// The run adds pending writes to them, and its first commit deletes them all.
// A rollback restores them from this copy.
type foundWrites struct {
	key    checkpoint.Key
	writes []checkpoint.Write
}

// A runLog assigns ids to the checkpoints of a run and passes them to the writer.
// A run with a thread has one runLog, which its subgraphs share.
type runLog struct {
	store  checkpoint.Store
	mode   Durability
	writer writer

	mu    sync.Mutex
	ids   uuid.Series   // ids ascend across all namespaces
	found []foundWrites // for a rollback of this run
}

func newRunLog(mode Durability) *runLog { return &runLog{mode: mode} }

// setStore sets the store. It is called after the run has acquired its thread.
func (l *runLog) setStore(store checkpoint.Store) {
	l.store, l.writer = store, newWriter(l.mode, store)
}

// nextID returns an id that is greater than all ids that it returned before.
func (l *runLog) nextID() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ids.Next()
}

// put assigns an id to a checkpoint and stores it as the newest of its namespace.
// The argument head is the id of the newest checkpoint before it; empty for none.
func (l *runLog) put(ctx context.Context, c *checkpoint.Checkpoint, head string) error {
	c.ID = l.nextID()
	return l.writer.put(ctx, c, head)
}

// write stores pending writes.
func (l *runLog) write(ctx context.Context, k checkpoint.Key, writes []checkpoint.Write) error {
	if len(writes) == 0 {
		return nil
	}
	return l.writer.write(ctx, k, writes)
}

// wait returns when all earlier writes are stored.
// Under Exit it returns at once, because the writes are stored at the end of the run.
func (l *runLog) wait(ctx context.Context) error {
	if l.mode == Exit {
		return nil
	}
	return l.writer.sync(ctx, "")
}

// get reads a checkpoint of a subgraph, after pending puts of this run are stored.
func (l *runLog) get(ctx context.Context, k checkpoint.Key) (checkpoint.Checkpoint, error) {
	if err := l.writer.sync(ctx, k.Namespace); err != nil {
		return checkpoint.Checkpoint{}, err
	}
	return l.store.Get(ctx, k)
}
