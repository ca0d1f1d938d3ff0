package engine

import (
	"context"
	"encoding/json"
	"slices"
	"sync"

	"github.com/weft-go/weft/checkpoint"
)

// Options are the parameters of a run, a read or an update of a graph.
// Package graph sets the fields and applies the defaults.
type Options struct {
	// Store keeps the thread. If it is nil, the run has no thread and stores nothing.
	Store checkpoint.Store
	// Thread is the id of the thread.
	Thread string
	// At is the id of the checkpoint to start from; empty for the newest.
	At string

	// Graph is the plan of the thread's graph.
	Graph *Plan
	// Conflict selects the reaction if another run holds the thread.
	Conflict ConflictPolicy

	PauseBefore, PauseAfter []string
	MaxSteps, MaxParallel   int
	Durability              Durability
	Metadata                map[string]string
	Version                 string
	// Hooks are called during a run and the calls of its subgraphs. It may be nil.
	Hooks *Hooks
	// Logger receives warnings about conditions that are not errors. It may be nil.
	Logger Logger
	// Executor runs tasks elsewhere. It may be nil.
	Executor Executor
	// TaskError converts the failure of a task to the error that users see.
	TaskError func(TaskFailure) error
}

// A Logger logs warnings. A *slog.Logger is a Logger.
type Logger interface {
	// Warn logs a message, with pairs of a name and a value.
	Warn(msg string, args ...any)
}

// A ConflictPolicy selects the reaction of a run if another run holds its thread.
type ConflictPolicy uint8

// The conflict policies.
const (
	Reject ConflictPolicy = iota
	Wait
	Interrupt
	Rollback
)

// A TaskFailure describes the failure of one task.
type TaskFailure struct {
	Path, Node, Task string
	Err              error
}

func (o *Options) pausesBefore() bool { return len(o.PauseBefore) > 0 }
func (o *Options) pausesAfter() bool  { return len(o.PauseAfter) > 0 }

// names reports whether a list of static pauses includes the node.
func (o *Options) names(list []string, node string) bool {
	return slices.Contains(list, node) || slices.Contains(list, AllNodes)
}

// A session holds the data that a run shares with the runs of its subgraphs.
type session struct {
	thread string
	id     string // the id of the run
	*Options

	events   *Stream         // nil if the events have no reader
	ctx      runContext      // the context of the nodes
	storeCtx context.Context // the context for calls of the store
	log      *runLog         // nil without a thread
	origin   *string         // the origin of the thread's branch; see [Task.IdempotencyKey]

	pack func([]checkpoint.Write) []checkpoint.Write // changes the stored form of a result; RunTasks sets it

	answersOnly bool                       // the input consists of answers alone
	answers     map[string]json.RawMessage // by the id of the question; includes stored answers
	given       map[string]bool            // the questions whose answers no node has read before this run

	mu         sync.Mutex
	refused    []string        // the questions whose answers the nodes refused
	persistent map[string]bool // the names of the persistent subgraphs that are running
	// loggedUnsent holds the pairs of a node and a channel that were logged, because a
	// sent task of the node read the channel, and no write to the channel was sent to it.
	loggedUnsent map[[2]string]bool
}

// taskError converts the failure of a task to the error that users see.
func (s *session) taskError(f TaskFailure) error { return s.TaskError(f) }
