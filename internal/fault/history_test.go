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

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/pgcheckpoint"
)

// An op is what a client did to a list, between two moments of one clock.
type op struct {
	value      string   // that was appended; empty for a read
	read       []string // what was read
	from, to   int64
	ok, failed bool // neither: nobody knows
}

// A journal is all that clients did to a list.
type journal struct {
	mu  sync.Mutex
	ops []op
}

// check says how what clients saw of a list contradicts that their appends took effect
// one after the other, each at a moment while it was under way.
func (j *journal) check(final []string) error {
	at := make(map[string]int, len(final))
	for i, v := range final {
		if _, twice := at[v]; twice {
			return fmt.Errorf("%s was appended twice", v)
		}
		at[v] = i
	}
	known := map[string]bool{}
	// Whole is how long the list was at least when an op was done, and short at most when
	// one began.
	for _, o := range j.ops {
		if o.value == "" {
			if o.ok && (len(o.read) > len(final) || !slices.Equal(o.read, final[:len(o.read)])) {
				return fmt.Errorf("a read of %d is no beginning of the list", len(o.read))
			}
			continue
		}
		known[o.value] = true
		i, there := at[o.value]
		if o.ok && !there {
			return fmt.Errorf("%s was acknowledged, and is lost", o.value)
		}
		if o.failed && there {
			return fmt.Errorf("%s was refused, and is there at %d", o.value, i)
		}
	}
	for _, v := range final {
		if !known[v] {
			return fmt.Errorf("nobody appended %s", v)
		}
	}
	return j.checkOrder(at)
}

// span returns which lengths of the list an op can tell of: all within it were there
// when it was done, and what it added was not there before it began.
func (o *op) span(at map[string]int) (least, most int, ok bool) {
	if o.value == "" {
		return len(o.read), len(o.read), o.ok
	}
	i, there := at[o.value]
	return i, i + 1, there
}

// checkOrder wants what was done before something else began to come before it.
func (j *journal) checkOrder(at map[string]int) error {
	byEnd := slices.Clone(j.ops)
	slices.SortFunc(byEnd, func(a, b op) int { return int(a.to - b.to) })
	byStart := slices.Clone(j.ops)
	slices.SortFunc(byStart, func(a, b op) int { return int(a.from - b.from) })
	done, next := 0, 0 // the list had this length at least
	for _, o := range byStart {
		for next < len(byEnd) && byEnd[next].to < o.from {
			if _, most, ok := byEnd[next].span(at); ok && byEnd[next].ok {
				done = max(done, most)
			}
			next++
		}
		if least, _, ok := o.span(at); ok && least < done {
			return fmt.Errorf("%q of length %d began when the list had %d", o.value, least, done)
		}
	}
	return nil
}

// The checker finds what it is for.
func TestHistoryChecker(t *testing.T) {
	t.Parallel()
	a := op{value: "a", from: 1, to: 2, ok: true}
	b := op{value: "b", from: 3, to: 4, ok: true}
	for name, c := range map[string]struct {
		ops   []op
		final []string
		sound bool
	}{
		"sound":                  {[]op{a, b, {read: []string{"a"}, from: 3, to: 5, ok: true}}, []string{"a", "b"}, true},
		"nobody knows":           {[]op{{value: "a", from: 1, to: 2}, b}, []string{"b"}, true},
		"nobody knew":            {[]op{{value: "a", from: 1, to: 2}, b}, []string{"b", "a"}, true},
		"at the same time":       {[]op{{value: "a", from: 1, to: 4, ok: true}, b}, []string{"b", "a"}, true},
		"lost":                   {[]op{a, b}, []string{"b"}, false},
		"twice":                  {[]op{a, b}, []string{"a", "b", "a"}, false},
		"out of order":           {[]op{a, b}, []string{"b", "a"}, false},
		"refused, and there":     {[]op{{value: "a", from: 1, to: 2, failed: true}}, []string{"a"}, false},
		"of nobody":              {[]op{a}, []string{"a", "x"}, false},
		"a read of another":      {[]op{a, b, {read: []string{"b"}, from: 5, to: 6, ok: true}}, []string{"a", "b"}, false},
		"a read that is old":     {[]op{a, b, {read: []string{"a"}, from: 5, to: 6, ok: true}}, []string{"a", "b"}, false},
		"a read of the future":   {[]op{{read: []string{"a"}, from: 1, to: 2, ok: true}, {value: "a", from: 3, to: 4, ok: true}}, []string{"a"}, false},
		"reads that go backward": {[]op{{value: "a", from: 1, to: 9, ok: true}, {read: []string{"a"}, from: 2, to: 3, ok: true}, {from: 4, to: 5, ok: true}}, []string{"a"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := journal{ops: c.ops}
			if err := j.check(c.final); (err == nil) != c.sound {
				t.Errorf("got error %v want sound %t", err, c.sound)
			}
		})
	}
}

// F24: clients append to lists and read them while the server stops and starts and the
// connections break. What they were told has one explanation.
func TestF24History(t *testing.T) {
	seed := begin(t)
	const clients = 24
	total, lists := count(1200, 100_000), count(20, 1000)
	server := newServer(t)
	proxy, address := newProxy(t, server.URL())
	o := pgcheckpoint.Options{Timeout: 2 * time.Second, Patience: time.Minute}
	store, _ := openPool(t, address, o, func(c *pgxpool.Config) { c.MaxConns = clients })
	// The other one gives up at once, and does not know what became of its calls.
	o.Patience = -1
	hasty, _ := openPool(t, address, o, func(c *pgxpool.Config) { c.MaxConns = 4 })
	sound := open(t, server.URL(), pgcheckpoint.Options{Patience: time.Minute})
	w := &wire{dice: lockedDice{dice: dice(seed, 100)}, rate: 0.01}
	proxy.Treat(w.fate)
	out := &outages{server: server, every: [2]time.Duration{2 * time.Second, 5 * time.Second}, down: 2 * time.Second}
	if !long() {
		out.every, out.down = [2]time.Duration{time.Second, 2 * time.Second}, 300*time.Millisecond
	}
	done := make(chan struct{})
	var keeper, all sync.WaitGroup
	keeper.Go(func() { wantNoErr(t, "outages", out.run(t.Context(), dice(seed, 101), done)) })
	journals := make([]journal, lists)
	var clock, appended, unknown atomic.Int64
	for c := range clients {
		all.Go(func() {
			r := dice(seed, c)
			mine := store
			if c%12 == 0 {
				mine = hasty
			}
			for i := range total / clients {
				list := r.IntN(lists)
				o := clientOp(t.Context(), mine, list, c<<24+i, r, &clock)
				switch {
				case !o.ok && !o.failed:
					unknown.Add(1)
					<-time.After(50 * time.Millisecond) // or those who do not wait do nothing else
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
	proxy.Treat(nil)
	proxy.Reset() // the pools would wait for an answer of those that are dumb
	for i := range journals {
		got, err := sound.Get(t.Context(), checkpoint.Key{Thread: fmt.Sprint("list", i)})
		if err != nil && !errors.Is(err, checkpoint.ErrNotFound) {
			t.Fatal(err)
		}
		if err := journals[i].check(lines(&got)); err != nil {
			t.Errorf("list %d: %v", i, err)
		}
	}
	t.Logf("F24: %d operations on %d lists, %d appends acknowledged, of %d operations nobody knew; %d outages; %v",
		total, lists, appended.Load(), unknown.Load(), out.n.Load(), w)
}

// clientOp reads a list, or appends to it what nobody else does.
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
