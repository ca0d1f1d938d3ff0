package broadcast_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/broadcast"
	"github.com/weft-go/weft/state"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	note      = state.Last[string]("note")
	errBroken = errors.New("broken")
)

// build compiles a graph with a store.
func build(t testing.TB, fill func(b *graph.Builder)) *graph.Graph {
	b := graph.New("test", note)
	fill(b)
	g, err := b.Compile(graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})})
	require.NoError(t, err)
	return g
}

// emitting returns a graph that emits the numbers below n.
func emitting(t testing.TB, n int) *graph.Graph {
	return build(t, func(b *graph.Builder) {
		b.Node("emit", func(ctx context.Context, _ state.View) (state.Update, error) {
			for i := range n {
				graph.Emit(ctx, i)
			}
			return nil, ctx.Err()
		})
		b.Edge(graph.Start, "emit")
	})
}

// emissions yields an Emitted event for each number below n.
func emissions(n int) iter.Seq2[graph.Event, error] {
	return func(yield func(graph.Event, error) bool) {
		for i := range n {
			if !yield(graph.Emitted{Value: i}, nil) {
				return
			}
		}
	}
}

// received has the events that a reader of a broadcast received.
type received struct {
	numbers []int
	lines   []string
	last    broadcast.Event // the event of the last pair, which has the error
	err     error
}

// read reads until the end of the run or, if limit is positive, at most limit events.
func read(ctx context.Context, b *broadcast.Broadcast, from, limit int) (r received) {
	for e, err := range b.Events(ctx, from) {
		if err != nil {
			r.last, r.err = e, err
			return r
		}
		r.numbers = append(r.numbers, e.Number)
		r.lines = append(r.lines, e.Event.String())
		if len(r.numbers) == limit {
			return r
		}
	}
	return r
}

// TestBroadcastReaderReconnects proves that a reader which leaves at any event, and asks
// for the next number later, sees every event of the run once and in order.
func TestBroadcastReaderReconnects(t *testing.T) {
	t.Parallel()
	g := emitting(t, 200)
	var want []string
	for e, err := range g.Thread("plain").Stream(t.Context(), note.Put("go")) {
		require.NoError(t, err)
		want = append(want, e.String())
	}
	for _, step := range []int{1, 7, 63, 64, 65, 500} {
		b := broadcast.New(0)
		ended := make(chan error, 1)
		go func() { ended <- b.Run(g.Thread(fmt.Sprint("t", step)).Stream(t.Context(), note.Put("go"))) }()
		var got received
		for {
			part := read(t.Context(), b, len(got.numbers), step)
			require.NoError(t, part.err)
			if len(part.numbers) == 0 {
				break
			}
			got.numbers, got.lines = append(got.numbers, part.numbers...), append(got.lines, part.lines...)
		}
		require.NoError(t, <-ended)
		for i, n := range got.numbers {
			require.Equal(t, i, n)
		}
		require.Len(t, got.lines, len(want))
		for i := range want {
			if _, ids := checkpointed(want[i]); !ids { // the ids of checkpoints differ between runs
				require.Equal(t, want[i], got.lines[i])
			}
		}
	}
}

func checkpointed(line string) (id string, ok bool) {
	n, _ := fmt.Sscanf(line, "step 0: checkpoint %s", &id)
	m, _ := fmt.Sscanf(line, "step 1: checkpoint %s", &id)
	return id, n+m > 0
}

func TestBroadcastServesThousandReaders(t *testing.T) {
	t.Parallel()
	b := broadcast.New(0)
	g := emitting(t, 300)
	var all sync.WaitGroup
	for range 1000 {
		all.Go(func() {
			got := read(t.Context(), b, 0, 0)
			if assert.NoError(t, got.err) && assert.Len(t, got.numbers, 308) {
				assert.Equal(t, 307, got.numbers[307])
			}
		})
	}
	require.NoError(t, b.Run(g.Thread("t").Stream(t.Context(), note.Put("go"))))
	all.Wait()
	require.Len(t, read(t.Context(), b, 0, 0).numbers, 308, "a reader that comes after the end")
}

// TestBroadcastDoesNotWaitForReader proves that a blocked reader delays neither the run nor
// the other readers, and that it gets ErrMissed when it continues.
func TestBroadcastDoesNotWaitForReader(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := broadcast.New(100)
		stuck := make(chan struct{})
		var got received
		go func() {
			for e, err := range b.Events(t.Context(), 0) {
				if got.last, got.err = e, err; err == nil {
					got.numbers = append(got.numbers, e.Number)
				}
				<-stuck
			}
		}()
		require.NoError(t, b.Run(func(yield func(graph.Event, error) bool) {
			for e, err := range emissions(1000) {
				if !yield(e, err) {
					return
				}
				synctest.Wait() // the reader has received the first event, and blocks
			}
		}))
		require.Len(t, read(t.Context(), b, 900, 0).numbers, 100)
		close(stuck)
		synctest.Wait()
		require.ErrorIs(t, got.err, graph.ErrMissed)
		require.ErrorContains(t, got.err, fmt.Sprintf("event %d is no longer kept, and the oldest that is kept has number 900", len(got.numbers)))
		require.Equal(t, 900, got.last.Number, "where the reader can go on")
		require.Nil(t, got.last.Event)
		rest := read(t.Context(), b, got.last.Number, 0)
		require.NoError(t, rest.err)
		require.Len(t, rest.numbers, 100)
	})
}

