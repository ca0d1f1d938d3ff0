package memory

import (
	"context"
	"errors"
	"fmt"
)

// A Forgetter keeps something about somebody: [Memory], conversation.History,
// kv.Values, knowledge.Base, extract.InProcess.
type Forgetter interface {
	// Forget removes all that there is of a scope, and returns how much that was. Parts
	// that are empty mean all, but for the tenant.
	Forget(ctx context.Context, s Scope) (int, error)
}

// ForgetAll forgets a scope wherever something is kept, and returns how much that was in
// all. What fails keeps nothing else from being forgotten; it can be called again.
func ForgetAll(ctx context.Context, s Scope, from ...Forgetter) (int, error) {
	total := 0
	var failed []error
	for i, f := range from {
		if f == nil {
			return total, fmt.Errorf("memory: forget all: the forgetter %d is nil: %w", i, ErrInvalid)
		}
	}
	for _, f := range from {
		n, err := f.Forget(ctx, s)
		total += n
		if err != nil {
			failed = append(failed, err)
		}
	}
	return total, errors.Join(failed...)
}
