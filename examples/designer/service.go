package main

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/weft-go/weft/examples/designer/internal/kai"
	"github.com/weft-go/weft/examples/designer/internal/places"
	"github.com/weft-go/weft/examples/internal/command"
	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/extract"
)

// service is a platform with its stores.
type service struct {
	*kai.Platform
	stores *places.Stores
	stop   func() // stops the goroutine of work, and waits for it
}

// open opens the stores that the environment selects, and makes a platform with them.
func (o options) open(ctx context.Context, p kai.Parts) (*service, error) {
	st, err := places.Open(ctx, places.Options{Data: o.data, Schema: o.schema, Lease: o.lease})
	if err != nil {
		return nil, err
	}
	platform, err := assemble(ctx, p, st)
	if err != nil {
		return nil, errors.Join(err, st.Close())
	}
	return &service{platform, st, func() {}}, nil
}

func assemble(ctx context.Context, p kai.Parts, st *places.Stores) (*kai.Platform, error) {
	vectors, err := embedder(ctx)
	if err != nil {
		return nil, err
	}
	p.Checkpoints, p.Studio, p.Documents = st.Checkpoints, st.Studio, st.Documents
	if p.Facts, err = memory.New(st.Memory, memory.Options{Embedder: vectors}); err != nil {
		return nil, err
	}
	model, err := p.Model(kai.Config{})
	if err != nil {
		return nil, err
	}
	how := learning(model)
	how.Logger = p.Logger
	if p.Learner, err = extract.New(p.Facts, how); err != nil {
		return nil, err
	}
	platform, err := kai.New(p)
	if err != nil {
		return nil, command.Wrong("%v", err)
	}
	return platform, nil
}

// work starts to learn turns in the background, until the service is closed. Without work, Close learns the turns.
func (s *service) work() {
	ctx, cancel := context.WithCancel(context.Background())
	var work sync.WaitGroup
	work.Go(func() { _ = s.Learner.Work(ctx) }) // the error is the context's
	s.stop = func() { cancel(); work.Wait() }
}

// Close learns the turns in the queue, for at most patience, and closes the stores. Other turns stay in the queue.
func (s *service) Close(patience time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	err := s.Learner.Drain(ctx)
	s.stop()
	if errors.Is(err, context.DeadlineExceeded) {
		err = nil
	}
	return errors.Join(err, s.stores.Close())
}
