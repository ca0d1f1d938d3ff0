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

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/pgcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/internal/fault"
	"github.com/weft-go/weft/internal/pgtest"
	"github.com/weft-go/weft/internal/uuid"
)

const crashRounds = 10 // of two supersteps

func die() {
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL) // nothing comes behind it
	select {}
}

var policies = map[string]pgcheckpoint.BusyPolicy{"wait": pgcheckpoint.Wait, "interrupt": pgcheckpoint.Interrupt}

func init() {
	// run URL SCHEMA THREAD ROUNDS BUSY DURABILITY FAILPOINT runs or resumes a thread, and
	// tells what it does.
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
		at, _ := strconv.Atoi(number) // zero for none
		f := &failpoints{kind: kind, at: at}
		if kind != "" {
			config.MaxConns = 1 // so that what is answered behind the Put is the Put
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
			_, _ = os.Stdout.WriteString(kind + " " + checkpoint + " " + task + "\n") // in one write
		}
		g, err := fan(toldStore{failStore{store, f}, say}, rounds, say)
		if err != nil {
			return err
		}
		th := g.Thread(thread)
		if mode == "async" {
			async := graph.Async
			th = th.With(graph.RunOptions{Durability: &async})
		}
		if _, err := goOn(ctx, th); err != nil {
			return err
		}
		say("end", "", "")
		return nil
	}
}

// failpoints kill their process at a certain Put: before it, with pending writes
// stored; when it is on its way; and when the database has answered that it is done,
// and nobody here knows.
type failpoints struct {
	kind string
	at   int
	puts atomic.Int32
	id   atomic.Pointer[[16]byte] // of the checkpoint that is being put
	sent atomic.Bool              // it is on its way
}

func (f *failpoints) reached() bool { return int(f.puts.Add(1)) == f.at }

// carries reports whether it is the Put that is sent, and not what keeps the lease, which may be under way at the same time.
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
			die()
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
		die()
	}
	return n, err
}

func (c failConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n > 0 && c.f.sent.Load() && c.f.kind == "answered" {
		die()
	}
	return n, err
}

// A crashRun is a run over all its processes.
type crashRun struct {
	address, schema, thread string
	rounds                  int
	crashes                 int
	told                    int            // how many lines in all
	ran                     map[string]int // tasks, by checkpoint
	kept                    map[string]bool
	put                     []string
	ended                   bool
}

func newCrashRun(address, schema, thread string, rounds int) *crashRun {
	return &crashRun{
		address: address, schema: schema, thread: thread, rounds: rounds,
		ran: map[string]int{}, kept: map[string]bool{},
	}
}

