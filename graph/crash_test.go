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

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

// setting returns a number of the environment.
func setting(t testing.TB, name string, otherwise uint64) uint64 {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

// seed returns WEFT_SEED, or a random one, and prints it.
func seed(t testing.TB) uint64 {
	t.Helper()
	n := setting(t, "WEFT_SEED", rand.Uint64())
	t.Logf("WEFT_SEED=%d", n)
	return n
}

const crashRounds = 10

// crasher is a graph of two supersteps a round: plan, then a fan of sent and
// plain tasks and a subgraph. Did is told of each task before it does anything.
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
		did("kept", at.Checkpoint, "effect")
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

// toldStore tells what is stored, once it is.
type toldStore struct {
	checkpoint.Store
	did func(kind, checkpoint, task string)
}

func (s toldStore) Put(ctx context.Context, c checkpoint.Checkpoint, head string) error {
	err := s.Store.Put(ctx, c, head)
	if err == nil {
		s.did("put", c.ID, "")
	}
	return err
}

func (s toldStore) PutWrites(ctx context.Context, k checkpoint.Key, w []checkpoint.Write) error {
	err := s.Store.PutWrites(ctx, k, w)
	if err != nil {
		return err
	}
	for _, w := range w {
		if w.Channel == "$done" { // the end of a task's result
			s.did("kept", k.ID, w.Task)
		}
	}
	return nil
}

func (s toldStore) Lease(ctx context.Context, thread string) (checkpoint.Lease, error) {
	l, err := s.Store.(checkpoint.Leaser).Lease(ctx, thread)
	return toldLease{toldStore{l, s.did}, l}, err
}

type toldLease struct {
	toldStore
	lease checkpoint.Lease
}

func (l toldLease) Release(ctx context.Context) error { return l.lease.Release(ctx) }

func init() {
	// crash THREAD MODE HOW runs or resumes a thread and tells all it does.
	children["crash"] = func(c *child) error {
		did := func(kind, checkpoint, task string) { c.say(kind, checkpoint, task) }
		g, err := crasher(toldStore{c.store, did}, crashRounds, did)
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
				if end, ok := ev.(graph.RunEnded); ok && end.Path == "" {
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

// TestCrash kills a process at random points of a run, resumes the run in a new
// one, and so on until it ends. WEFT_CRASHES says how many kills, WEFT_SEED
// which ones.
func TestCrash(t *testing.T) {
	t.Parallel()
	kills := setting(t, "WEFT_CRASHES", 25)
	s := seed(t)
	file := filepath.Join(t.TempDir(), "weft.db")
	c := &crashes{t: t, file: file, store: openFile(t, file), left: atomic.Int64{}}
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
	t.Logf("%d kills in %d runs, %v a kill; %d of them in mid-superstep, %d with results kept; all ended right",
		c.killed.Load(), c.runs.Load(), (time.Since(begin) / time.Duration(max(c.killed.Load(), 1))).Round(time.Millisecond), c.mid.Load(), c.kept.Load())
}

type crashes struct {
	t     *testing.T
	file  string
	store checkpoint.Store
	left  atomic.Int64
	lines int // a whole run has so many
	want  []string

	killed, runs, mid, kept atomic.Int64
}

// measure does a run without a crash.
func (c *crashes) measure() {
	r := &crashRun{crashes: c, id: "sound", told: map[string]int{}}
	r.process(-1, 0, "sync", "invoke")
	c.lines, c.want = r.lines, r.end
	r.check()
}

// crashRun is one run, over all its processes.
type crashRun struct {
	*crashes
	id      string
	lines   int
	crashed int
	put     []string
	kept    []string       // results that were stored
	told    map[string]int // how often each task ran
	end     []string
}

func (c *crashes) run(id string, rng *rand.Rand) {
	r := &crashRun{crashes: c, id: id, told: map[string]int{}}
	mode := []string{"sync", "sync", "async"}[rng.IntN(3)]
	how := []string{"invoke", "stream"}[rng.IntN(2)]
	for r.end == nil && !c.t.Failed() {
		after := -1
		if c.take() {
			after = rng.IntN(c.lines / 3)
		}
		r.process(after, time.Duration(rng.IntN(1000))*time.Microsecond, mode, how)
	}
	c.runs.Add(1)
	if !c.t.Failed() {
		r.check()
	}
}

// take takes one of the kills that are left.
func (c *crashes) take() bool {
	for {
		n := c.left.Load()
		if n <= 0 || c.left.CompareAndSwap(n, n-1) {
			return n > 0
		}
	}
}

// process runs a child, and kills it a moment after it has told so many lines.
func (r *crashRun) process(after int, moment time.Duration, mode, how string) {
	p := spawn(r.t, "crash", r.file, r.id, mode, how)
	kill := func() {
		<-time.After(moment) // so that the end comes anywhere, and not only at a line
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
		r.heed(p.out.Text(), here)
	}
	r.lines += n
	err := p.cmd.Wait()
	switch {
	case r.end != nil && after >= 0:
		r.left.Add(1) // it ended before its time
	case r.end == nil && (after < 0 || p.cmd.ProcessState.ExitCode() != -1):
		r.t.Errorf("run %s: a process failed: %v\n%s", r.id, err, p.err.String())
	case r.end == nil:
		r.crashed++
		r.killed.Add(1)
	}
	r.tally(here)
}

// heed takes note of what a process tells.
func (r *crashRun) heed(line string, here map[string]bool) {
	kind, rest, _ := strings.Cut(line, " ")
	switch kind {
	case "run":
		if here[rest] {
			r.t.Errorf("run %s: %s ran twice in one process", r.id, rest)
		}
		if slices.Contains(r.kept, rest) {
			r.t.Errorf("run %s: the result of %s was stored, and it ran again", r.id, rest)
		}
		here[rest] = true
		if r.told[rest]++; r.told[rest] > r.crashed+1 {
			r.t.Errorf("run %s: %s ran %d times with %d crashes", r.id, rest, r.told[rest], r.crashed)
		}
	case "kept":
		r.kept = append(r.kept, rest)
	case "put":
		r.put = append(r.put, strings.TrimSpace(rest))
	case "end":
		if err := json.Unmarshal([]byte(rest), &r.end); err != nil {
			r.t.Error(err)
		}
	}
}

// tally counts where the process ended.
func (r *crashRun) tally(here map[string]bool) {
	if r.end != nil || len(r.put) == 0 {
		return
	}
	last := r.put[len(r.put)-1]
	mid, kept := false, false
	for task := range here {
		mid = mid || strings.HasPrefix(task, last)
		kept = kept || strings.HasPrefix(task, last) && slices.Contains(r.kept, task)
	}
	if mid {
		r.mid.Add(1)
	}
	if kept {
		r.crashes.kept.Add(1)
	}
}

func (r *crashRun) history() []checkpoint.Checkpoint {
	var out []checkpoint.Checkpoint
	for c, err := range r.store.List(r.t.Context(), checkpoint.Query{Thread: r.id, AllNamespaces: true}) {
		if err != nil {
			r.t.Error(err)
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

// check compares a run that ended with one that never crashed.
func (r *crashRun) check() {
	if !slices.Equal(r.end, r.want) {
		r.t.Errorf("run %s: got %q, want %q", r.id, r.end, r.want)
	}
	parent, list := "", r.history()
	for i, c := range list {
		if c.Parent != parent || c.Step != i {
			r.t.Errorf("run %s: checkpoint %d has step %d and parent %s, want parent %s", r.id, i, c.Step, c.Parent, parent)
		}
		parent = c.ID
	}
	if len(r.put) > 0 {
		r.t.Errorf("run %s: acknowledged checkpoints are gone: %q", r.id, r.put)
	}
	if n := len(list); n != 2*crashRounds+1 {
		r.t.Errorf("run %s: got %d checkpoints, want %d", r.id, n, 2*crashRounds+1)
	}
	if err := r.store.DeleteThread(r.t.Context(), r.id); err != nil { // keeps the file small
		r.t.Error(err)
	}
}
