package main

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/internal/pgtest"
)

// TestWorkloads runs every contestant of every workload once at its smallest size,
// and verifies the final state.
func TestWorkloads(t *testing.T) {
	t.Parallel()
	runAll(t, workloads)
}

func TestStoreWorkloads(t *testing.T) { //nolint:paralleltest // It sets databaseURL.
	databaseURL = pgtest.DirectURL(t)
	t.Run("all", func(t *testing.T) { runAll(t, storeWorkloads) })
	about, err := server(t.Context())
	require.NoError(t, err)
	assert.Contains(t, about, "PostgreSQL 1")
}

func runAll(t *testing.T, list []workload) {
	t.Helper()
	for _, w := range list {
		for _, c := range w.contestants {
			t.Run(w.name+"/"+c.name, func(t *testing.T) {
				t.Parallel()
				got, _, err := measureOnce(t.Context(), w, c, w.sizes[0], 1)
				require.NoError(t, err)
				assert.Positive(t, got.ns)
			})
		}
	}
}

// TestWrongOutcomesFail changes the outcomes of each workload: its verification must
// fail.
func TestWrongOutcomesFail(t *testing.T) {
	t.Parallel()
	spoil := map[string]func(o *outcome){
		"a message less":     func(o *outcome) { o.messages = o.messages[1:] },
		"two in wrong order": func(o *outcome) { o.messages[0], o.messages[1] = o.messages[1], o.messages[0] },
		"another count":      func(o *outcome) { o.count++ },
	}
	for _, w := range workloads {
		for name, f := range spoil {
			t.Run(w.name+"/"+name, func(t *testing.T) {
				t.Parallel()
				c := w.contestants[0]
				spoiled := contestant{name: c.name, setUp: func(ctx context.Context, w workload, n int) (subject, error) {
					s, err := c.setUp(ctx, w, n)
					run := s.run
					s.run = func(ctx context.Context) (outcome, error) {
						o, err := run(ctx)
						if o.messages == nil { // Some workloads only count.
							o.count++
							return o, err
						}
						f(&o)
						return o, err
					}
					return s, err
				}}
				_, _, err := measureOnce(t.Context(), w, spoiled, w.sizes[0], 1)
				require.ErrorContains(t, err, "wrong final state")
			})
		}
	}
}

// TestOrderOfMeasurements checks that workloads take turns, that workloads with the
// field last run after all others, and that sizes above the limit are left out.
func TestOrderOfMeasurements(t *testing.T) {
	t.Parallel()
	var order []string
	does := func(name string, upTo int) contestant {
		return contestant{name: name, upTo: upTo, setUp: func(_ context.Context, w workload, n int) (subject, error) {
			order = append(order, fmt.Sprint(w.name, name, n))
			return subject{run: func(context.Context) (outcome, error) { return outcome{}, nil }}, nil
		}}
	}
	w := workload{
		name:        "a",
		sizes:       []int{1, 10, 100},
		verify:      func(workload, int, outcome) error { return nil },
		contestants: []contestant{does(floor, 0), does(weft, 5)},
	}
	late, other := w, w
	late.name, late.sizes, late.last = "c", []int{10}, true
	other.name, other.sizes, other.rounds = "b", []int{10}, inTurn
	var told []string
	all, err := measure(t.Context(), []workload{w, late, other}, settings{rounds: inTurn + 1, atLeast: time.Microsecond, maxSize: 10},
		func(w workload, first, last int) { told = append(told, fmt.Sprintf("%s %d-%d", w.name, first, last)) })
	require.NoError(t, err)
	turns := func(a, b, c int) string {
		return strings.Repeat(" afloor1 aweft1 afloor10", a) + strings.Repeat(" bfloor10", b) + strings.Repeat(" cfloor10", c)
	}
	assert.Equal(t, turns(1+inTurn, 1+inTurn, 0)+turns(1, 0, inTurn+2), " "+strings.Join(order, " "))
	assert.Equal(t, []string{"a 1-3", "b 1-3", "a 4-4", "c 1-3", "c 4-4"}, told)
	for i, want := range []struct{ cells, samples int }{{3, inTurn + 1}, {1, inTurn + 1}, {1, inTurn}} {
		assert.Len(t, all[i], want.cells)
		assert.Len(t, all[i][cell{floor, 10}], want.samples)
	}
}

// TestLimitStopsSlowSamples checks that a sample beyond its limit is infinitely slow,
// and that it is measured only once.
func TestLimitStopsSlowSamples(t *testing.T) {
	t.Parallel()
	setUps := 0
	w := workload{
		sizes: []int{1}, limit: time.Millisecond,
		verify: func(workload, int, outcome) error { return nil },
		contestants: []contestant{{name: weft, setUp: func(context.Context, workload, int) (subject, error) {
			setUps++
			return subject{run: func(ctx context.Context) (outcome, error) {
				<-ctx.Done()
				return outcome{}, ctx.Err()
			}}, nil
		}}},
	}
	all, err := measure(t.Context(), []workload{w}, settings{rounds: 3}, func(workload, int, int) {})
	require.NoError(t, err)
	assert.Equal(t, 1, setUps)
	got, ok := all[0].median(cell{weft, 1})
	assert.True(t, ok)
	assert.True(t, math.IsInf(got.ns, 1))
}