// TestBroadcastReportsMissedEvents proves for which numbers a reader gets ErrMissed.
func TestBroadcastReportsMissedEvents(t *testing.T) {
	t.Parallel()
	b := broadcast.New(4)
	require.NoError(t, b.Run(emissions(10)))
	for from, want := range map[int]struct {
		numbers []int
		missed  string
	}{
		-3: {missed: "event 0 is no longer kept, and the oldest that is kept has number 6"},
		5:  {missed: "event 5 is no longer kept, and the oldest that is kept has number 6"},
		6:  {numbers: []int{6, 7, 8, 9}},
		9:  {numbers: []int{9}},
		10: {},
		11: {missed: "there is no event 11 yet, and the next one has number 10"},
	} {
		got := read(t.Context(), b, from, 0)
		require.Equal(t, want.numbers, got.numbers, from)
		if want.missed == "" {
			require.NoError(t, got.err, from)
			continue
		}
		require.ErrorIs(t, got.err, graph.ErrMissed)
		require.ErrorContains(t, got.err, want.missed)
		require.Equal(t, 6, got.last.Number)
	}
}

func TestBroadcastMemoryIsBounded(t *testing.T) {
	t.Parallel()
	b := broadcast.New(16)
	var values []weak.Pointer[[1024]byte]
	require.NoError(t, b.Run(func(yield func(graph.Event, error) bool) {
		for range 2000 {
			v := new([1024]byte)
			values = append(values, weak.Make(v))
			if !yield(graph.Emitted{Value: v}, nil) {
				return
			}
		}
	}))
	require.Eventually(t, func() bool {
		runtime.GC()
		alive := 0
		for _, v := range values {
			if v.Value() != nil {
				alive++
			}
		}
		return alive <= 16
	}, 10*time.Second, 10*time.Millisecond)
	require.Len(t, read(t.Context(), b, 1984, 0).numbers, 16)
	runtime.KeepAlive(b)
}

// TestBroadcastOutlivesItsReaders proves that the run reaches its end after every reader
// has left, by leaving the loop or by the end of its context.
func TestBroadcastOutlivesItsReaders(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := build(t, func(b *graph.Builder) {
			b.Node("slow", func(ctx context.Context, _ state.View) (state.Update, error) {
				for i := range 10 {
					graph.Emit(ctx, i)
					time.Sleep(time.Minute)
				}
				return state.Update{note.Put("slow")}, ctx.Err()
			})
			b.Edge(graph.Start, "slow")
		})
		b := broadcast.New(0)
		ended := make(chan error, 1)
		go func() { ended <- b.Run(g.Thread("t").Stream(t.Context(), note.Put("go"))) }()
		require.Len(t, read(t.Context(), b, 0, 3).numbers, 3)
		ctx, cancel := context.WithTimeoutCause(t.Context(), 90*time.Second, errBroken)
		defer cancel()
		got := read(ctx, b, 0, 0)
		require.ErrorIs(t, got.err, errBroken)
		require.Equal(t, len(got.numbers), got.last.Number, "the number to continue with")
		require.NoError(t, <-ended)
		end, err := g.Thread("t").Snapshot(t.Context())
		require.NoError(t, err)
		require.Equal(t, "slow", note.Get(end))
		require.ErrorIs(t, read(ctx, b, 0, 0).err, errBroken, "a context that has ended counts although events are there")
	})
}

// TestBroadcastDeliversRunError proves that every reader gets the error of the run after
// the events.
func TestBroadcastDeliversRunError(t *testing.T) {
	t.Parallel()
	failing := func(end func()) iter.Seq2[graph.Event, error] {
		return func(yield func(graph.Event, error) bool) {
			if yield(graph.Emitted{Value: 1}, nil) {
				end()
				yield(nil, errBroken)
			}
		}
	}
	check := func(t *testing.T, end func(), want func(t *testing.T, err error)) {
		b := broadcast.New(0)
		early := make(chan received, 1)
		go func() { early <- read(t.Context(), b, 0, 0) }()
		ended := make(chan error, 1)
		go func() {
			err := errors.New("the goroutine ended")
			defer func() { ended <- err }()
			err = b.Run(failing(end))
		}()
		if err := <-ended; err.Error() != "the goroutine ended" {
			want(t, err)
		}
		for _, got := range []received{<-early, read(t.Context(), b, 0, 0), read(t.Context(), b, 1, 0)} {
			want(t, got.err)
			require.Equal(t, 1, got.last.Number)
		}
		require.ErrorContains(t, b.Run(emissions(1)), "Run was called before")
		want(t, read(t.Context(), b, 1, 0).err)
	}
	t.Run("error", func(t *testing.T) {
		t.Parallel()
		check(t, func() {}, func(t *testing.T, err error) { require.ErrorIs(t, err, errBroken) })
	})
	t.Run("panic", func(t *testing.T) {
		t.Parallel()
		check(t, func() { panic("boom") }, func(t *testing.T, err error) {
			var p *graph.PanicError
			require.ErrorAs(t, err, &p)
			require.Equal(t, "boom", p.Value)
		})
	})
	t.Run("goexit", func(t *testing.T) {
		t.Parallel()
		check(t, runtime.Goexit, func(t *testing.T, err error) { require.ErrorContains(t, err, "Goexit") })
	})
	t.Run("node", func(t *testing.T) {
		t.Parallel()
		g := build(t, func(b *graph.Builder) {
			b.Node("one", func(context.Context, state.View) (state.Update, error) { return nil, errBroken })
			b.Edge(graph.Start, "one")
		})
		b := broadcast.New(0)
		require.ErrorIs(t, b.Run(g.Stream(t.Context())), errBroken)
		require.ErrorIs(t, read(t.Context(), b, 0, 0).err, errBroken)
	})
}
