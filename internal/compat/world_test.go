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

// A world is the environment of one thread. Its fields control the nodes of the graph. It
// records which nodes and side effects ran.
type world struct {
	store      checkpoint.Store
	durability graph.Durability
	broken     bool            // makes nodes fail
	drain      func()          // drains the run; a node calls it unless it is nil
	held       chan<- string   // receives the name of each node that waits for release
	release    <-chan struct{} // releases waiting nodes when closed; nil if no node waits

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

// hold blocks a node until release is closed.
func (w *world) hold(name string) {
	if w.release != nil {
		w.held <- name
		<-w.release
	}
}

// node returns a node that records each of its executions.
func (w *world) node(name string, fn func(ctx context.Context, s state.View) (state.Update, error)) graph.NodeFunc {
	return func(ctx context.Context, s state.View) (state.Update, error) {
		w.mark(name)
		return fn(ctx, s)
	}
}

// logs returns a node that appends its name to the journal.
func (w *world) logs(name string, more ...state.Write) graph.NodeFunc {
	return w.node(name, func(context.Context, state.View) (state.Update, error) {
		return append(state.Update{journal.Put(name)}, more...), nil
	})
}

// fails returns a node that returns an error if w.broken is true.
func (w *world) fails(name string) graph.NodeFunc {
	return w.node(name, func(context.Context, state.View) (state.Update, error) {
		if w.broken {
			return nil, errBroken
		}
		return state.Update{journal.Put(name + " in the end")}, nil
	})
}

// A shownChannel is a channel whose value is a part of expected snapshots.
type shownChannel struct {
	handle state.Handle
	read   func(state.View) json.RawMessage
}

func show[V any](c interface {
	state.Handle
	Lookup(v state.View) (V, bool)
},
) shownChannel {
	return shownChannel{c, func(v state.View) json.RawMessage {
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

func handles(channels []shownChannel) []state.Handle {
	list := make([]state.Handle, 0, len(channels))
	for _, c := range channels {
		list = append(list, c.handle)
	}
	return list
}
