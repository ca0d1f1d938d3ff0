package e2e_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/url"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/pgcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/internal/pgtest"
	"github.com/weft-go/weft/state"
	"github.com/weft-go/weft/temporal"
)

// The environment of a worker process.
const (
	envServer    = "WEFT_E2E_SERVER"
	envNamespace = "WEFT_E2E_NAMESPACE"
	envQueue     = "WEFT_E2E_QUEUE"
	envDatabase  = "WEFT_E2E_DATABASE"
	envSchema    = "WEFT_E2E_SCHEMA"
)

func TestMain(m *testing.M) {
	if os.Getenv(envServer) != "" {
		if err := runWorkerProcess(context.Background()); err != nil {
			fmt.Fprintln(os.Stderr, "worker:", err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// runWorkerProcess is the main function of a worker process. It runs until it is killed.
func runWorkerProcess(ctx context.Context) error {
	c, err := client.Dial(client.Options{HostPort: os.Getenv(envServer), Namespace: os.Getenv(envNamespace), Logger: logger()})
	if err != nil {
		return err
	}
	store, err := openStore(ctx, os.Getenv(envDatabase), os.Getenv(envSchema))
	if err != nil {
		return err
	}
	o := quick(os.Getenv(envQueue))
	steps, err := stepsGraph(store)
	if err != nil {
		return err
	}
	spread, err := spreadGraph(store, temporal.NewExecutor(c, temporal.ExecutorOptions{
		Options: temporal.Options{TaskQueue: o.TaskQueue}, FanOut: 100, Batch: 100,
	}))
	if err != nil {
		return err
	}
	w, err := temporal.NewWorker(c, temporal.WorkerOptions{Options: o, Graphs: []*graph.Graph{steps, spread}, MaxActivities: 64})
	if err != nil {
		return err
	}
	return w.Run(ctx)
}

func openStore(ctx context.Context, address, schema string) (*pgcheckpoint.Store, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	q := u.Query()
	q.Set("pool_max_conns", "12")
	u.RawQuery = q.Encode()
	return pgcheckpoint.Open(ctx, u.String(), pgcheckpoint.Options{
		Schema: schema, LeaseTime: 3 * time.Second, MaxRecoveries: -1, Patience: 5 * time.Second,
	})
}

const supersteps = 12

// stepsGraph counts to twelve, one superstep for each number. Each superstep has a side effect, whose
// receipt is the idempotency key.
func stepsGraph(store checkpoint.Store) (*graph.Graph, error) {
	b := graph.New("steps", trail, total, receipts)
	b.Node("step", func(ctx context.Context, v state.View) (state.Update, error) {
		receipt, err := graph.Once(ctx, "pay", func(ctx context.Context) (string, error) { return graph.IdempotencyKey(ctx), nil })
		if err != nil {
			return nil, err
		}
		timer := time.NewTimer(time.Duration(rand.IntN(20)) * time.Millisecond)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		update := state.Update{total.Put(1), receipts.Put(receipt)}
		if total.Get(v)+1 < supersteps {
			update = append(update, graph.Goto("step"))
		}
		return update, nil
	})
	b.Edge(graph.Start, "step")
	b.Destinations("step", "step")
	return b.Compile(graph.Options{Checkpoints: store, Version: "1"})
}

var (
	receipts  = state.Set[string]("receipts")
	processes = state.Set[string]("processes")
)

// spreadGraph sends as many tasks as the input says. Each adds 1, and the process that ran it.
func spreadGraph(store checkpoint.Store, executor *graph.Executor) (*graph.Graph, error) {
	b := graph.New("spread", item, total, processes)
	b.Node("split", func(_ context.Context, v state.View) (state.Update, error) {
		update := make(state.Update, item.Get(v))
		for i := range update {
			update[i] = graph.Send("work", item.Put(i))
		}
		return update, nil
	})
	pid := strconv.Itoa(os.Getpid())
	b.Node("work", func(context.Context, state.View) (state.Update, error) {
		return state.Update{total.Put(1), processes.Put(pid)}, nil
	})
	b.Edge(graph.Start, "split")
	b.Destinations("split", "work")
	return b.Compile(graph.Options{Checkpoints: store, Version: "1", Executor: executor})
}

// A fleet is a number of worker processes, of which some are killed now and then.
type fleet struct {
	tb    testing.TB
	env   []string
	mu    sync.Mutex
	procs []*exec.Cmd
	kills int
}

// startFleet starts worker processes. The end of the test kills them.
func startFleet(tb testing.TB, s *server, queue, database, schema string, n int) *fleet {
	tb.Helper()
	f := &fleet{tb: tb, env: append(os.Environ(),
		envServer+"="+s.GetFrontendHostPort(), envNamespace+"="+s.GetDefaultNamespace(), envQueue+"="+queue,
		envDatabase+"="+database, envSchema+"="+schema)}
	for range n {
		f.procs = append(f.procs, f.start())
	}
	tb.Cleanup(func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		for _, p := range f.procs {
			_ = p.Process.Kill()
			_ = p.Wait()
		}
	})
	return f
}

func (f *fleet) start() *exec.Cmd {
	cmd := exec.Command(os.Args[0]) //nolint:gosec // this program itself
	cmd.Env, cmd.Stderr = f.env, os.Stderr
	if err := cmd.Start(); err != nil {
		f.tb.Errorf("start a worker: %v", err)
	}
	return cmd
}

// killSome kills a random worker at each tick and starts another one, until ctx ends.
func (f *fleet) killSome(ctx context.Context, every time.Duration) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		f.mu.Lock()
		i := rand.IntN(len(f.procs))
		_ = f.procs[i].Process.Kill()
		_ = f.procs[i].Wait()
		f.procs[i] = f.start()
		f.kills++
		f.mu.Unlock()
	}
}

// envInt returns the number in a variable of the environment, or the default.
func envInt(tb testing.TB, name string, otherwise int) int {
	tb.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	require.NoError(tb, err, name)
	return n
}

// TestThreadsSurviveKills proves that threads of four worker processes end in the fault-free state, with
// each input and each superstep once, although workers are killed all the time.
func TestThreadsSurviveKills(t *testing.T) {
	threads := envInt(t, "WEFT_E2E_THREADS", 2000)
	s, queue := startServer(t), queueOf(t)
	database, schema := pgtest.DirectURL(t), pgtest.Schema(t)
	store, err := openStore(t.Context(), database, schema)
	require.NoError(t, err)
	t.Cleanup(store.Close)
	g, err := stepsGraph(store)
	require.NoError(t, err)
	f := startFleet(t, s, queue, database, schema, 4)
	c := temporal.NewClient(s.Client, quick(queue))

	ctx, stop := context.WithCancel(t.Context())
	var killing sync.WaitGroup
	killing.Go(func() { f.killSome(ctx, 3*time.Second) })
	began := time.Now()
	var clients sync.WaitGroup
	ids := make(chan int)
	for range 64 {
		clients.Go(func() {
			for i := range ids {
				snap, err := c.Thread(g, fmt.Sprint("thread-", i)).Invoke(t.Context(), trail.Put("input"))
				if assert.NoError(t, err, "thread %d", i) {
					assert.True(t, snap.Done(), "thread %d", i)
				}
			}
		})
	}
	for i := range threads {
		ids <- i
	}
	close(ids)
	clients.Wait()
	took := time.Since(began)
	stop()
	killing.Wait()
	takenOver := 0
	for i := range threads {
		if runsOf(t, store, fmt.Sprint("thread-", i)) > 1 {
			takenOver++
		}
		snap, err := g.Thread(fmt.Sprint("thread-", i)).Snapshot(t.Context())
		require.NoError(t, err)
		require.Equal(t, []string{"input"}, trail.Get(snap), "thread %d", i)
		require.Equal(t, supersteps, total.Get(snap), "thread %d", i)
		require.Len(t, receipts.Get(snap), supersteps, "thread %d", i)
		require.Equal(t, supersteps, snap.Step, "thread %d: no step was repeated", i)
	}
	t.Logf("%d threads of %d supersteps over four worker processes with %d kills, after which others continued %d threads: %s, %.1f threads a second",
		threads, supersteps, f.kills, takenOver, took.Round(time.Millisecond), float64(threads)/took.Seconds())
	assert.Positive(t, f.kills)
	assert.Positive(t, takenOver, "threads that another worker continued")
}

// runsOf returns the number of runs that have stored checkpoints of a thread. Each attempt of Temporal is one.
func runsOf(tb testing.TB, store checkpoint.Store, thread string) int {
	tb.Helper()
	runs := map[string]bool{}
	for c, err := range store.List(tb.Context(), checkpoint.Query{Thread: thread}) {
		require.NoError(tb, err)
		runs[c.Run] = true
	}
	return len(runs)
}

// TestFanOutSpreads proves that the tasks of one superstep run in all worker processes, each once, and
// that the history of Temporal stays small.
func TestFanOutSpreads(t *testing.T) {
	sends := envInt(t, "WEFT_E2E_SENDS", 10_000)
	s, queue := startServer(t), queueOf(t)
	database, schema := pgtest.DirectURL(t), pgtest.Schema(t)
	store, err := openStore(t.Context(), database, schema)
	require.NoError(t, err)
	t.Cleanup(store.Close)
	g, err := spreadGraph(store, nil)
	require.NoError(t, err)
	startFleet(t, s, queue, database, schema, 4)
	c := temporal.NewClient(s.Client, temporal.Options{TaskQueue: queue})
	for i := range 4 { // until every worker lives
		_, err = c.Thread(g, fmt.Sprint("warm-", i)).Invoke(t.Context(), item.Put(800))
		require.NoError(t, err)
	}

	began := time.Now()
	snap, err := c.Thread(g, "large").Invoke(t.Context(), item.Put(sends))
	require.NoError(t, err)
	took := time.Since(began)
	assert.True(t, snap.Done())
	assert.Equal(t, sends, total.Get(snap))
	assert.Len(t, processes.Get(snap), 4, "all worker processes ran tasks")
	var tasks string
	for info, err := range g.Thread("large").History(t.Context(), graph.HistoryQuery{}) {
		require.NoError(t, err)
		if len(info.Next) == sends {
			tasks = info.ID
		}
	}
	described, err := s.DescribeWorkflowExecution(t.Context(), "large/tasks/"+tasks, "")
	require.NoError(t, err)
	events := described.WorkflowExecutionInfo.HistoryLength
	assert.Less(t, events, int64(5000))
	began = time.Now()
	local, err := g.Thread("local").Invoke(t.Context(), item.Put(sends))
	require.NoError(t, err)
	assert.Equal(t, sends, total.Get(local))
	t.Logf("%d sends over four worker processes: %s, %s a task, %d events of history; in one process: %s a task", sends,
		took.Round(time.Millisecond), (took / time.Duration(sends)).Round(time.Microsecond), events,
		(time.Since(began) / time.Duration(sends)).Round(time.Microsecond))
}

// A cable carries the connections between a worker and a server, until it is cut.
type cable struct {
	listener net.Listener
	target   string

	mu    sync.Mutex
	cut   bool
	conns map[net.Conn]bool
}

// lay returns a cable to a server. The end of the test removes it.
func lay(tb testing.TB, target string) *cable {
	tb.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(tb, err)
	c := &cable{listener: listener, target: target, conns: map[net.Conn]bool{}}
	var accepting sync.WaitGroup
	accepting.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go c.carry(conn)
		}
	})
	tb.Cleanup(func() {
		_ = listener.Close()
		c.set(true)
		accepting.Wait()
	})
	return c
}

func (c *cable) addr() string { return c.listener.Addr().String() }

// carry copies bytes in both directions until one end is closed.
func (c *cable) carry(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	other, err := net.Dial("tcp", c.target)
	if err != nil {
		return
	}
	defer func() { _ = other.Close() }()
	c.mu.Lock()
	if c.cut {
		c.mu.Unlock()
		return
	}
	c.conns[conn], c.conns[other] = true, true
	c.mu.Unlock()
	done := make(chan struct{}, 2)
	for _, pair := range [][2]net.Conn{{conn, other}, {other, conn}} {
		go func() {
			buffer := make([]byte, 32<<10)
			for {
				n, err := pair[0].Read(buffer)
				if n > 0 {
					_, err = pair[1].Write(buffer[:n])
				}
				if err != nil {
					break
				}
			}
			done <- struct{}{}
		}()
	}
	<-done
	c.mu.Lock()
	delete(c.conns, conn)
	delete(c.conns, other)
	c.mu.Unlock()
}

// set cuts the cable, which breaks its connections and refuses new ones, or mends it.
func (c *cable) set(cut bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cut = cut
	if cut {
		for conn := range c.conns {
			_ = conn.Close()
		}
	}
}
