//go:build unix

package riverqueue_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/internal/fault"
	"github.com/weft-go/weft/internal/pgtest"
)

// The short version executes few runs and does not restart the database. Both versions execute runs until each fault has
// happened once. The short version also waits until a replica has taken a job of a killed one.
const (
	shortRuns  = 60
	testLease  = time.Second
	fullLease  = 2 * time.Second
	testPause  = 20 * time.Millisecond
	runsThread = 2   // the number of runs that are queued on a thread
	atOnce     = 100 // the number of threads at the same time
	testUsers  = 20
)

// fullRuns returns the number of runs in WEFT_REPLICA_RUNS, and 0 for the short version.
func fullRuns(t *testing.T) int {
	t.Helper()
	text := os.Getenv("WEFT_REPLICA_RUNS")
	if text == "" {
		return 0
	}
	n, err := strconv.Atoi(text)
	require.NoError(t, err)
	return n
}

// Replicas are killed, stopped for longer than their lease, and drained, while clients begin and read runs at any of
// them. Each run ends in the same state as without faults, each reader gets each event once and in order, and no effect
// is repeated after its result was stored.
func TestKilledReplicasLoseAndRepeatNothing(t *testing.T) {
	t.Parallel()
	runs := fullRuns(t)
	if runs == 0 {
		t.Run("one of two behind PgBouncer", func(t *testing.T) {
			t.Parallel()
			n := newRound(t, pgtest.Schema(t), testLease, pgtest.DirectURL(t), pgtest.PooledURL(t))
			n.faults = []faultFunc{n.kill, n.stop, n.drain}
			n.between = 700 * time.Millisecond
			n.run(shortRuns)
		})
		return
	}
	for _, c := range []struct{ replicas, pooled, runs int }{{2, 1, runs}, {4, 2, runs}, {2, 2, runs / 10}} {
		t.Run(fmt.Sprintf("%d replicas, %d behind PgBouncer", c.replicas, c.pooled), func(t *testing.T) {
			database, url := ownDatabase(t)
			pooled := pgtest.Pooler(t, url)
			urls := make([]string, c.replicas)
			for i := range urls {
				urls[i] = url
				if i < c.pooled {
					urls[i] = pooled
				}
			}
			n := newRound(t, "weft", fullLease, urls...)
			n.database, n.direct = database, url
			n.faults = []faultFunc{n.kill, n.kill, n.stop, n.drain, n.restart}
			n.between = 3 * time.Second
			n.run(c.runs)
		})
	}
}

// ownDatabase starts a PostgreSQL that the test may stop.
func ownDatabase(t *testing.T) (*fault.Server, string) {
	t.Helper()
	programs, err := fault.Programs(t.Context(), filepath.Join("..", "..", "..", "scripts", "postgres"))
	require.NoError(t, err)
	s, err := fault.NewServer(t.Context(), os.TempDir(), programs, "max_connections=300")
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.Close()) })
	require.NoError(t, s.Start(t.Context()))
	return s, s.URL()
}

// A faultFunc causes a fault, and returns its name, or "" if there was no process.
type faultFunc func(ctx context.Context) string

// A round executes runs while faults happen.
type round struct {
	t        *testing.T
	configs  []replicaConfig
	replicas []*replica
	direct   string        // the address of the database without PgBouncer
	database *fault.Server // nil if the database is not restarted
	faults   []faultFunc
	between  time.Duration // the mean time between two faults
	lease    time.Duration
	counts   map[string]int

	mu     sync.Mutex
	killed []string // the ids of River's clients in the processes that were killed
}

func newRound(t *testing.T, schema string, lease time.Duration, urls ...string) *round {
	t.Helper()
	n := &round{t: t, direct: urls[0], lease: lease, counts: map[string]int{}}
	effects := filepath.Join(t.TempDir(), effectsFile)
	for _, url := range urls {
		n.configs = append(n.configs, replicaConfig{
			Database: url, Schema: schema, Effects: effects, Lease: lease, MaxRuns: 64, Pause: testPause,
		})
	}
	return n
}

func (n *round) any() *replica { return n.replicas[rand.IntN(len(n.replicas))] }

// signal sends a signal to a replica. It returns name, or "" if the replica had no process.
func (n *round) signal(s syscall.Signal, name string) string {
	if n.any().signal(s) == 0 {
		return ""
	}
	return name
}

