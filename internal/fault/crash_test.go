//go:build unix

package fault_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/pgcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/internal/fault"
	"github.com/weft-go/weft/internal/pgtest"
	"github.com/weft-go/weft/internal/uuid"
)

const crashRounds = 10 // rounds of fan, each of two supersteps

// killSelf kills this process and does not return.
func killSelf() {
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL) // always succeeds
	select {}
}

var policies = map[string]pgcheckpoint.BusyPolicy{"wait": pgcheckpoint.Wait, "interrupt": pgcheckpoint.Interrupt}

func init() {
	// The arguments are URL, SCHEMA, THREAD, ROUNDS, BUSY, DURABILITY and FAILPOINT. The
	// process starts or resumes a thread, and prints its progress.
	roles["run"] = func(ctx context.Context, args []string) error {
		address, schema, thread, busy, mode, failpoint := args[0], args[1], args[2], args[4], args[5], args[6]
		rounds, err := strconv.Atoi(args[3])
		if err != nil {
			return err
		}
		config, err := pgcheckpoint.PoolConfig(address, pgcheckpoint.Direct)
		if err != nil {
			return err
		}
		kind, number, _ := strings.Cut(failpoint, ":")
		at, _ := strconv.Atoi(number) // 0 if there is no failpoint
		f := &failpoints{kind: kind, at: at}
		if kind != "" {
			config.MaxConns = 1 // so that the next answer after the Put belongs to the Put
		}
		dial := config.ConnConfig.DialFunc
		config.ConnConfig.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := dial(ctx, network, addr)
			return failConn{conn, f}, err
		}
		pool, err := pgxpool.NewWithConfig(ctx, config)
		if err != nil {
			return err
		}
		defer pool.Close()
		store, err := pgcheckpoint.New(ctx, pool, pgcheckpoint.Options{
			Schema: schema, LeaseTime: time.Second, Busy: policies[busy], MaxRecoveries: -1,
		})
		if err != nil {
			return err
		}
		say := func(kind, checkpoint, task string) {
			_, _ = os.Stdout.WriteString(kind + " " + checkpoint + " " + task + "\n") // one write: the tasks print concurrently
		}
		g, err := fan(observedStore{failStore{store, f}, say}, rounds, say)
		if err != nil {
			return err
		}
		th := g.Thread(thread)
		if mode == "async" {
			async := graph.Async
			th = th.With(graph.RunOptions{Durability: &async})
		}
		if _, err := startOrResume(ctx, th); err != nil {
			return err
		}
		say("end", "", "")
		return nil
	}
}

// failpoints kills its process at one Put. The kind selects the moment. "before" is the
// moment before the Put, after the pending writes were stored. "sent" is the moment at
// which the Put is sent. "answered" is the moment after the answer of the database, before
// the store reads it.
type failpoints struct {
	kind string
	at   int // the number of the Put, counted from 1
	puts atomic.Int32
	id   atomic.Pointer[[16]byte] // the id of the checkpoint of that Put
	sent atomic.Bool              // whether the Put was sent
}

func (f *failpoints) reached() bool { return int(f.puts.Add(1)) == f.at }

// carries reports whether the bytes b contain the id of the checkpoint of the selected Put.
// Other messages, such as the renewal of a lease, do not contain the id.
func (f *failpoints) carries(b []byte) bool {
	id := f.id.Load()
	return id != nil && bytes.Contains(b, id[:])
}

type failStore struct {
	checkpoint.Store
	f *failpoints
}

func (s failStore) Lease(ctx context.Context, thread string) (checkpoint.Lease, error) {
	l, err := s.Store.(checkpoint.Leaser).Lease(ctx, thread)
	if err != nil {
		return nil, err
	}
	return failLease{failStore{l, s.f}, l}, nil
}

func (s failStore) Put(ctx context.Context, c checkpoint.Checkpoint, head string) error {
	if s.f.reached() {
		if s.f.kind == "before" {
			killSelf()
		}
		id, _ := uuid.Pack(c.ID)
		s.f.id.Store(&id)
	}
	return s.Store.Put(ctx, c, head)
}

