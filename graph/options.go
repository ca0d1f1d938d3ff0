package graph

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/internal/engine"
)

const defaultMaxSteps = 100

// Options configures a compiled graph. The zero value is valid: nothing is stored.
type Options struct {
	// Checkpoints stores the graph's threads. Nil means that runs have no thread and
	// cannot pause. A subgraph uses the store of its parent.
	Checkpoints checkpoint.Store
	// Durability says when a superstep is stored.
	Durability Durability
	// PauseBefore and PauseAfter name nodes. A run pauses before, or after, each
	// superstep that contains one of them. The next run resumes. [AllNodes] names all nodes.
	PauseBefore, PauseAfter []string
	// MaxSteps is the maximum number of supersteps of a run. Zero means 100.
	MaxSteps int
	// MaxParallel is the maximum number of tasks that run at once. Zero means no limit.
	MaxParallel int
	// Middleware wraps every node of the graph and of its subgraphs, including nodes
	// of prebuilt agents, under Invoke and Stream. The first one is outermost. It
	// surrounds decorators such as node.Retry, so it runs once for each run of a task
	// and not once for each attempt. A node that runs a subgraph is wrapped too, and
	// the nodes of the subgraph inherit the values of its context. The middleware in
	// the Options of a graph has no effect when the graph runs as a subgraph.
	Middleware []Middleware
	// Hooks are called when a run, a superstep and a task begin and end, also in subgraphs. The nodes of a
	// subgraph inherit the values of the context of the task that runs it. The hooks in the
	// Options of a graph have no effect when the graph runs as a subgraph. Nil means none.
	Hooks *Hooks
	// Executor runs tasks of this graph's threads elsewhere, such as in other processes. It needs
	// the durability [Sync]. It has no effect on runs without a thread, on the tasks inside of a
	// subgraph, and on a graph that is a subgraph. Nil means that every task runs in the process of its run.
	Executor *Executor
	// Migrations lists nodes and channels that were renamed or removed since threads were stored.
	Migrations Migrations
	// Version is stored with every checkpoint, and returned as [Info.Version].
	Version string
	// Logger receives warnings, such as a stored channel that the graph no longer has,
	// a join that still waits when the run has finished, or a sent task that reads a
	// channel which was not sent to it. A [log/slog.Logger] is such a logger. Package log/slog is
	// part of a program only if the program itself uses it. Nil means that nothing is logged.
	Logger interface{ Warn(msg string, args ...any) }
}

// Migrations maps former names of nodes and channels to their present names. A thread
// that an older version of the graph stored can then resume:
//
//	graph.Options{Migrations: graph.Migrations{Nodes: map[string]string{"ask": "approve"}}}
//
// Due tasks, stored results, open questions, sends, joins and subgraphs are found
// under the former names. Questions keep their ids. [IdempotencyKey] returns the key
// of the former name; of several former names, the first in alphabetical order. Keep
// a migration while threads with the former name exist: [Graph.Waiting] lists them.
// A subgraph is compiled with its own migrations. For a channel whose type changed,
// see [state.Channel.Upgrade].
type Migrations struct {
	// Nodes and Channels map each former name to the present name. If a name changed
	// twice, map both former names to the present one. A channel that was removed is mapped to "":
	// its stored values are ignored without a warning.
	Nodes, Channels map[string]string
}

// Durability says when the supersteps of a run are stored.
type Durability uint8

const (
	// Sync stores a superstep before the next one starts. A crash loses no completed
	// superstep.
	Sync = Durability(engine.Sync)
	// Async stores a superstep while the next one runs. It stores supersteps in order,
	// one at a time. A crash may lose the last superstep.
	Async = Durability(engine.Async)
	// Exit stores once, when the run ends, pauses or fails. A crash loses the run.
	Exit = Durability(engine.Exit)
)

// String returns "sync", "async" or "exit".
func (d Durability) String() string { return engine.Durability(d).String() }

// A ConflictPolicy says what a run, an update or a deletion does when another run
// holds its thread. A thread is identified by its store and its id, so the other run
// may belong to another Graph value of this process. A node that runs its
// own thread gets [checkpoint.ErrConflict] under every policy, because it would wait for itself.
type ConflictPolicy uint8

const (
	// ConflictReject fails at once with [checkpoint.ErrConflict].
	ConflictReject = ConflictPolicy(engine.Reject)
	// ConflictWait waits until the other run or the context ends. The runs of one process that
	// wait get the thread in the order in which they began to wait, if their graphs use one value of
	// the store. Between processes, and between values of the store, the order is undefined.
	ConflictWait = ConflictPolicy(engine.Wait)
	// ConflictInterrupt cancels the other run, waits for it to end, and then runs, before the runs
	// that wait with ConflictWait. The
	// other run fails with [ErrSuperseded], even if it reached its end, and its
	// checkpoints are kept. An update, a deletion or a run of another process cannot be
	// cancelled: ConflictInterrupt waits for it.
	ConflictInterrupt = ConflictPolicy(engine.Interrupt)
	// ConflictRollback is like ConflictInterrupt, and also undoes the other run: the
	// thread and its subgraphs return to their state before that run, including open
	// questions and results of unfinished supersteps. The store must be a
	// [checkpoint.RunDeleter].
	ConflictRollback = ConflictPolicy(engine.Rollback)
)

// RunOptions overrides options of the graph for a run. A zero value keeps the option
// of the graph.
type RunOptions struct {
	// PauseBefore and PauseAfter name nodes in addition to the nodes in [Options].
	PauseBefore, PauseAfter []string
	// MaxSteps and MaxParallel are as in [Options].
	MaxSteps, MaxParallel int
	// Durability, if not nil, replaces the durability of the graph.
	Durability *Durability
	// Metadata is stored with every checkpoint that the run writes. [HistoryQuery]
	// can filter by it.
	Metadata map[string]string
	// Conflict says what a run, [Thread.Update] or [Thread.Delete] does when another run
	// holds the thread.
	Conflict ConflictPolicy
	// Hooks are called inside the hooks of [Options]. Nil means none.
	Hooks *Hooks
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
	if g.opts.Executor != nil && g.options.Durability != engine.Sync {
		return fmt.Errorf("%w: the graph has an Executor, which needs the durability sync, and this is %s", checkpoint.ErrInvalid, g.options.Durability)
	}
	if o.Conflict > ConflictRollback {
		return fmt.Errorf("%w: conflict policy %d", checkpoint.ErrInvalid, o.Conflict)
	}
	return nil
}

// engineOptions returns the engine's options for a run without a thread.
func (o Options) engineOptions(run RunOptions) *engine.Options {
	out := &engine.Options{
		PauseBefore: slices.Concat(o.PauseBefore, run.PauseBefore),
		PauseAfter:  slices.Concat(o.PauseAfter, run.PauseAfter),
		MaxSteps:    o.MaxSteps, MaxParallel: o.MaxParallel, Durability: engine.Durability(o.Durability),
		Metadata: maps.Clone(run.Metadata), Conflict: engine.ConflictPolicy(run.Conflict),
		Version: o.Version, Logger: o.Logger, TaskError: newNodeError,
	}
	if o.Executor != nil {
		out.Executor = o.Executor.engineExecutor()
	}
	hooks := run.Hooks
	if o.Hooks != nil {
		hooks = o.Hooks.Around(hooks)
	}
	if hooks != nil {
		out.Hooks = hooks.engineHooks()
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

// errNilGraph is returned by every method of a nil graph.
var errNilGraph = errors.New("the graph is nil: check the error of Compile")
