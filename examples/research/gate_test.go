package main

import (
	"context"
	"iter"
	"strings"
	"sync"
	"testing"

	"github.com/weft-go/weft/examples/research/internal/account"
	"github.com/weft-go/weft/examples/research/internal/offline"
	"github.com/weft-go/weft/llm"
)

// A gate is the offline model. From the second question on it waits before it answers, and it counts each question.
type gate struct {
	offline.Model
	mu     sync.Mutex
	closed bool
	asked  map[string]int
	waits  chan struct{} // receives a value when a call waits
	open   chan struct{}
}

func newGate() *gate {
	return &gate{closed: true, asked: map[string]int{}, waits: make(chan struct{}, 1), open: make(chan struct{})}
}

func (g *gate) Stream(ctx context.Context, r llm.Request) iter.Seq2[llm.Chunk, error] {
	return func(yield func(llm.Chunk, error) bool) {
		question, _, _ := strings.Cut(r.Messages[len(r.Messages)-1].Text(), "\n")
		g.mu.Lock()
		g.asked[question]++
		wait := len(g.asked) > 1 && g.closed
		g.mu.Unlock()
		if wait {
			select {
			case g.waits <- struct{}{}:
			default:
			}
			select {
			case <-g.open:
			case <-ctx.Done():
				yield(llm.Chunk{}, ctx.Err())
				return
			}
		}
		for c, err := range g.Model.Stream(ctx, r) {
			if !yield(c, err) {
				return
			}
		}
	}
}

// unlock lets later calls pass, and resets the counts.
func (g *gate) unlock() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed, g.asked = false, map[string]int{}
}

// once checks that the program asked the model each question once.
func (g *gate) once(t *testing.T) {
	t.Helper()
	g.mu.Lock()
	defer g.mu.Unlock()
	for question, n := range g.asked {
		if n != 1 {
			t.Errorf("asked %d times: %s", n, question)
		}
	}
}

// account returns the account of a user, without HTTP.
func (p *place) account(u user) account.Account {
	p.t.Helper()
	id, err := p.Backend.Verify(p.t.Context(), u.token)
	if err != nil {
		p.t.Fatal(err)
	}
	a, err := p.Backend.As(id)
	if err != nil {
		p.t.Fatal(err)
	}
	return a
}
