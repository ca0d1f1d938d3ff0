package drivertest

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/weft-go/weft/memory/driver"
)

// RunTurns checks the queues that open returns. Each call of open must return a new, empty queue, and
// close it with tb.Cleanup. Several tests call open at the same time.
func RunTurns(t *testing.T, open func(tb testing.TB) driver.TurnStore) {
	t.Helper()
	for _, c := range turnCases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.check(t, open)
		})
	}
}

// A turnCase tests one promise.
type turnCase struct {
	name, promise string
	run           func(q *queue)
}

var turnCases = []turnCase{
	{"order", "Claim returns the due jobs unchanged, oldest first", (*queue).order},
	{"once", "a job whose key and scope exist or are finished is not enqueued again", (*queue).once},
	{"lease", "a claimed job can be claimed again only when its lease ends, and then the old claim is invalid", (*queue).lease},
	{"retry", "a returned job keeps its attempts, and is due after the delay or parked", (*queue).retry},
	{"parking", "parked jobs are listed with their cause, and can be revived", (*queue).parking},
	{"scopes", "jobs of different scopes are independent", (*queue).scopes},
	{"at once", "concurrent claims return each job once", (*queue).atOnce},
	{"texts", "keys, scopes and payloads are returned byte for byte", (*queue).texts},
}

func (c turnCase) check(tb testing.TB, open func(tb testing.TB) driver.TurnStore) {
	tb.Helper()
	play(tb, c.promise, 2*time.Minute, open, func(_ context.Context, store driver.TurnStore) { c.run(&queue{TB: tb, q: store}) })
}

type queue struct {
	testing.TB
	q driver.TurnStore
}

var someone = driver.Scope{Tenant: "acme", User: "ann"}

func job(i int) driver.Turn {
	return driver.Turn{
		Key: fmt.Sprintf("key %d", i), Scope: someone, Payload: []byte(fmt.Sprintf(`{"n":%d}`, i)),
		Said: time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC),
	}
}

func (q *queue) put(jobs ...driver.Turn) {
	q.Helper()
	for _, j := range jobs {
		if err := q.q.Enqueue(q.Context(), j); err != nil {
			q.Fatal(err)
		}
	}
}

func (q *queue) claim(n int, lease time.Duration) []driver.Turn {
	q.Helper()
	jobs, err := q.q.Claim(q.Context(), n, lease)
	if err != nil {
		q.Fatal(err)
	}
	return jobs
}

// claimOne claims the one job that is due.
func (q *queue) claimOne(lease time.Duration) driver.Turn {
	q.Helper()
	jobs := q.claim(1, lease)
	if len(jobs) != 1 {
		q.Fatalf("claimed %d jobs want 1", len(jobs))
	}
	return jobs[0]
}

// await waits for a job to become due, and claims it.
func (q *queue) await() driver.Turn {
	q.Helper()
	for began := time.Now(); time.Since(began) < 10*time.Second; runtime.Gosched() {
		if jobs := q.claim(1, time.Hour); len(jobs) == 1 {
			return jobs[0]
		}
	}
	q.Fatal("no job became due within 10 s")
	return driver.Turn{}
}

func (q *queue) do(err error) {
	q.Helper()
	if err != nil {
		q.Error(err)
	}
}

func (q *queue) count(pending, parked int) {
	q.Helper()
	got, err := q.q.Count(q.Context())
	if want := (driver.TurnCounts{Pending: pending, Parked: parked}); err != nil || got != want {
		q.Errorf("got %+v and %v, want %+v", got, err, want)
	}
}

func (q *queue) over(err error) {
	q.Helper()
	if !errors.Is(err, driver.ErrConflict) {
		q.Errorf("got %v, want memory.ErrConflict", err)
	}
}

func (q *queue) order() {
	q.count(0, 0)
	if jobs := q.claim(3, time.Hour); len(jobs) != 0 {
		q.Errorf("an empty queue gave %+v", jobs)
	}
	for i := range 5 {
		q.put(job(i))
	}
	first, second := q.claim(2, time.Hour), q.claim(10, time.Hour)
	if len(first) != 2 || len(second) != 3 || len(q.claim(1, time.Hour)) != 0 {
		q.Fatalf("claimed %d and %d", len(first), len(second))
	}
	for i, got := range slices.Concat(first, second) {
		want := job(i)
		if got.Key != want.Key || got.Scope != want.Scope || string(got.Payload) != string(want.Payload) || !got.Said.Equal(want.Said) || got.Attempts != 1 || got.Claim == "" {
			q.Errorf("got %+v, want %+v", got, want)
		}
	}
	q.count(5, 0)
}

func (q *queue) once() {
	again := job(1)
	again.Payload = []byte(`{"n":"other"}`)
	q.put(job(1), again)
	jobs := q.claim(2, time.Hour)
	if len(jobs) != 1 || string(jobs[0].Payload) != `{"n":1}` {
		q.Fatalf("got %+v", jobs)
	}
	q.put(again) // while the job is claimed
	q.do(q.q.Finish(q.Context(), jobs[0]))
	q.put(again) // after the job is finished
	q.count(0, 0)
	if jobs := q.claim(2, time.Hour); len(jobs) != 0 {
		q.Errorf("got %+v", jobs)
	}
	q.over(q.q.Finish(q.Context(), jobs[0]))
	q.over(q.q.Retry(q.Context(), jobs[0], 0, "late"))
}

