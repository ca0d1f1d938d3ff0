package graph_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

// setting returns the number in an environment variable, or the argument otherwise if the
// variable is unset.
func setting(t testing.TB, name string, otherwise uint64) uint64 {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(text, 10, 64)
	require.NoError(t, err, name)
	return n
}

// seed returns WEFT_SEED, or a random seed if it is unset, and logs it.
func seed(t testing.TB) uint64 {
	t.Helper()
	n := setting(t, "WEFT_SEED", rand.Uint64())
	t.Logf("WEFT_SEED=%d", n)
	return n
}

const crashRounds = 10

// crasher builds a graph that runs two supersteps per round: first the node plan, and
// then sent tasks, a node and a subgraph in parallel. The function did is called at the
// start of each task, and before and after the effect of the node "left".
func crasher(s checkpoint.Store, rounds int, did func(kind, checkpoint, task string)) (*graph.Graph, error) {
	node := func(fn func(ctx context.Context, v state.View) state.Update) graph.NodeFunc {
		return func(ctx context.Context, v state.View) (state.Update, error) {
			at, _ := graph.FromContext(ctx)
			did("run", at.Checkpoint, at.Task)
			return fn(ctx, v), nil
		}
	}
	leave := func(name string) graph.NodeFunc {
		return node(func(context.Context, state.View) state.Update { return state.Update{trail.Put(name)} })
	}
	sub := graph.New("sub", trail, turns)
	for _, n := range []string{"s1", "s2", "s3"} {
		sub.Node(n, leave(n))
	}
	sub.Edge(graph.Start, "s1")
	sub.Edge(graph.Start, "s2")
	sub.Join("s3", "s1", "s2")
	inner, err := sub.Compile(graph.Options{})
	if err != nil {
		return nil, err
	}
	b := graph.New("crash", trail, total, note, item)
	b.Node("plan", node(func(_ context.Context, v state.View) state.Update {
		u := state.Update{trail.Put("plan"), total.Put(1)}
		for i := range 4 {
			u = append(u, graph.Send("work", item.Put(10*total.Get(v)+i)))
		}
		return u
	}))
	b.Edge(graph.Start, "plan")
	b.Destinations("plan", "work", "left", "sub")
	b.AllowEdgesAndBranches("plan")
	b.Edge("plan", "left")
	b.Edge("plan", "sub")
	b.Node("work", node(func(_ context.Context, v state.View) state.Update {
		return state.Update{trail.Put(fmt.Sprint("w", item.Get(v)))}
	}))
	b.Node("left", func(ctx context.Context, _ state.View) (state.Update, error) {
		at, _ := graph.FromContext(ctx)
		did("run", at.Checkpoint, at.Task)
		name, err := graph.Once(ctx, "effect", func(ctx context.Context) (string, error) {
			did("run", at.Checkpoint, "effect")
			return "left", nil
		})
		did("saved", at.Checkpoint, "effect")
		return state.Update{trail.Put(name)}, err
	})
	b.Branch("left", func(v state.View) (string, error) {
		if total.Get(v) < rounds {
			return "plan", nil
		}
		return graph.End, nil
	}, "plan", graph.End)
	b.Subgraph("sub", inner)
	return b.Compile(graph.Options{Checkpoints: s})
}

// reportingStore calls did after each successful write.
type reportingStore struct {
	checkpoint.Store
	did func(kind, checkpoint, task string)
}

func (s reportingStore) Put(ctx context.Context, c checkpoint.Checkpoint, head string) error {
	err := s.Store.Put(ctx, c, head)
	if err == nil {
		s.did("put", c.ID, "")
	}
	return err
}

func (s reportingStore) PutWrites(ctx context.Context, k checkpoint.Key, w []checkpoint.Write) error {
	err := s.Store.PutWrites(ctx, k, w)
	if err != nil {
		return err
	}
	for _, w := range w {
		if w.Kind&0x80 != 0 { // the last write of a task's result
			s.did("saved", k.ID, w.Task)
		}
	}
	return nil
}

func (s reportingStore) Lease(ctx context.Context, thread string) (checkpoint.Lease, error) {
	l, err := s.Store.(checkpoint.Leaser).Lease(ctx, thread)
	return reportingLease{reportingStore{l, s.did}, l}, err
}