func (n *round) kill(context.Context) string {
	r := n.any()
	client := r.client() // read before the kill: afterwards the log may have the id of the next process
	if r.signal(syscall.SIGKILL) == 0 {
		return ""
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.killed = append(n.killed, client)
	return "kills"
}

// stop stops a replica for longer than its lease.
func (n *round) stop(ctx context.Context) string {
	r := n.any()
	if r.signal(syscall.SIGSTOP) == 0 {
		return ""
	}
	select {
	case <-time.After(2 * n.lease):
	case <-ctx.Done():
	}
	r.signal(syscall.SIGCONT)
	return "stops"
}

func (n *round) drain(context.Context) string { return n.signal(syscall.SIGTERM, "drains") }

// restart restarts the database.
func (n *round) restart(ctx context.Context) string {
	how := []fault.Stop{fault.Immediate, fault.Fast, fault.Kill}[rand.IntN(3)]
	if assert.NoError(n.t, n.database.Stop(how)) {
		select {
		case <-time.After(rand.N(2 * time.Second)):
		case <-ctx.Done():
		}
		assert.NoError(n.t, n.database.Start(context.WithoutCancel(ctx)))
	}
	return "restarts of the database"
}

// run executes runs while faults happen.
func (n *round) run(total int) {
	t := n.t
	begun := time.Now()
	processes, end := context.WithCancel(context.Background())
	var ended sync.WaitGroup
	t.Cleanup(func() {
		end()
		ended.Wait()
	})
	n.replicas = startProcesses(processes, t, &ended, n.configs...)
	c := newClients(t, n.replicas)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute+time.Duration(total)*100*time.Millisecond)
	defer cancel()
	harm, enough := context.WithCancel(ctx)
	each, once := context.WithCancel(ctx) // ends when each fault has happened once
	defer once()
	var chaos sync.WaitGroup
	chaos.Go(func() {
		first := rand.IntN(len(n.faults))
		for i := first; ; {
			select {
			case <-time.After(n.between/2 + rand.N(n.between)):
				if name := n.faults[i%len(n.faults)](harm); name != "" {
					n.counts[name]++
					i++
				}
				if i == first+len(n.faults) {
					once()
				}
			case <-harm.Done():
				return
			}
		}
	})
	slots := make(chan struct{}, min(atOnce, total/runsThread))
	var all sync.WaitGroup
	threads := 0
	for ; threads < total/runsThread || ctx.Err() == nil && (each.Err() == nil || n.database == nil && n.taken() == 0); threads++ {
		slots <- struct{}{}
		i := threads
		all.Go(func() {
			defer func() { <-slots }()
			c.thread(ctx, fmt.Sprint("user", i%testUsers), fmt.Sprint("t", i), runsThread)
		})
	}
	all.Wait()
	enough()
	chaos.Wait()
	assert.Positive(t, n.taken(), "jobs of killed replicas that others took")
	again, late := n.checkEffects(threads * runsThread * supersteps)
	took := time.Since(begun)
	t.Logf("%d replicas, %d runs in %v (%.0f a second), faults: %v; %d streams, %d events, each once; %d effects again before their result was stored, %d late ones of replicas whose jobs were taken",
		len(n.replicas), c.ended.Load(), took.Round(time.Millisecond), float64(c.ended.Load())/took.Seconds(), n.counts, c.streams.Load(), c.events.Load(), again, late)
	if t.Failed() {
		n.showLogs()
	}
}

// taken returns the number of jobs that replicas have taken from killed ones. Jobs of a stopped replica do not count.
func (n *round) taken() int {
	n.mu.Lock()
	killed := slices.Clone(n.killed)
	n.mu.Unlock()
	return pgtest.Ask[int](n.t, n.direct, `SELECT count(*) FROM `+n.configs[0].Schema+`.river_job
		WHERE errors[cardinality(errors)]->>'error' = 'the server of the job has died'
		AND attempted_by[cardinality(attempted_by)] = ANY ($1::text[])`, killed)
}

// late returns the ids of the processes whose jobs were taken by others: processes that were killed or stopped, and
// processes that could not renew their leases in time because the machine was busy.
func (n *round) late() map[string]bool {
	clients := pgtest.Ask[[]string](n.t, n.direct, `SELECT array_agg(DISTINCT attempted_by[cardinality(attempted_by)])
		FROM `+n.configs[0].Schema+`.river_job WHERE errors[cardinality(errors)]->>'error' = 'the server of the job has died'`)
	out := map[string]bool{}
	for _, r := range n.replicas {
		for process, client := range r.clients() {
			out[process] = out[process] || slices.Contains(clients, client)
		}
	}
	return out
}

func (n *round) showLogs() {
	for i, r := range n.replicas {
		data, _ := os.ReadFile(filepath.Join(r.dir, "log"))
		n.t.Logf("the log of replica %d ends: %s", i, data[max(0, len(data)-4000):])
	}
}

// checkEffects fails if an effect was repeated after its result was stored, except by a replica whose jobs were taken. It
// returns the number of effects that were repeated before their result was stored, and of late effects of such replicas. A replica
// that is stopped in a node, or is slow for as long, resumes the node later: it may repeat the effect, but cannot store its result.
func (n *round) checkEffects(want int) (again, late int) {
	data, err := os.ReadFile(n.configs[0].Effects)
	require.NoError(n.t, err)
	taken := n.late()
	stored, did, lateBy := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for line := range strings.Lines(string(data)) {
		f := strings.Fields(line)
		key, by := f[1], f[1]+" "+f[2]
		switch {
		case f[0] == "stored":
			assert.False(n.t, lateBy[by], "a result was stored after that of another replica: %s", key)
			stored[key] = true
			continue
		case stored[key] && taken[f[2]]:
			lateBy[by] = true
			late++
		case stored[key]:
			n.t.Errorf("effect %s was repeated after its result was stored: %v", key, linesWith(string(data), key))
		case did[key]:
			again++
		}
		did[key] = true
	}
	if !assert.Equal(n.t, want, len(did), "effects") { // Len would print all effects
		n.showOdd(string(data), did)
	}
	return again, late
}

// showOdd logs the effects of the threads that have too many or too few.
func (n *round) showOdd(data string, did map[string]bool) {
	byThread := map[string]int{}
	for key := range did {
		thread, _, _ := strings.Cut(key, "/")
		byThread[thread]++
	}
	for thread, effects := range byThread {
		if effects == runsThread*supersteps {
			continue
		}
		var lines []string
		for line := range strings.Lines(data) {
			if strings.Contains(line, " "+thread+"/") {
				lines = append(lines, line)
			}
		}
		n.t.Logf("thread %s has %d effects: %v", thread, effects, lines)
	}
}

// linesWith returns the lines that contain a word.
func linesWith(text, word string) (found []string) {
	for line := range strings.Lines(text) {
		if strings.Contains(line, word+" ") {
			found = append(found, strings.TrimSpace(line))
		}
	}
	return found
}
