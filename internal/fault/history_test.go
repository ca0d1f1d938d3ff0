//go:build unix

package fault_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/pgcheckpoint"
)

// An op is an operation of a client on a list: an append or a read.
type op struct {
	value      string   // the appended value; empty for a read
	read       []string // the result of a read
	from, to   int64    // logical times of the start and the end
	ok, failed bool     // both are false if the result is unknown
}

// A journal records all operations on one list.
type journal struct {
	mu  sync.Mutex
	ops []op
}

// check returns an error unless the operations are linearizable. Every operation must have
// taken effect at one moment between its start and its end.
func (j *journal) check(final []string) error {
	at := make(map[string]int, len(final))
	for i, v := range final {
		if _, twice := at[v]; twice {
			return fmt.Errorf("%s was appended twice", v)
		}
		at[v] = i
	}
	known := map[string]bool{}
	for _, o := range j.ops {
		if o.value == "" {
			if o.ok && (len(o.read) > len(final) || !slices.Equal(o.read, final[:len(o.read)])) {
				return fmt.Errorf("a read of %d values is not a prefix of the list", len(o.read))
			}
			continue
		}
		known[o.value] = true
		i, there := at[o.value]
		if o.ok && !there {
			return fmt.Errorf("%s was acknowledged and is missing", o.value)
		}
		if o.failed && there {
			return fmt.Errorf("%s failed and is in the list at %d", o.value, i)
		}
	}
	for _, v := range final {
		if !known[v] {
			return fmt.Errorf("no client appended %s", v)
		}
	}
	return j.checkOrder(at)
}

// span returns the length of the list immediately before and after the effect of an
// operation. It reports false if these lengths are unknown.
func (o *op) span(at map[string]int) (before, after int, ok bool) {
	if o.value == "" {
		return len(o.read), len(o.read), o.ok
	}
	i, there := at[o.value]
	return i, i + 1, there
}

// checkOrder returns an error if operations took effect in the wrong order. If one operation
// ended before the start of another operation, its effect must be first.
func (j *journal) checkOrder(at map[string]int) error {
	byEnd := slices.Clone(j.ops)
	slices.SortFunc(byEnd, func(a, b op) int { return int(a.to - b.to) })
	byStart := slices.Clone(j.ops)
	slices.SortFunc(byStart, func(a, b op) int { return int(a.from - b.from) })
	done, next := 0, 0 // done is the least length of the list after the operations that have ended
	for _, o := range byStart {
		for next < len(byEnd) && byEnd[next].to < o.from {
			if _, after, ok := byEnd[next].span(at); ok && byEnd[next].ok {
				done = max(done, after)
			}
			next++
		}
		if before, _, ok := o.span(at); ok && before < done {
			return fmt.Errorf("the operation %q took effect at length %d and started when the list had %d values", o.value, before, done)
		}
	}
	return nil
}

func TestHistoryCheckerFindsContradictions(t *testing.T) {
	t.Parallel()
	a := op{value: "a", from: 1, to: 2, ok: true}
	b := op{value: "b", from: 3, to: 4, ok: true}
	for name, c := range map[string]struct {
		ops   []op
		final []string
		ok    bool
	}{
		"consistent":             {[]op{a, b, {read: []string{"a"}, from: 3, to: 5, ok: true}}, []string{"a", "b"}, true},
		"unknown, not applied":   {[]op{{value: "a", from: 1, to: 2}, b}, []string{"b"}, true},
		"unknown, applied":       {[]op{{value: "a", from: 1, to: 2}, b}, []string{"b", "a"}, true},
		"at the same time":       {[]op{{value: "a", from: 1, to: 4, ok: true}, b}, []string{"b", "a"}, true},
		"lost":                   {[]op{a, b}, []string{"b"}, false},
		"twice":                  {[]op{a, b}, []string{"a", "b", "a"}, false},
		"out of order":           {[]op{a, b}, []string{"b", "a"}, false},
		"failed, but applied":    {[]op{{value: "a", from: 1, to: 2, failed: true}}, []string{"a"}, false},
		"never appended":         {[]op{a}, []string{"a", "x"}, false},
		"a read out of order":    {[]op{a, b, {read: []string{"b"}, from: 5, to: 6, ok: true}}, []string{"a", "b"}, false},
		"a stale read":           {[]op{a, b, {read: []string{"a"}, from: 5, to: 6, ok: true}}, []string{"a", "b"}, false},
		"a read of the future":   {[]op{{read: []string{"a"}, from: 1, to: 2, ok: true}, {value: "a", from: 3, to: 4, ok: true}}, []string{"a"}, false},
		"reads that go backward": {[]op{{value: "a", from: 1, to: 9, ok: true}, {read: []string{"a"}, from: 2, to: 3, ok: true}, {from: 4, to: 5, ok: true}}, []string{"a"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := journal{ops: c.ops}
			err := j.check(c.final)
			assert.Equal(t, c.ok, err == nil, "got error %v", err)
		})
	}
}

