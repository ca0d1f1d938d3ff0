package graph

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/internal/engine"
)

const defaultMaxSteps = 100

// Options configures a compiled graph. Its zero value works: nothing is kept
// beyond a run.
type Options struct {
	// Checkpoints keeps the graph's threads. Nil means that runs have no thread and
	// cannot pause. A subgraph uses the store of the graph around it.
	Checkpoints checkpoint.Store
	// Durability says when a superstep is stored.
	Durability Durability
	// PauseBefore and PauseAfter name nodes: a run stops before, or after, a
	// superstep that has one of them. The next run resumes.
	PauseBefore, PauseAfter []string
	// MaxSteps is how many supersteps a run may take. Zero means 100.
	MaxSteps int
	// MaxParallel is how many tasks of a superstep may run at once. Zero means all.
	MaxParallel int
	// Middleware wraps every node of the graph and of its subgraphs, those of
	// prebuilt agents included, under Invoke and Stream alike. The first one is
	// outermost. It surrounds decorators such as node.Retry, so it runs once for each
	// run of a task and not once for each attempt. A node that runs a subgraph is
	// wrapped too: what its context carries reaches the nodes of the subgraph. The
	// middleware of a subgraph's own Options applies only when that graph is run by
	// itself.
	Middleware []Middleware
	// Migrations says what was renamed since threads were stored.
	Migrations Migrations
	// Version is stored with every checkpoint, for those who look at old ones.
	Version string
	// Logger gets what no error can tell, such as stored channels that the graph no
	// longer has, a join that a finished run has left waiting, or a sent task that reads
	// a channel which was not sent to it. Nil means silence.
	Logger *slog.Logger
}

// Migrations lets threads go on that an older version of a graph stored, with names
// that the graph no longer has:
//
//	graph.Options{Migrations: graph.Migrations{Nodes: map[string]string{"ask": "approve"}}}
//
// What a thread has to run, the results and open questions of tasks, what was sent,
// joins and subgraphs are found under the former names. Questions keep their ids, and
// [IdempotencyKey] the key of the former name; of several, the first in alphabetical
// order. A migration stays as long as there are threads with the former name:
// [Graph.Waiting] lists them. A subgraph is compiled with migrations of its own. A
// channel whose type changed has an Upgrade: see [state.Channel.Upgrade].
type Migrations struct {
	// Nodes and Channels give the present name of each former name. If a name changed
	// twice, both former names have the last one.
	Nodes, Channels map[string]string
}

// Durability says when the supersteps of a run are stored.
type Durability uint8

const (
	// Sync stores a superstep before the next one starts. A crash loses nothing that
	// was seen to happen.
	Sync = Durability(engine.Sync)
	// Async stores a superstep while the next one runs, in order and at most one
	// behind. A crash may lose the last superstep.
	Async = Durability(engine.Async)
	// Exit stores once, when the run ends, pauses or fails. A crash loses the run.
	Exit = Durability(engine.Exit)
)

// String returns "sync", "async" or "exit".
func (d Durability) String() string { return engine.Durability(d).String() }

// A ConflictPolicy says what a run, an update or a deletion does when another run
// holds its thread. Threads of a store are known by the store and their id, so the
// other run may belong to another Graph value of this process. A node that runs its
// own thread gets [checkpoint.ErrConflict] whatever the policy: it would wait for itself.
type ConflictPolicy uint8

const (
	// ConflictReject fails at once with [checkpoint.ErrConflict].
	ConflictReject = ConflictPolicy(engine.Reject)
	// ConflictWait waits for the other run to end, as long as the context allows. Several
	// runs that wait are in no particular order.
	ConflictWait = ConflictPolicy(engine.Wait)
	// ConflictInterrupt stops the other run, waits for it to end, and then runs. The
	// other run's nodes see their context end. It fails with [ErrSuperseded], even if
	// it reached its end, and what it stored is kept. An update or a deletion, and a
	// run of another process, cannot be stopped: they are waited for.
	ConflictInterrupt = ConflictPolicy(engine.Interrupt)
	// ConflictRollback is ConflictInterrupt, and the run that is stopped removes what
	// it stored: the thread and its subgraphs are as before that run, open questions
	// and results of unfinished supersteps included. The store must be a
	// [checkpoint.RunDeleter].
	ConflictRollback = ConflictPolicy(engine.Rollback)
)

// RunOptions is what a run does otherwise than the graph was compiled for. Zero
// values keep the graph's own.
type RunOptions struct {
	// PauseBefore and PauseAfter name nodes, beside those of the graph.
	PauseBefore, PauseAfter []string
	// MaxSteps and MaxParallel are as in [Options].
	MaxSteps, MaxParallel int
	// Durability replaces the graph's own unless it is nil.
	Durability *Durability
	// Metadata is stored with every checkpoint that the run writes. [HistoryQuery]
	// can filter by it.
	Metadata map[string]string
	// Conflict says what a run, [Thread.Update] or [Thread.Delete] does when another run
	// holds the thread.
	Conflict ConflictPolicy
}

// check finds mistakes in the options of a run.
func (o *RunOptions) check(g *Graph) error {
	for _, name := range slices.Concat(o.PauseBefore, o.PauseAfter) {
		if name != AllNodes && g.plan.Node(name) == nil {
			return fmt.Errorf("a pause at %q: %w", name, ErrUnknownNode)
		}
	}
	if o.MaxSteps < 0 || o.MaxParallel < 0 {
		return fmt.Errorf("%w: MaxSteps is %d and MaxParallel is %d; they cannot be negative", checkpoint.ErrInvalid, o.MaxSteps, o.MaxParallel)
	}
	if o.Durability != nil && *o.Durability > Exit {
		return fmt.Errorf("%w: %s", checkpoint.ErrInvalid, *o.Durability)
	}
	if o.Conflict > ConflictRollback {
		return fmt.Errorf("%w: conflict policy %d", checkpoint.ErrInvalid, o.Conflict)
	}
	return nil
}

// engineOptions returns what the engine needs for a run without a thread.
func (o Options) engineOptions(run RunOptions) *engine.Options {
	out := &engine.Options{
		PauseBefore: slices.Concat(o.PauseBefore, run.PauseBefore),
		PauseAfter:  slices.Concat(o.PauseAfter, run.PauseAfter),
		MaxSteps:    o.MaxSteps, MaxParallel: o.MaxParallel, Durability: engine.Durability(o.Durability),
		Metadata: maps.Clone(run.Metadata), Conflict: engine.ConflictPolicy(run.Conflict),
		Version: o.Version, Logger: o.Logger, TaskError: newNodeError,
	}
	if run.MaxSteps > 0 {
		out.MaxSteps = run.MaxSteps
	}
	if out.MaxSteps == 0 {
		out.MaxSteps = defaultMaxSteps
	}
	if run.MaxParallel > 0 {
		out.MaxParallel = run.MaxParallel
	}
	if run.Durability != nil {
		out.Durability = engine.Durability(*run.Durability)
	}
	return out
}

// errNilGraph is the error of every use of a graph that Compile did not return.
var errNilGraph = errors.New("the graph is nil: check the error of Compile")
