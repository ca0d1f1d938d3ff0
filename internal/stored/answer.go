package stored

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/weft-go/weft/checkpoint"
)

// ErrNoQuestion is returned by [Answer] if the thread has no open question with the id.
var ErrNoQuestion = errors.New("the thread has no open question with this id")

// Answer stores the answer to an open question. The next run of the thread uses it. If the store is a
// [checkpoint.Leaser], Answer leases the thread, and so it returns [checkpoint.ErrConflict] while a run
// holds the thread.
func Answer(ctx context.Context, store checkpoint.Store, thread, question string, value json.RawMessage) (err error) {
	if leaser, ok := store.(checkpoint.Leaser); ok {
		lease, err2 := leaser.Lease(ctx, thread)
		if err2 == nil {
			store = lease
			defer func() { err = errors.Join(err, lease.Release(ctx)) }()
		} else if !errors.Is(err2, errors.ErrUnsupported) {
			return err2
		}
	}
	head, err := store.Get(ctx, checkpoint.Key{Thread: thread})
	if err != nil {
		return err
	}
	p := readPending(head.Writes)
	if !p.open[question] {
		return fmt.Errorf("question %s: %w", question, ErrNoQuestion)
	}
	w := checkpoint.Write{Task: p.tasks[question], Channel: "$answer"}
	for _, other := range head.Writes {
		if other.Task == w.Task {
			w.Index = max(w.Index, other.Index+1)
		}
	}
	if w.Data, err = json.Marshal(answer{ID: question, Value: value}); err != nil {
		return err
	}
	return store.PutWrites(ctx, head.Key, []checkpoint.Write{w})
}