// F24: clients append to lists and read them. Meanwhile the server stops and restarts, and
// connections break. The results of the operations are linearizable.
func TestF24HistoryIsLinearizable(t *testing.T) {
	seed := begin(t)
	const clients = 24
	total, lists := count(1200, 100_000), count(20, 1000)
	server := newServer(t)
	proxy, address := newProxy(t, server.URL())
	o := pgcheckpoint.Options{Timeout: 2 * time.Second, Patience: time.Minute}
	store, _ := openPool(t, address, o, func(c *pgxpool.Config) { c.MaxConns = clients })
	// This store does not retry, so the result of some of its calls is unknown.
	o.Patience = -1
	impatient, _ := openPool(t, address, o, func(c *pgxpool.Config) { c.MaxConns = 4 })
	direct := open(t, server.URL(), pgcheckpoint.Options{Patience: time.Minute})
	w := &faultyNetwork{rand: lockedRand{rand: newRand(seed, 100)}, rate: 0.01}
	proxy.Intercept(w.action)
	out := &outages{server: server, every: [2]time.Duration{2 * time.Second, 5 * time.Second}, down: 2 * time.Second}
	if !long() {
		out.every, out.down = [2]time.Duration{time.Second, 2 * time.Second}, 300*time.Millisecond
	}
	done := make(chan struct{})
	var keeper, all sync.WaitGroup
	keeper.Go(func() { assert.NoError(t, out.run(t.Context(), newRand(seed, 101), done), "outages") })
	journals := make([]journal, lists)
	var clock, appended, unknown atomic.Int64
	for c := range clients {
		all.Go(func() {
			r := newRand(seed, c)
			mine := store
			if c%12 == 0 {
				mine = impatient
			}
			for i := range total / clients {
				list := r.IntN(lists)
				o := clientOp(t.Context(), mine, list, c<<24+i, r, &clock)
				switch {
				case !o.ok && !o.failed:
					unknown.Add(1)
					// Without a wait, the clients that do not retry would do most operations.
					<-time.After(50 * time.Millisecond)
				case o.ok && o.value != "":
					appended.Add(1)
				}
				j := &journals[list]
				j.mu.Lock()
				j.ops = append(j.ops, o)
				j.mu.Unlock()
			}
		})
	}
	all.Wait()
	close(done)
	keeper.Wait()
	proxy.Intercept(nil)
	proxy.Reset() // the pools would wait for answers on silent connections
	for i := range journals {
		got, err := direct.Get(t.Context(), checkpoint.Key{Thread: fmt.Sprint("list", i)})
		if !errors.Is(err, checkpoint.ErrNotFound) {
			require.NoError(t, err)
		}
		assert.NoError(t, journals[i].check(lines(&got)), "list %d", i)
	}
	t.Logf("F24: %d operations on %d lists, %d appends acknowledged, %d operations with an unknown result; %d outages; %v",
		total, lists, appended.Load(), unknown.Load(), out.n.Load(), w)
}

// clientOp reads a list or appends a unique value to it.
func clientOp(ctx context.Context, store *pgcheckpoint.Store, list, unique int, r *rand.Rand, clock *atomic.Int64) op {
	thread := fmt.Sprint("list", list)
	write := r.IntN(2) == 0
	o := op{from: clock.Add(1)}
	head, err := store.Get(ctx, checkpoint.Key{Thread: thread})
	if errors.Is(err, checkpoint.ErrNotFound) {
		err = nil
	}
	o.to = clock.Add(1)
	if err != nil || !write {
		o.ok, o.read = err == nil, lines(&head)
		return o
	}
	o = op{value: fmt.Sprint(unique), from: clock.Add(1)}
	err = store.Put(ctx, step(thread, stepID(unique+1), head.ID, o.value), head.ID)
	o.to = clock.Add(1)
	o.ok = err == nil
	o.failed = errors.Is(err, checkpoint.ErrConflict)
	return o
}
