package executortest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/internal/suitetest"
	"github.com/weft-go/weft/state"
)

// The channels of the suite's graphs.
var (
	trail  = state.Append[string]("trail")
	item   = state.Last[int]("item")
	winner = state.Last[string]("winner")
)

var approve = graph.NewInterrupt[string, bool]("approve")

// The places where nodes run.
const (
	inRun    = "run"
	inWorker = "worker"
	inLocal  = "local" // a graph without an executor, for comparison
)

// stayHere is the node that the executor does not take.
const stayHere = "here"

// A fixture holds three builds of the graph of one case. The first, graph, runs threads and passes
// tasks on, and worker runs these tasks, with the same store. The third, local, has no executor and
// a store of its own.
type fixture struct {
	testing.TB
	ctx    context.Context
	store  checkpoint.Store
	funcs  graph.Executor
	graph  *graph.Graph
	worker *graph.Graph
	local  *graph.Graph

	// deliver replaces the call of RunTasks. The argument delivery counts calls from 1.
	deliver func(ctx context.Context, s graph.TaskSet, delivery int) error
	// after is called when Execute of the executor has returned nil.
	after func(ctx context.Context, sets []graph.TaskSet)

	mu         sync.Mutex
	ran        []string // place:what for each run of a node, in order
	deliveries int
	sets       []graph.TaskSet // all sets that the run passed on
}

func newFixture(tb testing.TB, h Harness) *fixture {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), caseLimit)
	tb.Cleanup(cancel)
	f := &fixture{TB: tb, ctx: ctx, store: suitetest.Opened(tb, "store", h.Open(tb))}
	if f.funcs = h.Start(tb, f.receive); f.funcs.Execute == nil {
		tb.Fatalf("the executor has no function Execute")
	}
	return f
}

// receive is the function that the workers of the executor call.
func (f *fixture) receive(ctx context.Context, s graph.TaskSet) error {
	f.mu.Lock()
	f.deliveries++
	n := f.deliveries
	f.mu.Unlock()
	if f.deliver != nil {
		return f.deliver(ctx, s, n)
	}
	return f.worker.RunTasks(ctx, s)
}

// execute passes tasks to the executor under test.
func (f *fixture) execute(ctx context.Context, sets []graph.TaskSet) error {
	f.mu.Lock()
	f.sets = append(f.sets, sets...)
	f.mu.Unlock()
	if err := suitetest.Recovered(func() error { return f.funcs.Execute(ctx, sets) }); err != nil {
		return err
	}
	if f.after != nil {
		f.after(ctx, sets)
	}
	return nil
}

// build compiles the graphs of the case. The function fill adds the nodes for one place.
func (f *fixture) build(fill func(b *graph.Builder, place string)) {
	f.Helper()
	f.graph = f.compile(inRun, fill, graph.Options{Checkpoints: f.store, Version: "1", Executor: &graph.Executor{
		Takes: func(node string, _ int) bool { return node != stayHere }, Execute: f.execute,
	}})
	f.worker = f.compile(inWorker, fill, graph.Options{Checkpoints: f.store, Version: "1"})
	f.local = f.compile(inLocal, fill, graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{}), Version: "1"})
}

func (f *fixture) compile(place string, fill func(b *graph.Builder, place string), o graph.Options) *graph.Graph {
	f.Helper()
	b := graph.New("executortest", trail, item, winner)
	fill(b, place)
	g, err := b.Compile(o)
	if err != nil {
		f.Fatalf("compile: %v", err)
	}
	return g
}

// thread returns the thread of the case, in the graph that passes tasks on.
func (f *fixture) thread() *graph.Thread { return f.graph.Thread("thread") }

// record adds a run of a node.
func (f *fixture) record(place, what string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ran = append(f.ran, place+":"+what)
}

// count returns how often a node ran at a place.
func (f *fixture) count(place, what string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := 0
	for _, r := range f.ran {
		if r == place+":"+what {
			n++
		}
	}
	return n
}

// wantCount fails the case unless the node ran exactly want times at the place.
func (f *fixture) wantCount(place, what string, want int) {
	f.Helper()
	if got := f.count(place, what); got != want {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.Errorf("%q ran %d times in the %s, want %d; all runs: %q", what, got, place, want, f.ran)
	}
}

// mark returns a node that records its run and appends its name to the trail.
func (f *fixture) mark(place, name string) graph.NodeFunc {
	return func(context.Context, state.View) (state.Update, error) {
		f.record(place, name)
		return state.Update{trail.Put(name)}, nil
	}
}

// split returns a node that sends n items to a node.
func split(to string, n int) graph.NodeFunc {
	return func(context.Context, state.View) (state.Update, error) {
		var update state.Update
		for i := range n {
			update = append(update, graph.Send(to, item.Put(i)))
		}
		return update, nil
	}
}

// work returns a node that records its run under its item and appends the item to the trail.
func (f *fixture) work(place string) graph.NodeFunc {
	return func(_ context.Context, v state.View) (state.Update, error) {
		name := fmt.Sprint("item ", item.Get(v))
		f.record(place, name)
		return state.Update{trail.Put(name)}, nil
	}
}

// finish runs the thread to its end.
func (f *fixture) finish(th *graph.Thread, writes ...state.Write) *graph.Snapshot {
	f.Helper()
	snap, err := th.Invoke(f.ctx, writes...)
	if err != nil {
		f.Fatalf("invoke: %v", err)
	}
	if !snap.Done() {
		f.Fatalf("the run stopped before %q with the pauses %v", snap.Next, snap.Pauses)
	}
	return snap
}

// finishAgain runs the thread to its end, and begins again after a failure of the executor.
func (f *fixture) finishAgain(writes ...state.Write) *graph.Snapshot {
	f.Helper()
	snap, err := f.thread().Invoke(f.ctx, writes...)
	for range 5 {
		if err == nil {
			break
		}
		snap, err = f.thread().Invoke(f.ctx)
	}
	if err != nil || !snap.Done() {
		f.Fatalf("the thread did not end: %v", err)
	}
	return snap
}

// wantTrail fails the case unless the trail of the state is the list.
func (f *fixture) wantTrail(v state.View, want ...string) {
	f.Helper()
	if got := trail.Get(v); !slices.Equal(got, want) {
		f.Errorf("the trail is %q, want %q", got, want)
	}
}

// wantErr fails the case unless the error wraps the target.
func (f *fixture) wantErr(what string, err, target error) {
	f.Helper()
	if !errors.Is(err, target) {
		f.Fatalf("%s: got the error %v, want %v", what, err, target)
	}
}
