package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/weft-go/weft/checkpoint"
)

// keep keeps the pending writes of a checkpoint that was restored.
func (l *runLog) keep(c *checkpoint.Checkpoint) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.found = append(l.found, foundWrites{c.Key, c.Writes})
}

// giveWay makes [ErrSuperseded] the error of a run that was superseded, and rolls
// the run back if it has to. The run still holds the thread.
func (r *run) giveWay(lease *threadLease, snap *Snapshot, err error) (*Snapshot, error) {
	rollback, superseded := r.ctx.finish()
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

// rollBack gives the thread its state before the run: it removes the run's
// checkpoints, and restores the pending writes of those that the run resumed.
func (r *run) rollBack(ctx context.Context) error {
	deleter, ok := r.Store.(checkpoint.RunDeleter)
	if !ok {
		return fmt.Errorf("%T cannot delete runs: %w", r.Store, errors.ErrUnsupported)
	}
	if err := deleter.DeleteRuns(ctx, r.thread, r.id); err != nil {
		return err
	}
	for _, f := range r.log.found {
		c, err := r.log.store.Get(ctx, f.key)
		if err != nil {
			return err
		}
		// The store cannot delete one pending write, but a mark can replace it.
		restored := slices.Clone(f.writes)
		for _, w := range c.Writes {
			same := func(before checkpoint.Write) bool { return before.Task == w.Task && before.Index == w.Index }
			if !slices.ContainsFunc(f.writes, same) {
				restored = append(restored, checkpoint.Write{Task: w.Task, Index: w.Index, Channel: markGone})
			}
		}
		if len(restored) == 0 {
			continue
		}
		if err := r.log.store.PutWrites(ctx, f.key, restored); err != nil {
			return err
		}
	}
	return nil
}
