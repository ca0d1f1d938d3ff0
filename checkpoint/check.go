package checkpoint

import "fmt"

// DefaultMaxValue is the most bytes that one value may hold unless a store is
// told otherwise.
const DefaultMaxValue = 16 << 20

// Check reports what a store must refuse in a checkpoint before it writes
// anything: an empty thread or id and a checkpoint that is its own parent are
// [ErrInvalid], and a Control, change or part of a snapshot that holds more than
// maxValue bytes is [ErrTooLarge]. Zero stands for [DefaultMaxValue], and a
// negative number for no limit. It is for those who write a [Store].
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

// Check reports a key that does not name one checkpoint, as its thread or id
// is empty, with [ErrInvalid].
func (k Key) Check() error {
	if k.Thread == "" {
		return fmt.Errorf("checkpoint: empty thread id: %w", ErrInvalid)
	}
	if k.ID == "" {
		return fmt.Errorf("checkpoint: thread %q: empty checkpoint id: %w", k.Thread, ErrInvalid)
	}
	return nil
}

// Check reports a query that can not be answered, as its thread is empty or its
// limit negative, with [ErrInvalid].
func (q Query) Check() error {
	if q.Thread == "" {
		return fmt.Errorf("checkpoint: list: empty thread id: %w", ErrInvalid)
	}
	if q.Limit < 0 {
		return fmt.Errorf("checkpoint: list of thread %q: limit %d: %w", q.Thread, q.Limit, ErrInvalid)
	}
	return nil
}

// CheckWrites is what [Checkpoint.Check] is, for [Store.PutWrites].
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

// valueLimit is negative for no limit.
func valueLimit(maxValue int) int {
	if maxValue == 0 {
		return DefaultMaxValue
	}
	return maxValue
}

func tooLarge(k Key, what string, size, limit int) error {
	return fmt.Errorf("checkpoint: thread %q, checkpoint %q: %s holds %d bytes, and %d are allowed: %w",
		k.Thread, k.ID, what, size, limit, ErrTooLarge)
}