type reportingLease struct {
	reportingStore
	lease checkpoint.Lease
}

func (l reportingLease) Release(ctx context.Context) error { return l.lease.Release(ctx) }

func init() {
	// crash THREAD MODE HOW starts or resumes a thread of crasher and prints a
	// line for each call of did, and the trail at the end.
	children["crash"] = func(c *child) error {
		did := func(kind, checkpoint, task string) { c.say(kind, checkpoint, task) }
		g, err := crasher(reportingStore{c.store, did}, crashRounds, did)
		if err != nil {
			return err
		}
		th := g.Thread(c.args[0])
		for _, m := range modes {
			if m.String() == c.args[1] {
				th = in(th, m)
			}
		}
		var input []state.Write
		if _, err := th.Snapshot(c.ctx); err != nil {
			input = append(input, note.Put("go"))
		}
		var snap *graph.Snapshot
		if c.args[2] == "invoke" {
			snap, err = th.Invoke(c.ctx, input...)
		} else {
			for ev, e := range th.Stream(c.ctx, input...) {
				if end, ok := ev.(graph.RunEnded); ok && end.At().Path == "" {
					snap = end.Snapshot
				}
				err = e
			}
		}
		if err != nil {
			return err
		}
		data, err := json.Marshal(trail.Get(snap))
		c.say("end", string(data))
		return err
	}
}

// TestCrashedRunResumesInANewProcess kills a process at random points of a run
// and resumes the run in a new process, until it ends. It proves that the run
// ends like a run without a crash, and that no task with a stored result runs
// again. WEFT_CRASHES is the number of kills. WEFT_SEED selects their times.
func TestCrashedRunResumesInANewProcess(t *testing.T) {
	t.Parallel()
	kills := setting(t, "WEFT_CRASHES", 25)
	s := seed(t)
	file := filepath.Join(t.TempDir(), "weft.db")
	c := &crashes{t: t, file: file, store: openFile(t, file)}
	c.left.Store(int64(kills))
	c.measure()
	begin := time.Now()
	var all sync.WaitGroup
	for w := range 2 {
		all.Go(func() {
			rng := rand.New(rand.NewPCG(s, uint64(w)))
			for i := 0; c.left.Load() > 0 && !t.Failed(); i++ {
				c.run(fmt.Sprint("t", w, ".", i), rng)
			}
		})
	}
	all.Wait()
	if t.Failed() {
		return
	}
	t.Logf("%d kills in %d runs, %v per kill; %d within a superstep, %d of these with saved results; all runs ended correctly",
		c.killed.Load(), c.runs.Load(), (time.Since(begin) / time.Duration(max(c.killed.Load(), 1))).Round(time.Millisecond), c.within.Load(), c.withSaved.Load())
}

// crashes is the state that all runs of the test share.
type crashes struct {
	t     *testing.T
	file  string
	store checkpoint.Store
	left  atomic.Int64 // the number of kills that remain
	lines int          // the number of lines that a run without a crash prints
	want  []string     // the trail of a run without a crash

	killed, runs, within, withSaved atomic.Int64
}

// measure executes a run without a crash and stores its lines and trail.
func (c *crashes) measure() {
	r := &crashRun{crashes: c, id: "sound", executions: map[string]int{}}
	r.process(-1, 0, "sync", "invoke")
	c.lines, c.want = r.lines, r.end
	require.NotEmpty(c.t, c.want, "the run without a crash")
	r.check()
}

// crashRun is one run, which several processes execute one after the other.
type crashRun struct {
	*crashes
	id         string
	lines      int
	crashed    int
	put        []string       // the ids of stored checkpoints
	saved      []string       // the tasks whose results were stored
	executions map[string]int // the number of executions of each task
	end        []string       // the final trail
}

func (c *crashes) run(id string, rng *rand.Rand) {
	r := &crashRun{crashes: c, id: id, executions: map[string]int{}}
	mode := []string{"sync", "sync", "async"}[rng.IntN(3)]
	how := []string{"invoke", "stream"}[rng.IntN(2)]
	for r.end == nil && !c.t.Failed() {
		after := -1
		if c.takeKill() {
			after = rng.IntN(c.lines / 3)
		}
		r.process(after, time.Duration(rng.IntN(1000))*time.Microsecond, mode, how)
	}
	c.runs.Add(1)
	if !c.t.Failed() {
		r.check()
	}
}

