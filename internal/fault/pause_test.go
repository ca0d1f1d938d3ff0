//go:build unix

package fault_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/pgcheckpoint"
	"github.com/weft-go/weft/internal/fault"
	"github.com/weft-go/weft/internal/pgtest"
)

const leaseTime = time.Second

func init() {
	// The arguments are URL, SCHEMA, PREFIX and THREADS. The process leases threads and waits
	// for a line. Then it writes to the threads, and prints a line for each rejected write.
	roles["hold"] = func(ctx context.Context, args []string) error {
		threads, err := strconv.Atoi(args[3])
		if err != nil {
			return err
		}
		store, err := pgcheckpoint.Open(ctx, args[0], pgcheckpoint.Options{Schema: args[1], LeaseTime: leaseTime})
		if err != nil {
			return err
		}
		defer store.Close()
		leases := make([]checkpoint.Lease, threads)
		for i := range leases {
			thread := fmt.Sprint(args[2], i)
			if leases[i], err = store.Lease(ctx, thread); err != nil {
				return err
			}
			if err := leases[i].Put(ctx, step(thread, stepID(1), "", "0"), ""); err != nil {
				return err
			}
		}
		fmt.Println("held")
		bufio.NewScanner(os.Stdin).Scan()
		for i, l := range leases {
			thread := fmt.Sprint(args[2], i)
			key := checkpoint.Key{Thread: thread, ID: stepID(2)}
			for _, err := range []error{
				l.Put(ctx, step(thread, stepID(3), stepID(2), "2"), stepID(2)),
				l.Put(ctx, step(thread, stepID(2), stepID(1), "1"), stepID(1)),
				l.PutWrites(ctx, key, []checkpoint.Write{{Task: "a", Channel: "c"}}),
				l.DeleteThread(ctx, thread),
			} {
				if !errors.Is(err, pgcheckpoint.ErrFenced) {
					return fmt.Errorf("thread %s: got error %w want fenced", thread, err)
				}
			}
			fmt.Println("fenced")
			if err := l.Release(ctx); err != nil {
				return err
			}
		}
		return nil
	}
}

// F8: processes are stopped for longer than their leases, and then continued. Another
// process acquires their threads in the meantime. Later writes of the stopped processes are
// rejected.
func TestF08PausedProcessesAreFenced(t *testing.T) {
	begin(t)
	processes, threads := count(2, 10), count(3, 10)
	o := newSchema(t)
	o.Busy, o.LeaseTime = pgcheckpoint.Wait, 30*time.Second
	store := open(t, pgtest.DirectURL(t), o)
	var mu sync.Mutex
	var took []time.Duration
	fenced := 0
	var all sync.WaitGroup
	for i := range processes {
		all.Go(func() {
			prefix := fmt.Sprint("p", i, ".")
			p, err := fault.Spawn(t.Context(), "hold", pgtest.DirectURL(t), o.Schema, prefix, fmt.Sprint(threads))
			if !assert.NoError(t, err) {
				return
			}
			if line, _ := p.Line(); !assert.Equal(t, "held", line) {
				_, err := p.Wait()
				assert.NoError(t, err)
				return
			}
			assert.NoError(t, p.Signal(syscall.SIGSTOP), "stop")
			start := time.Now()
			var taken sync.WaitGroup
			for n := range threads {
				taken.Go(func() {
					thread := fmt.Sprint(prefix, n)
					l, err := store.Lease(t.Context(), thread)
					if !assert.NoError(t, err) {
						return
					}
					mu.Lock()
					took = append(took, time.Since(start))
					mu.Unlock()
					assert.NoError(t, l.Put(t.Context(), step(thread, stepID(2), stepID(1), "1"), stepID(1)), "put")
					t.Cleanup(func() { assert.NoError(t, l.Release(context.Background()), "release") })
				})
			}
			taken.Wait()
			before := digest(t, o.Schema, prefix)
			assert.NoError(t, p.Signal(syscall.SIGCONT), "wake")
			assert.NoError(t, p.Send("go"), "tell")
			n := 0
			for line, ok := p.Line(); ok && line == "fenced"; line, ok = p.Line() {
				n++
			}
			_, err = p.Wait()
			assert.NoError(t, err, "the stopped process")
			assert.Equal(t, before, digest(t, o.Schema, prefix), "digest of the stored rows")
			mu.Lock()
			fenced += n
			mu.Unlock()
		})
	}
	all.Wait()
	worst := quantile(took, 1)
	t.Logf("F8: %d of %d threads fenced; acquired after at most %v, with leases of %v", fenced, processes*threads, worst.Round(time.Millisecond), leaseTime)
	assert.Equal(t, processes*threads, fenced, "fenced threads")
	assert.LessOrEqual(t, worst, leaseTime+2*time.Second, "longest time to acquire a thread")
}

// digest returns a hash of all stored rows of the threads whose ids begin with the prefix,
// without the expiry of their leases.
func digest(t *testing.T, schema, prefix string) string {
	t.Helper()
	return pgtest.Ask[string](t, pgtest.DirectURL(t), strings.ReplaceAll(`SELECT md5(
		(SELECT string_agg(concat(key, id, seq, steps, epoch, owner, head), ',' ORDER BY key) FROM weft.cp_thread WHERE starts_with(id, $1)) ||
		coalesce((SELECT string_agg(s::text, ',' ORDER BY s.thread, s.seq) FROM weft.cp_step s WHERE s.thread IN
			(SELECT key FROM weft.cp_thread WHERE starts_with(id, $1))), '') ||
		coalesce((SELECT string_agg(w::text, ',' ORDER BY w.thread, w.seq) FROM weft.cp_write w WHERE w.thread IN
			(SELECT key FROM weft.cp_thread WHERE starts_with(id, $1))), ''))`, "weft.", schema+"."), prefix)
}
