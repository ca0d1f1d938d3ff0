package compat_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

// A world holds the store of one thread and the switches of its nodes. It records which nodes and side effects ran.
type world struct {
	store      checkpoint.Store
	durability graph.Durability
	broken     bool            // nodes that can fail do so
	drain      func()          // called by a node that asks for its run to be drained
	held       chan<- string   // receives the name of each node that waits for release
	release    <-chan struct{} // nil: nodes do not wait

	mu  sync.Mutex
	ran []string
}

var errBroken = errors.New("the service is down")

func (w *world) mark(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ran = append(w.ran, name)
}

// takeRan returns the sorted names of the nodes and side effects that ran since the last call.
func (w *world) takeRan() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	ran := w.ran
	w.ran = nil
	slices.Sort(ran)
	return ran
}

// hold keeps a node running until the world releases it.
func (w *world) hold(name string) {
	if w.release != nil {
		w.held <- name
		<-w.release
	}
}

// node returns a node that records that it ran.
func (w *world) node(name string, fn func(ctx context.Context, s state.View) (state.Update, error)) graph.NodeFunc {
	return func(ctx context.Context, s state.View) (state.Update, error) {
		w.mark(name)
		return fn(ctx, s)
	}
}

// logs returns a node that appends its name to the log.
func (w *world) logs(name string, more ...state.Write) graph.NodeFunc {
	return w.node(name, func(context.Context, state.View) (state.Update, error) {
		return append(state.Update{journal.Put(name)}, more...), nil
	})
}

// fails returns a node that fails while the world is broken.
func (w *world) fails(name string) graph.NodeFunc {
	return w.node(name, func(context.Context, state.View) (state.Update, error) {
		if w.broken {
			return nil, errBroken
		}
		return state.Update{journal.Put(name + " in the end")}, nil
	})
}

// A shown channel is one whose value is part of a snapshot's expectation.
type shown struct {
	handle state.Handle
	read   func(state.View) json.RawMessage
}

func show[V any](c interface {
	state.Handle
	Lookup(v state.View) (V, bool)
},
) shown {
	return shown{c, func(v state.View) json.RawMessage {
		value, ok := c.Lookup(v)
		if !ok {
			return nil
		}
		data, err := json.Marshal(value)
		if err != nil {
			panic(err)
		}
		return data
	}}
}

func handles(channels []shown) []state.Handle {
	list := make([]state.Handle, 0, len(channels))
	for _, c := range channels {
		list = append(list, c.handle)
	}
	return list
}
