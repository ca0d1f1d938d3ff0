package memory

import (
	"context"
	"fmt"
	"sync"
)

// fair is a [Store] that lets a tenant have so many calls at once: one that asks for
// much waits for itself, and not others for it. What is yielded row by row is not
// counted: a caller may ask within such a loop.
type fair struct {
	Store
	most int

	mu      sync.Mutex
	tenants map[string]*turnstile
}

// A turnstile is there as long as somebody is in it, or waits for it.
type turnstile struct {
	places chan struct{}
	users  int
}

func newFair(store Store, most int) *fair {
	return &fair{Store: store, most: most, tenants: map[string]*turnstile{}}
}

// enter waits for a place.
func (f *fair) enter(ctx context.Context, tenant string) (leave func(), err error) {
	f.mu.Lock()
	t := f.tenants[tenant]
	if t == nil {
		t = &turnstile{places: make(chan struct{}, f.most)}
		f.tenants[tenant] = t
	}
	t.users++
	f.mu.Unlock()
	gone := func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		if t.users--; t.users == 0 {
			delete(f.tenants, tenant)
		}
	}
	select {
	case t.places <- struct{}{}:
		return func() {
			<-t.places
			gone()
		}, nil
	case <-ctx.Done():
		gone()
		return nil, fmt.Errorf("waiting for other calls of the tenant %.60q: %w", tenant, ctx.Err())
	}
}

func (f *fair) Apply(ctx context.Context, s Scope, changes []Change) ([]Applied, error) {
	leave, err := f.enter(ctx, s.Tenant)
	if err != nil {
		return nil, err
	}
	defer leave()
	return f.Store.Apply(ctx, s, changes)
}

func (f *fair) Search(ctx context.Context, s Search) (Candidates, error) {
	leave, err := f.enter(ctx, s.Query.Scope.Tenant)
	if err != nil {
		return Candidates{}, err
	}
	defer leave()
	return f.Store.Search(ctx, s)
}

func (f *fair) Forget(ctx context.Context, s Scope) (int, error) {
	leave, err := f.enter(ctx, s.Tenant)
	if err != nil {
		return 0, err
	}
	defer leave()
	return f.Store.Forget(ctx, s)
}
