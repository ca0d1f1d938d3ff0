package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/internal/mark"
)

// keepWrites remembers the pending writes of a restored checkpoint, for a rollback.
func (l *runLog) keepWrites(c *checkpoint.Checkpoint) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.found = append(l.found, foundWrites{c.Key, c.Writes})
}

// endSuperseded adds [ErrSuperseded] to the error of a run that another run superseded, and
// [ErrRolledBack] to the error of a run that its caller cancelled with this cause.
// It rolls the run back in the second case, and also if the other run demands it.
// The caller still holds the thread.
func (r *run) endSuperseded(lease *threadLease, snap *Snapshot, err error) (*Snapshot, error) {
	rollback, superseded := r.ctx.finish()
	if cause := context.Cause(r.ctx.caller); superseded == nil && errors.Is(cause, ErrRolledBack) {
		rollback, superseded = true, cause
	}
	if superseded == nil {
		return snap, err
	}
	if !errors.Is(err, superseded) {
		err = errors.Join(superseded, err)
	}
	if !rollback {
		return snap, err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.ctx.caller), grace)
	defer cancel()
	if rerr := r.rollBack(ctx); rerr != nil {
		lease.holder.rollback = fmt.Errorf("run %s could not be rolled back: %w", r.id, rerr)
		err = errors.Join(err, lease.holder.rollback)
	}
	return nil, err
}

// rollBack undoes all changes of the run to the thread.
// It deletes the checkpoints of the run.
// It restores the pending writes of each checkpoint that the run resumed.
func (r *run) rollBack(ctx context.Context) error {
	deleter, ok := r.Store.(checkpoint.RunDeleter)
	if !ok {
		return fmt.Errorf("%T cannot delete runs: %w", r.Store, errors.ErrUnsupported)
	}
	if err := deleter.DeleteRuns(ctx, r.thread, r.id); err != nil {
		return err
	}
	for _, f := range r.log.found {
		if err := RestoreWrites(ctx, r.log.store, f.key, f.writes); err != nil {
			return err
		}
	}
	return nil
}

// RestoreWrites gives a checkpoint the pending writes that it had before a run.
func RestoreWrites(ctx context.Context, store checkpoint.Store, key checkpoint.Key, before []checkpoint.Write) error {
	c, err := store.Get(ctx, key)
	if err != nil {
		return err
	}
	// A store cannot delete a single pending write, so a mark replaces it.
	restored := slices.Clone(before)
	for _, w := range c.Writes {
		same := func(b checkpoint.Write) bool { return b.Task == w.Task && b.Index == w.Index }
		if !slices.ContainsFunc(before, same) {
			restored = append(restored, checkpoint.Write{Task: w.Task, Index: w.Index, Channel: mark.Gone})
		}
	}
	if len(restored) == 0 {
		return nil
	}
	return store.PutWrites(ctx, key, restored)
}