func (q *queue) lease() {
	q.put(job(1))
	old := q.claimOne(0)
	now := q.await()
	if now.Key != old.Key || now.Attempts != 2 || now.Claim == old.Claim {
		q.Errorf("got %+v after %+v", now, old)
	}
	q.over(q.q.Finish(q.Context(), old))
	q.over(q.q.Retry(q.Context(), old, 0, ""))
	q.over(q.q.Finish(q.Context(), job(1))) // it has no claim
	q.count(1, 0)
	q.do(q.q.Finish(q.Context(), now))
	q.count(0, 0)
}

func (q *queue) retry() {
	q.put(job(1))
	q.do(q.q.Retry(q.Context(), q.claimOne(time.Hour), 20*time.Millisecond, "down"))
	q.count(1, 0)
	again := q.await()
	if again.Attempts != 2 {
		q.Errorf("got %+v", again)
	}
	q.do(q.q.Retry(q.Context(), again, time.Hour, "down"))
	if jobs := q.claim(1, time.Hour); len(jobs) != 0 {
		q.Errorf("claimed before it was due: %+v", jobs)
	}
	q.count(1, 0)
}

func (q *queue) parking() {
	q.put(job(1), job(2))
	jobs := q.claim(2, time.Hour)
	if len(jobs) != 2 {
		q.Fatalf("claimed %d jobs want 2", len(jobs))
	}
	q.do(q.q.Retry(q.Context(), jobs[0], -1, "impossible"))
	q.do(q.q.Finish(q.Context(), jobs[1]))
	q.count(0, 1)
	q.put(job(1)) // has no effect, because the job is parked
	if jobs := q.claim(1, time.Hour); len(jobs) != 0 {
		q.Errorf("claimed a parked job: %+v", jobs)
	}
	p := q.q
	list, err := p.Parked(q.Context(), 10)
	if err != nil || len(list) != 1 || list[0].Key != "key 1" || list[0].Cause != "impossible" || list[0].Attempts != 1 {
		q.Errorf("got %+v and %v", list, err)
	}
	for _, key := range []string{"key 2", "key 3"} {
		if err := p.Revive(q.Context(), someone, key); !errors.Is(err, driver.ErrNotFound) {
			q.Errorf("%s: %v", key, err)
		}
	}
	q.do(p.Revive(q.Context(), someone, "key 1"))
	if j := q.await(); j.Attempts != 1 {
		q.Errorf("got %+v", j)
	}
	q.count(1, 0)
}

func (q *queue) scopes() {
	other := job(1)
	other.Scope.Agent = "helper"
	q.put(job(1), other)
	jobs := q.claim(2, time.Hour)
	if len(jobs) != 2 || jobs[1].Scope != other.Scope {
		q.Fatalf("got %+v", jobs)
	}
	swapped := jobs[0]
	swapped.Scope = other.Scope
	q.over(q.q.Finish(q.Context(), swapped))
	q.do(q.q.Finish(q.Context(), jobs[0]))
	q.count(1, 0)
}

func (q *queue) atOnce() {
	const jobs, workers = 60, 8
	var mu sync.Mutex
	seen := map[string]int{}
	q.do(parallel(workers, func(int) error {
		for i := range jobs {
			if err := q.q.Enqueue(q.Context(), job(i)); err != nil {
				return err
			}
		}
		for range jobs + 1 { // each Claim but the last returns a job
			claimed, err := q.q.Claim(q.Context(), 3, time.Hour)
			if err != nil || len(claimed) == 0 {
				return err
			}
			for _, j := range claimed {
				mu.Lock()
				seen[j.Key]++
				mu.Unlock()
				if err := q.q.Finish(q.Context(), j); err != nil {
					return err
				}
			}
		}
		return fmt.Errorf("a worker claimed jobs more than %d times", jobs)
	}))
	q.count(0, 0)
	for key, n := range seen {
		if n != 1 {
			q.Errorf("%s was claimed %d times", key, n)
		}
	}
	if len(seen) != jobs {
		q.Errorf("%d jobs were claimed", len(seen))
	}
}

func (q *queue) texts() {
	j := job(1)
	j.Key = "a'; DROP TABLE mem_turn; -- \u202e\U0001F600 \"%_\\"
	j.Scope = driver.Scope{Tenant: "'\"", Workspace: "%", User: "_\n", Agent: "\\"}
	j.Payload = []byte(`{"b":1.50,"a":"\u003c'\"", "a":[ ]}`)
	q.put(j)
	if got := q.await(); got.Key != j.Key || got.Scope != j.Scope || string(got.Payload) != string(j.Payload) {
		q.Errorf("got %+v, want %+v", got, j)
	}
	ctx, cancel := context.WithCancel(q.Context())
	cancel()
	if err := q.q.Enqueue(ctx, job(2)); err != nil && !errors.Is(err, context.Canceled) {
		q.Errorf("got %v", err)
	}
}
