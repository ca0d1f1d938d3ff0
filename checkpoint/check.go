package checkpoint

import "fmt"

// DefaultMaxValue is the largest size of one value in bytes, unless a store is
// configured otherwise.
const DefaultMaxValue = 16 << 20

// Check validates a checkpoint. A store must call it before it writes anything.
// Check returns [ErrInvalid] if the thread or the id is empty, or if the checkpoint is its
// own parent. It returns [ErrTooLarge] if Control, or the Data of a change in Changes or
// Snapshot, has more than maxValue bytes. A maxValue of zero means [DefaultMaxValue], and a
// negative maxValue means no limit. Check is for implementers of [Store].
func (c *Checkpoint) Check(maxValue int) error {
	if err := c.Key.Check(); err != nil {
		return err
	}
	if c.Parent == c.ID {
		return fmt.Errorf("checkpoint: thread %q: checkpoint %q is its own parent: %w", c.Thread, c.ID, ErrInvalid)
	}
	limit := valueLimit(maxValue)
	if limit >= 0 && len(c.Control) > limit {
		return tooLarge(c.Key, "control", len(c.Control), limit)
	}
	if err := c.checkChanges(c.Changes, limit); err != nil {
		return err
	}
	return c.checkChanges(c.Snapshot, limit)
}

// Check returns [ErrInvalid] if the thread or the id is empty. Such a key does not name one
// checkpoint.
func (k Key) Check() error {
	if k.Thread == "" {
		return fmt.Errorf("checkpoint: empty thread id: %w", ErrInvalid)
	}
	if k.ID == "" {
		return fmt.Errorf("checkpoint: thread %q: empty checkpoint id: %w", k.Thread, ErrInvalid)
	}
	return nil
}

// Check returns [ErrInvalid] if the thread is empty or the limit is negative.
func (q Query) Check() error {
	if q.Thread == "" {
		return fmt.Errorf("checkpoint: list: empty thread id: %w", ErrInvalid)
	}
	if q.Limit < 0 {
		return fmt.Errorf("checkpoint: list of thread %q: limit %d is negative: %w", q.Thread, q.Limit, ErrInvalid)
	}
	return nil
}

// CheckWrites validates the arguments of [Store.PutWrites]. It returns [ErrInvalid] if the
// thread or the id of k is empty, and [ErrTooLarge] if the Data of a write has more than
// maxValue bytes; see [Checkpoint.Check] for zero and negative values of maxValue.
func CheckWrites(k Key, writes []Write, maxValue int) error {
	if err := k.Check(); err != nil {
		return err
	}
	limit := valueLimit(maxValue)
	for i := range writes {
		if w := &writes[i]; limit >= 0 && len(w.Data) > limit {
			what := fmt.Sprintf("write %d of task %q to channel %q", w.Index, w.Task, w.Channel)
			return tooLarge(k, what, len(w.Data), limit)
		}
	}
	return nil
}

func (c *Checkpoint) checkChanges(changes []Change, limit int) error {
	if limit < 0 {
		return nil
	}
	for i := range changes {
		if size := len(changes[i].Data); size > limit {
			return tooLarge(c.Key, fmt.Sprintf("change of channel %q", changes[i].Channel), size, limit)
		}
	}
	return nil
}

// valueLimit replaces zero by the default limit. A negative limit means no limit.
func valueLimit(maxValue int) int {
	if maxValue == 0 {
		return DefaultMaxValue
	}
	return maxValue
}

func tooLarge(k Key, what string, size, limit int) error {
	return fmt.Errorf("checkpoint: thread %q, checkpoint %q: %s has %d bytes, more than the store's limit of %d: %w",
		k.Thread, k.ID, what, size, limit, ErrTooLarge)
}
