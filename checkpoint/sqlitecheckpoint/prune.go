package sqlitecheckpoint

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/internal/sqlitedb"
)

// Prune implements [checkpoint.Pruner]. It removes the newest of the outdated checkpoints
// first, a few thousand in each transaction. If it returns an error, some checkpoints may
// be removed already. SQLite reuses their space, but the file does not shrink.
func (s *Store) Prune(ctx context.Context, p checkpoint.PrunePolicy) (int, error) {
	removed := 0
	prune := func(thread string) error {
		n, err := s.remove(ctx, thread, removeBatch, func(w *sqlitedb.Session, steps []step) error {
			return s.selectOutdated(w, steps, &p)
		})
		removed += n
		if err != nil {
			return s.fail("prune", checkpoint.Key{Thread: thread}, err)
		}
		return nil
	}
	for _, thread := range p.Threads {
		if err := prune(thread); err != nil {
			return removed, err
		}
	}
	if p.Threads != nil {
		return removed, nil
	}
	for t, err := range s.ListThreads(ctx, "") {
		if err != nil {
			return removed, err
		}
		if err := prune(t.ID); err != nil {
			return removed, err
		}
	}
	return removed, nil
}

// selectOutdated selects the checkpoints that the policy does not keep.
func (s *Store) selectOutdated(w *sqlitedb.Session, steps []step, p *checkpoint.PrunePolicy) error {
	now, newer := time.Now(), map[int64]int{}
	for i := range slices.Backward(steps) {
		n := &steps[i]
		n.remove = !p.Keeps(newer[n.namespace], now.Sub(time.UnixMicro(n.time)), n.pending)
		newer[n.namespace]++
	}
	c := callTree{names: &s.names, session: w, steps: steps, ended: map[string]bool{"": false}}
	for i := range steps {
		n := &steps[i]
		if n.remove || n.namespace == 0 {
			continue
		}
		name, err := s.names.namespace(w, threadOf(n.key), n.namespace)
		if err != nil {
			return err
		}
		if n.remove, err = c.hasEnded(name); err != nil {
			return err
		}
	}
	return nil
}

// A callTree finds the subgraph calls that can no longer be resumed, because the checkpoint
// at which they were made is not kept.
type callTree struct {
	names   *names
	session *sqlitedb.Session
	steps   []step
	ended   map[string]bool // by namespace
}

func (c *callTree) hasEnded(namespace string) (bool, error) {
	ended, known := c.ended[namespace]
	if known {
		return ended, nil
	}
	caller, id, ok := checkpoint.CalledAt(namespace)
	if ok {
		kept, err := c.keeps(caller, id)
		if err != nil {
			return false, err
		}
		ended = !kept
		if kept {
			if ended, err = c.hasEnded(caller); err != nil {
				return false, err
			}
		}
	}
	c.ended[namespace] = ended
	return ended, nil
}

// keeps reports whether a checkpoint exists and the policy keeps it.
func (c *callTree) keeps(namespace, id string) (bool, error) {
	key, in, err := findID(c.session, threadOf(c.steps[0].key), packID(id))
	if err != nil || key == 0 {
		return false, err
	}
	name, err := c.names.namespace(c.session, threadOf(key), in)
	if err != nil || name != namespace {
		return false, err
	}
	i, found := slices.BinarySearchFunc(c.steps, key, func(s step, key int64) int { return cmp.Compare(s.key, key) })
	return found && !c.steps[i].remove, nil
}
