package memory

import (
	"context"
	"errors"
	"fmt"
)

// Forget removes all data of a scope: turns, facts with their history, values, conversations and documents.
// It returns the numbers of removed items. An empty part of the scope means any, except for the tenant: a
// tenant and a user select the user's data in every workspace and with every agent. An empty tenant selects
// only data without a tenant. For an empty scope it returns [ErrInvalid].
//
// If a turn or a message that is older than the call is stored later, the error is [ErrForgotten]. An error
// in one part does not stop the other parts. Forget can be called again.
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
		return fmt.Errorf("the scope has no tenant, workspace, user or agent, and would stand for everybody: %w", ErrInvalid)
	}
	return s.Validate()
}

// Sweep removes expired facts and values of all scopes and returns their numbers. Searches leave out
// expired items even before they are removed. Several programs may call it at the same time.
// [Conversations.Retain] removes old conversations.
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