type failLease struct {
	failStore
	lease checkpoint.Lease
}

func (l failLease) Release(ctx context.Context) error { return l.lease.Release(ctx) }

type failConn struct {
	net.Conn
	f *failpoints
}

func (c failConn) Write(b []byte) (int, error) {
	carries := c.f.carries(b)
	if carries {
		c.f.sent.Store(true)
	}
	n, err := c.Conn.Write(b)
	if carries && c.f.kind == "sent" {
		killSelf()
	}
	return n, err
}

func (c failConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n > 0 && c.f.sent.Load() && c.f.kind == "answered" {
		killSelf()
	}
	return n, err
}

// A crashRun is one run of the graph fan in a series of processes. Each process resumes the run
// after the previous process was killed.
type crashRun struct {
	address, schema, thread string
	rounds                  int
	crashes                 int
	lines                   int             // number of printed lines of all processes
	ran                     map[string]int  // executions of each task, by checkpoint and task
	kept                    map[string]bool // the tasks with a stored result
	put                     []string        // the acknowledged checkpoints
	ended                   bool
}

func newCrashRun(address, schema, thread string, rounds int) *crashRun {
	return &crashRun{
		address: address, schema: schema, thread: thread, rounds: rounds,
		ran: map[string]int{}, kept: map[string]bool{},
	}
}

// process starts a process and waits for its end. If the argument after is not negative, it
// kills the process at the time delay after the process has printed that number of lines.
func (r *crashRun) process(ctx context.Context, busy, mode, failpoint string, after int, delay time.Duration) error {
	p, err := fault.Spawn(ctx, "run", r.address, r.schema, r.thread, fmt.Sprint(r.rounds), busy, mode, failpoint)
	if err != nil {
		return err
	}
	ranHere := map[string]bool{}
	var wrong error
	kill := func(n int) {
		if n == after {
			<-time.After(delay) // so that the kill can happen between two lines
			_ = p.Signal(syscall.SIGKILL)
		}
	}
	kill(0)
	for n := 1; ; n++ {
		line, ok := p.Line()
		if !ok {
			break
		}
		kill(n)
		r.lines++
		if err := r.record(line, ranHere); err != nil && wrong == nil {
			wrong = err
		}
	}
	killed, err := p.Wait()
	if killed && !r.ended {
		r.crashes++
	}
	if wrong != nil {
		return wrong
	}
	return err
}

// record records a line of progress. It returns an error if a task ran twice in one
// process, if it ran after its result was stored, or if it ran more often than there were
// processes.
func (r *crashRun) record(line string, ranHere map[string]bool) error {
	kind, what, _ := strings.Cut(line, " ")
	switch kind {
	case "run":
		if ranHere[what] {
			return fmt.Errorf("thread %s: %s ran twice in one process", r.thread, what)
		}
		if r.kept[what] {
			return fmt.Errorf("thread %s: %s ran again after its result was stored", r.thread, what)
		}
		ranHere[what] = true
		if r.ran[what]++; r.ran[what] > r.crashes+1 {
			return fmt.Errorf("thread %s: %s ran %d times with %d crashes", r.thread, what, r.ran[what], r.crashes)
		}
	case "kept":
		r.kept[what] = true
	case "put":
		r.put = append(r.put, strings.TrimSpace(what))
	case "end":
		r.ended = true
	}
	return nil
}

