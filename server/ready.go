package server

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/server/runs"
)

const (
	readyTime = 2 * time.Second // the time limit for reading from all stores
	readyKept = time.Second     // the time for which the last result is used again
)

// readiness is the last result of the check of the stores. Simultaneous requests share it, since /readyz needs no user.
type readiness struct {
	mu  sync.Mutex
	at  time.Time
	err error
}

// ready reports whether the server accepts runs and its stores answer.
func (c *call) ready() error {
	c.s.mu.Lock()
	closed := c.s.closed
	c.s.mu.Unlock()
	if closed {
		return drainRefusal("")
	}
	r := &c.s.readiness
	r.mu.Lock()
	defer r.mu.Unlock()
	if time.Since(r.at) > readyKept {
		ctx, cancel := context.WithTimeout(c.s.ctx, readyTime)
		defer cancel()
		r.err = c.s.askStores(ctx)
		r.at = time.Now()
		if r.err != nil {
			c.s.o.Logger.Error("server: a store does not answer", "error", r.err)
		}
	}
	if r.err != nil {
		return outageRefusal()
	}
	return c.ok()
}

// askStores reads from each store.
func (s *Server) askStores(ctx context.Context) error {
	var errs []error
	if _, _, err := s.o.Runs.Search(ctx, runs.Query{Kind: runs.Assistant, Limit: 1}); err != nil {
		errs = append(errs, fmt.Errorf("runs: %w", err))
	}
	asked := map[checkpoint.Store]bool{}
	for name, g := range s.graphs {
		store := g.graph.Checkpoints()
		if asked[store] {
			continue
		}
		asked[store] = true
		if _, err := g.graph.Thread(g.assistant).Snapshot(ctx); err != nil && !errors.Is(err, checkpoint.ErrNotFound) {
			errs = append(errs, fmt.Errorf("checkpoints of graph %q: %w", name, err))
		}
	}
	if s.o.Values != nil {
		scope := memory.Scope{Tenant: ownValues, User: "ready"}
		if _, err := s.o.Values.In(scope, "ready").Get(ctx, "ready"); err != nil && !errors.Is(err, memory.ErrNotFound) {
			errs = append(errs, fmt.Errorf("values: %w", err))
		}
	}
	return errors.Join(errs...)
}