// process runs a process, which is killed a moment after it has told so many lines, or,
// below zero, when it wants.
func (r *crashRun) process(ctx context.Context, busy, mode, failpoint string, after int, moment time.Duration) error {
	p, err := fault.Spawn(ctx, "run", r.address, r.schema, r.thread, fmt.Sprint(r.rounds), busy, mode, failpoint)
	if err != nil {
		return err
	}
	here := map[string]bool{}
	var wrong error
	kill := func(n int) {
		if n == after {
			<-time.After(moment) // so that the end comes anywhere, and not only at a line
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
		r.told++
		if err := r.heed(line, here); err != nil && wrong == nil {
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

// heed takes note of what a process tells, and says what must not be.
func (r *crashRun) heed(line string, here map[string]bool) error {
	kind, what, _ := strings.Cut(line, " ")
	switch kind {
	case "run":
		if here[what] {
			return fmt.Errorf("thread %s: %s ran twice in one process", r.thread, what)
		}
		if r.kept[what] {
			return fmt.Errorf("thread %s: the result of %s was stored, and it ran again", r.thread, what)
		}
		here[what] = true
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

// F1: processes are killed at random points of a run, and new ones go on with it.
func TestF01KilledProcesses(t *testing.T) {
	seed := begin(t)
	o := newSchema(t)
	store := open(t, pgtest.DirectURL(t), o)
	var left, killed, runs atomic.Int64
	left.Store(int64(count(16, 1000)))
	sound := newCrashRun(pgtest.DirectURL(t), o.Schema, "sound", crashRounds)
	if err := sound.process(t.Context(), "wait", "sync", "", -1, 0); err != nil || !sound.ended {
		t.Fatalf("without a crash: %v", err)
	}
	began := time.Now()
	var all sync.WaitGroup
	for w := range 4 {
		all.Go(func() {
			r := dice(seed, w)
			for i := 0; left.Load() > 0 && !t.Failed(); i++ {
				run := newCrashRun(pgtest.DirectURL(t), o.Schema, fmt.Sprint("t", w, ".", i), crashRounds)
				if err := crashUntilDone(t.Context(), run, r, &left, sound.told); err != nil {
					t.Error(err)
					return
				}
				killed.Add(int64(run.crashes))
				runs.Add(1)
				wantNoErr(t, "check", checkThread(t.Context(), store, run.thread, crashRounds, run.put))
			}
		})
	}
	all.Wait()
	t.Logf("F1: %d kills in %d runs of %d supersteps, %v", killed.Load(), runs.Load(), 2*crashRounds, time.Since(began).Round(time.Second))
}

// take takes one of the kills that are left.
func take(left *atomic.Int64) bool {
	for {
		n := left.Load()
		if n <= 0 || left.CompareAndSwap(n, n-1) {
			return n > 0
		}
	}
}

// crashUntilDone kills the processes of a run for as long as there are kills left.
func crashUntilDone(ctx context.Context, run *crashRun, r *rand.Rand, left *atomic.Int64, length int) error {
	mode := []string{"sync", "sync", "async"}[r.IntN(3)]
	busy := []string{"interrupt", "interrupt", "wait"}[r.IntN(3)]
	for !run.ended {
		after := -1
		if take(left) {
			after = r.IntN(length / 3)
		}
		before := run.crashes
		if err := run.process(ctx, busy, mode, "", after, time.Duration(r.IntN(2000))*time.Microsecond); err != nil {
			return err
		}
		if after >= 0 && run.crashes == before {
			left.Add(1) // it had ended before
		}
	}
	return nil
}

// F2: processes are killed between the pending writes and the commit of a superstep,
// when the commit is on its way, and between the commit and its acknowledgement. The
// next one finds out what became of it.
func TestF02KilledAtCommit(t *testing.T) {
	seed := begin(t)
	const rounds = 3
	o := newSchema(t)
	store := open(t, pgtest.DirectURL(t), o)
	for _, kind := range []string{"before", "sent", "answered"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			r := dice(seed, len(kind))
			times, committed := count(4, 100), 0
			for i := range times {
				run := newCrashRun(pgtest.DirectURL(t), o.Schema, fmt.Sprint(kind, i), rounds)
				at := 3 + 2*r.IntN(rounds) // the Put behind a fan
				if err := run.process(t.Context(), "wait", "sync", fmt.Sprint(kind, ":", at), -1, 0); err != nil || run.crashes != 1 {
					t.Fatalf("it was killed %d times, error %v", run.crashes, err)
				}
				n := len(run.put)
				if n != at-1 {
					t.Fatalf("%d checkpoints were acknowledged, want %d", n, at-1)
				}
				if err := run.process(t.Context(), "interrupt", "sync", "", -1, 0); err != nil || !run.ended {
					t.Fatalf("resumed: %v", err)
				}
				wantNoErr(t, "check", checkThread(t.Context(), store, run.thread, rounds, run.put))
				// What the second one did not have to put was committed by the first.
				switch missing := fanSteps(rounds) - len(run.put); {
				case missing == 1 && kind != "before":
					committed++
				case missing != 0 || kind == "answered":
					t.Errorf("killed %s: %d checkpoints were acknowledged by nobody", kind, missing)
				}
			}
			t.Logf("F2: killed %s %d times, %d of them committed; each was resolved", kind, times, committed)
		})
	}
}
