package engine

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"sync"

	"github.com/weft-go/weft/checkpoint"
)

// Options configures a run, a read or an update of a graph. Package graph has filled
// in the defaults.
type Options struct {
	// Store keeps the thread. Nil means a run without one.
	Store checkpoint.Store
	// Thread is the id of the thread, At the checkpoint that the caller's handle
	// is at; empty for the newest.
	Thread, At string

	// Graph tells the graph from others that use the store.
	Graph any
	// Conflict is the policy for the case that another run holds the thread.
	Conflict ConflictPolicy

	PauseBefore, PauseAfter []string
	MaxSteps, MaxParallel   int
	Durability              Durability
	Metadata                map[string]string
	Version                 string
	// Logger gets warnings that are no errors. Nil means none.
	Logger *slog.Logger
	// TaskError makes the error of a task that users see.
	TaskError func(TaskFailure) error
}

// A ConflictPolicy is the behaviour of a run when another run holds its thread.
type ConflictPolicy uint8

// The conflict policies.
const (
	Reject ConflictPolicy = iota
	Wait
	Interrupt
	Rollback
)

// A TaskFailure is the failure of one task.
type TaskFailure struct {
	Path, Node, Task string
	Err              error
}

func (o *Options) pausesBefore() bool { return len(o.PauseBefore) > 0 }
func (o *Options) pausesAfter() bool  { return len(o.PauseAfter) > 0 }

// names reports whether a list of static pauses has a node.
func (o *Options) names(list []string, node string) bool {
	return slices.Contains(list, node) || slices.Contains(list, AllNodes)
}

// A session is the part of a run that the runs of its subgraphs share.
type session struct {
	thread string
	id     string // of the run
	*Options
	wrap func(*Node) Func // middleware of the graph that was started; nil for none

	events   *Stream         // nil if nobody reads them
	ctx      *runContext     // of the nodes
	storeCtx context.Context // with which progress is stored
	log      *runLog         // nil without a thread
	origin   *string         // of the thread's branch; see [Task.IdempotencyKey]

	answersOnly bool                       // the caller gave answers and nothing else
	answers     map[string]json.RawMessage // by question, of earlier runs too

	mu         sync.Mutex
	persistent map[string]bool // persistent subgraphs that are in use
	// missed are the nodes, and the channels that their sent tasks read and were not sent.
	missed map[[2]string]bool
}

// taskError makes the error of a task.
func (s *session) taskError(f TaskFailure) error { return s.TaskError(f) }
