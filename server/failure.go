package server

import (
	"errors"
	"slices"
	"strings"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/graph"
)

// A failure is the error of a run as clients see it. Clients see the text of an error that a node returns, of a mistake
// in the request, and of the errors of package graph. They do not see why a node panicked, nor the error of a store,
// which may name hosts, files and users: the server logs these.
type failure struct {
	Name    string `json:"error"`
	Message string `json:"message"`
}

const (
	failedText   = "the server could not execute the run or store its events; its log has the reason"
	panickedText = "a node panicked; the log of the server has the reason"
	// unreadableText is an error of a thread, not of a run.
	unreadableText = "the state of the thread cannot be read; the log of the server has the reason"
)

// shownErrors are the errors of packages graph and checkpoint whose texts clients see.
var shownErrors = []error{
	graph.ErrNoInput, graph.ErrMaxSteps, graph.ErrSuperseded, graph.ErrNoQuestion, graph.ErrDuplicateKey, graph.ErrAmbiguous,
	graph.ErrUnknownNode, graph.ErrRoute, graph.ErrTimeout, graph.ErrSignal, graph.ErrPersistentBusy, checkpoint.ErrConflict,
}

// newFailure returns the error of a run as clients see it. It reports false if the text is hidden.
func newFailure(err error) (f *failure, shown bool) {
	if e, ok := errors.AsType[*requestError](err); ok {
		return &failure{Name: e.name, Message: e.text}, true
	}
	if e, ok := errors.AsType[*graph.NodeError](err); ok {
		return nodeFailure(e.Err)
	}
	if !slices.ContainsFunc(shownErrors, func(known error) bool { return errors.Is(err, known) }) {
		return &failure{Name: "Error", Message: failedText}, false
	}
	if e, ok := errors.AsType[*graph.RunError](err); ok {
		err = e.Err
	}
	return &failure{Name: errorName(err), Message: err.Error()}, true
}

// nodeFailure returns the error of a node as clients see it.
func nodeFailure(err error) (f *failure, shown bool) {
	if _, ok := errors.AsType[*graph.PanicError](err); ok {
		return &failure{Name: "Error", Message: panickedText}, false
	}
	if _, ok := errors.AsType[*graph.RunError](err); ok { // of a subgraph
		return newFailure(err)
	}
	return &failure{Name: errorName(err), Message: err.Error()}, true
}

// storedFailure returns the text of an error in a checkpoint as clients see it.
func storedFailure(text string) string {
	if strings.Contains(text, "panic: ") {
		return panickedText
	}
	return text
}

// errorName returns the name that clients know for an error.
func errorName(err error) string {
	if named, ok := errors.AsType[interface {
		error
		Name() string
	}](err); ok {
		return named.Name()
	}
	switch {
	case errors.Is(err, graph.ErrMaxSteps):
		return "GraphRecursionError"
	case errors.Is(err, graph.ErrNoInput):
		return "EmptyInputError"
	case errors.Is(err, graph.ErrTimeout):
		return "TimeoutError"
	}
	return "Error"
}
