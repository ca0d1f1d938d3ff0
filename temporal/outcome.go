package temporal

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

// An outcome is the end of a run, as it travels through Temporal. The state is in the checkpoint store.
type outcome struct {
	Checkpoint string             `json:"checkpoint,omitempty"`
	Failure    *failure           `json:"failure,omitempty"`
	Deadlines  []questionDeadline `json:"deadlines,omitempty"`
}

// A questionDeadline is an open question that gets an answer when its time has passed.
type questionDeadline struct {
	wireAnswer
	After time.Duration `json:"after"`
}

// A failure is the error of a run.
type failure struct {
	Kind  string        `json:"kind,omitempty"` // a key of sentinels
	Text  string        `json:"text"`
	Nodes []nodeFailure `json:"nodes,omitempty"`
}

type nodeFailure struct {
	Path    string `json:"path,omitempty"`
	Node    string `json:"node"`
	Task    string `json:"task"`
	Attempt int    `json:"attempt"`
	Text    string `json:"text"`
}

// sentinels are the errors that a client finds with errors.Is. A run that ends with one of them is
// not repeated.
var sentinels = map[string]error{
	"canceled":      context.Canceled,
	"no_input":      graph.ErrNoInput,
	"max_steps":     graph.ErrMaxSteps,
	"timeout":       graph.ErrTimeout,
	"no_question":   graph.ErrNoQuestion,
	"duplicate_key": graph.ErrDuplicateKey,
	"signal":        graph.ErrSignal,
	"route":         graph.ErrRoute,
	"unknown_node":  graph.ErrUnknownNode,
	"no_store":      graph.ErrNoStore,
	"superseded":    graph.ErrSuperseded,
	"concurrent":    state.ErrConcurrentWrite,
	"invalid":       checkpoint.ErrInvalid,
	"too_large":     checkpoint.ErrTooLarge,
}

// newFailure returns the failure of a run that another attempt would not mend. It returns nil for an
// error of the surroundings, such as that of a store.
func newFailure(err error) *failure {
	f := &failure{Text: err.Error(), Nodes: nodeFailures(err)}
	for kind, sentinel := range sentinels {
		if errors.Is(err, sentinel) {
			f.Kind = kind
			return f
		}
	}
	if _, ok := errors.AsType[*state.ChannelError](err); ok || f.Nodes != nil {
		return f
	}
	return nil
}

// nodeFailures returns the failures of nodes in a tree of errors.
func nodeFailures(err error) []nodeFailure {
	switch e := err.(type) { //nolint:errorlint // each level is visited
	case nil:
		return nil
	case *graph.NodeError:
		return []nodeFailure{{Path: e.Path, Node: e.Node, Task: e.Task, Attempt: e.Attempt, Text: e.Err.Error()}}
	case interface{ Unwrap() []error }:
		var out []nodeFailure
		for _, inner := range e.Unwrap() {
			out = append(out, nodeFailures(inner)...)
		}
		return out
	}
	return nodeFailures(errors.Unwrap(err))
}

// A remoteError is an error of another process, of which only the text and a sentinel are known.
type remoteError struct {
	text     string
	sentinel error
}

func (e *remoteError) Error() string { return e.text }
func (e *remoteError) Unwrap() error { return e.sentinel }

// err returns the error for the caller.
func (f *failure) err() error {
	var errs []error
	for _, n := range f.Nodes {
		errs = append(errs, &graph.NodeError{Path: n.Path, Node: n.Node, Task: n.Task, Attempt: n.Attempt, Err: errors.New(n.Text)})
	}
	if sentinel := sentinels[f.Kind]; sentinel != nil || errs == nil {
		errs = slices.Insert(errs, 0, error(&remoteError{f.Text, sentinel}))
	}
	return errors.Join(errs...)
}
