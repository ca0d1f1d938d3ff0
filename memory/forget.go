package memory

import (
	"context"
	"errors"
	"fmt"
)

// Forget removes everything of a scope: its turns, facts with their history, values, conversations
// and documents. It returns how much that was. A part of the scope that is empty means all of them,
// but for the tenant: of a tenant and a user, it forgets the user in every workspace and to every agent.
// Tenants never mix: an empty one stands for what has no tenant. An empty scope is an [ErrInvalid].
//
// A turn or a message that was said before, and is stored late, is refused with [ErrForgotten]. An
// error in one part does not keep the others from being forgotten; Forget can be called again.
func (m *Memory) Forget(ctx context.Context, s Scope) (Counts, error) {
	var c Counts
	if err := checkForgotten(s); err != nil {
		return c, fmt.Errorf("memory: forget: %w", err)
	}
	part := func(name string, count *int, forget func() (int, error)) error {
		n, err := forget()
		if *count = n; err != nil {
			return fmt.Errorf("memory: forget %s of %s: %w", name, s, err)
		}
		return nil
	}
	b := m.backend
	return c, errors.Join(
		part("turns", &c.Turns, func() (int, error) { return b.Turns().Forget(ctx, s) }),
		part("facts", &c.Facts, func() (int, error) { return b.Facts().Forget(ctx, s) }),
		part("values", &c.Values, func() (int, error) { return b.Values().Forget(ctx, s) }),
		part("conversations", &c.Conversations, func() (int, error) { return b.Conversations().Forget(ctx, s) }),
		part("documents", &c.Documents, func() (int, error) { return b.Documents().Forget(ctx, s) }),
	)
}

// checkForgotten returns [ErrInvalid] for a scope that cannot be forgotten.
func checkForgotten(s Scope) error {
	if s == (Scope{}) {
		return fmt.Errorf("a scope that names nobody: %w", ErrInvalid)
	}
	return s.Validate()
}

// Sweep removes facts and values that have expired, of all scopes, and returns how many. Searches leave them out
// before they are removed. Any number of programs may sweep at once. [Conversations.Retain]
// removes old conversations.
func (m *Memory) Sweep(ctx context.Context) (int, error) {
	facts, err := sweep(ctx, m.backend.Facts().Sweep)
	if err != nil {
		return facts, fmt.Errorf("memory: sweep facts: %w", err)
	}
	values, err := sweep(ctx, m.backend.Values().Sweep)
	if err != nil {
		return facts + values, fmt.Errorf("memory: sweep values: %w", err)
	}
	return facts + values, nil
}

func sweep(ctx context.Context, batch func(ctx context.Context, limit int) (int, error)) (removed int, err error) {
	for {
		n, err := batch(ctx, MaxBatch)
		removed += n
		if err != nil || n < MaxBatch {
			return removed, err
		}
	}
}