// F1: processes are killed at random moments of a run. The next process resumes the run.
// The result equals the result of a run without faults.
func TestF01ResumesAfterKilledProcesses(t *testing.T) {
	seed := begin(t)
	o := newSchema(t)
	store := open(t, pgtest.DirectURL(t), o)
	var left, killed, runs atomic.Int64
	left.Store(int64(count(16, 1000)))
	intact := newCrashRun(pgtest.DirectURL(t), o.Schema, "intact", crashRounds)
	require.NoError(t, intact.process(t.Context(), "wait", "sync", "", -1, 0))
	require.True(t, intact.ended, "the run without a crash has ended")
	began := time.Now()
	var all sync.WaitGroup
	for w := range 4 {
		all.Go(func() {
			r := newRand(seed, w)
			for i := 0; left.Load() > 0 && !t.Failed(); i++ {
				run := newCrashRun(pgtest.DirectURL(t), o.Schema, fmt.Sprint("t", w, ".", i), crashRounds)
				if !assert.NoError(t, crashUntilDone(t.Context(), run, r, &left, intact.lines)) {
					return
				}
				killed.Add(int64(run.crashes))
				runs.Add(1)
				assert.NoError(t, checkThread(t.Context(), store, run.thread, crashRounds, run.put), "check")
			}
		})
	}
	all.Wait()
	t.Logf("F1: %d kills in %d runs of %d supersteps, %v", killed.Load(), runs.Load(), 2*crashRounds, time.Since(began).Round(time.Second))
}

// takeOne decrements a counter and returns true. It returns false if the counter is 0.
func takeOne(left *atomic.Int64) bool {
	for {
		n := left.Load()
		if n <= 0 || left.CompareAndSwap(n, n-1) {
			return n > 0
		}
	}
}

// crashUntilDone runs processes until the run has ended. It kills each process while the
// counter left is positive. The argument length is the number of lines that a run without a
// crash prints.
func crashUntilDone(ctx context.Context, run *crashRun, r *rand.Rand, left *atomic.Int64, length int) error {
	mode := []string{"sync", "sync", "async"}[r.IntN(3)]
	busy := []string{"interrupt", "interrupt", "wait"}[r.IntN(3)]
	for !run.ended {
		after := -1
		if takeOne(left) {
			after = r.IntN(length / 3)
		}
		before := run.crashes
		if err := run.process(ctx, busy, mode, "", after, time.Duration(r.IntN(2000))*time.Microsecond); err != nil {
			return err
		}
		if after >= 0 && run.crashes == before {
			left.Add(1) // do not count the kill, since the process ended before it
		}
	}
	return nil
}

// F2: processes are killed at three moments: between the pending writes and the commit of a
// superstep, while the commit is sent, and between the commit and its acknowledgement. The
// next process detects whether the commit took effect.
func TestF02ResumesAfterAKillAtTheCommit(t *testing.T) {
	seed := begin(t)
	const rounds = 3
	o := newSchema(t)
	store := open(t, pgtest.DirectURL(t), o)
	for _, kind := range []string{"before", "sent", "answered"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			r := newRand(seed, len(kind))
			times, committed := count(4, 100), 0
			for i := range times {
				run := newCrashRun(pgtest.DirectURL(t), o.Schema, fmt.Sprint(kind, i), rounds)
				at := 3 + 2*r.IntN(rounds) // the Put after the second superstep of some round
				require.NoError(t, run.process(t.Context(), "wait", "sync", fmt.Sprint(kind, ":", at), -1, 0))
				require.Equal(t, 1, run.crashes, "kills")
				require.Len(t, run.put, at-1, "acknowledged checkpoints")
				require.NoError(t, run.process(t.Context(), "interrupt", "sync", "", -1, 0), "the second process")
				require.True(t, run.ended, "the second process ends the run")
				assert.NoError(t, checkThread(t.Context(), store, run.thread, rounds, run.put), "check")
				// The first process may have committed a checkpoint without an acknowledgement.
				unacknowledged := fanSteps(rounds) - len(run.put)
				switch kind {
				case "before":
					assert.Zero(t, unacknowledged, "checkpoints without an acknowledgement")
				case "sent":
					assert.Contains(t, []int{0, 1}, unacknowledged, "checkpoints without an acknowledgement")
				case "answered":
					assert.Equal(t, 1, unacknowledged, "checkpoints without an acknowledgement")
				}
				committed += unacknowledged
			}
			t.Logf("F2: kind %q: %d kills, %d of them after the commit; every run ended", kind, times, committed)
		})
	}
}