// takeKill decrements the number of remaining kills. It reports false if it is zero.
func (c *crashes) takeKill() bool {
	for {
		n := c.left.Load()
		if n <= 0 || c.left.CompareAndSwap(n, n-1) {
			return n > 0
		}
	}
}

// process runs a child process and kills it the given time after it has printed
// the given number of lines. A negative number means that it is not killed.
func (r *crashRun) process(after int, delay time.Duration, mode, how string) {
	p := spawn(r.t, "crash", r.file, r.id, mode, how)
	kill := func() {
		<-time.After(delay) // let the kill happen anywhere, not only at the end of a line
		_ = p.cmd.Process.Kill()
	}
	here := map[string]bool{}
	n := 0
	if after == 0 {
		kill()
	}
	for p.out.Scan() {
		if n++; n == after {
			kill()
		}
		r.record(p.out.Text(), here)
	}
	r.lines += n
	err := p.cmd.Wait()
	switch killed := p.cmd.ProcessState.ExitCode() == -1; {
	case r.end != nil && after >= 0:
		r.left.Add(1) // the run ended before the kill
	case r.end != nil:
	case after < 0 || !killed:
		assert.Fail(r.t, "a process failed", "run %s: %v\n%s", r.id, err, p.err.String())
	default:
		r.crashed++
		r.killed.Add(1)
	}
	r.countKill(here)
}

// record checks and stores one line of a process. The map here holds the tasks
// that the process has executed.
func (r *crashRun) record(line string, here map[string]bool) {
	kind, rest, _ := strings.Cut(line, " ")
	switch kind {
	case "run":
		assert.False(r.t, here[rest], "run %s: %s ran twice in one process", r.id, rest)
		assert.NotContains(r.t, r.saved, rest, "run %s: a task ran again after its result was stored", r.id)
		here[rest] = true
		r.executions[rest]++
		assert.LessOrEqual(r.t, r.executions[rest], r.crashed+1, "run %s: executions of %s", r.id, rest)
	case "saved":
		r.saved = append(r.saved, rest)
	case "put":
		r.put = append(r.put, strings.TrimSpace(rest))
	case "end":
		assert.NoError(r.t, json.Unmarshal([]byte(rest), &r.end))
	}
}

// countKill counts the kills within a superstep, and the kills after which some results
// of the superstep were stored.
func (r *crashRun) countKill(here map[string]bool) {
	if r.end != nil || len(r.put) == 0 {
		return
	}
	last := r.put[len(r.put)-1]
	within, saved := false, false
	for task := range here {
		within = within || strings.HasPrefix(task, last)
		saved = saved || strings.HasPrefix(task, last) && slices.Contains(r.saved, task)
	}
	if within {
		r.within.Add(1)
	}
	if saved {
		r.withSaved.Add(1)
	}
}

// history returns the checkpoints of the root graph, oldest first. It removes from put the
// ids of all checkpoints that it finds in the store.
func (r *crashRun) history() []checkpoint.Checkpoint {
	var out []checkpoint.Checkpoint
	for c, err := range r.store.List(r.t.Context(), checkpoint.Query{Thread: r.id, AllNamespaces: true}) {
		if !assert.NoError(r.t, err, "run %s", r.id) {
			return nil
		}
		if c.Namespace == "" {
			out = append(out, c)
		}
		if i := slices.Index(r.put, c.ID); i >= 0 {
			r.put = slices.Delete(r.put, i, i+1)
		}
	}
	slices.Reverse(out)
	return out
}

// check compares a completed run with a run without a crash.
func (r *crashRun) check() {
	assert.Equal(r.t, r.want, r.end, "run %s: trail", r.id)
	list := r.history()
	assert.Len(r.t, list, 2*crashRounds+1, "run %s: checkpoints", r.id)
	parent := ""
	for i, c := range list {
		assert.Equal(r.t, parent, c.Parent, "run %s: parent of checkpoint %d", r.id, i)
		assert.Equal(r.t, i, c.Step, "run %s: step of checkpoint %d", r.id, i)
		parent = c.ID
	}
	assert.Empty(r.t, r.put, "run %s: acknowledged checkpoints that are lost", r.id)
	assert.NoError(r.t, r.store.DeleteThread(r.t.Context(), r.id)) // keep the file small
}
