package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestWorkloads runs every contestant of every workload once at its smallest
// size: each must end in the state that the workload asks for.
func TestWorkloads(t *testing.T) {
	t.Parallel()
	for _, w := range workloads {
		for _, c := range w.contestants {
			t.Run(w.name+"/"+c.name, func(t *testing.T) {
				t.Parallel()
				got, _, err := measureOnce(t.Context(), w, c, w.sizes[0], 2, 0)
				if err != nil {
					t.Fatal(err)
				}
				if got.ns <= 0 {
					t.Errorf("got %v ns, want more than 0", got.ns)
				}
			})
		}
	}
}

// TestWrongOutcomes spoils outcomes: each workload must notice.
func TestWrongOutcomes(t *testing.T) {
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
						f(&o)
						return o, err
					}
					return s, err
				}}
				_, _, err := measureOnce(t.Context(), w, spoiled, w.sizes[0], 1, 0)
				if err == nil || !strings.Contains(err.Error(), "wrong final state") {
					t.Errorf("got %v, want a wrong final state", err)
				}
			})
		}
	}
}

// TestEveryContestantIsMeasured checks that workloads take turns, but those
// that crowd come last, and that sizes beyond a limit and those which a contestant
// does not do are left out.
func TestEveryContestantIsMeasured(t *testing.T) {
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
	crowd, other := w, w
	crowd.name, crowd.sizes, crowd.crowds = "c", []int{10}, true
	other.name, other.sizes = "b", []int{10}
	var told []string
	all, err := measure(t.Context(), []workload{w, crowd, other}, settings{rounds: inTurn + 1, atLeast: time.Microsecond, maxSize: 10},
		func(w workload, first, last int) { told = append(told, fmt.Sprintf("%s %d-%d", w.name, first, last)) })
	if err != nil {
		t.Fatal(err)
	}
	turn := func(rounds int) string {
		return strings.Repeat(" afloor1 aweft1 afloor10", rounds) + strings.Repeat(" bfloor10", rounds)
	}
	if got, want := " "+strings.Join(order, " "), turn(1+inTurn)+turn(1)+strings.Repeat(" cfloor10", inTurn+2); got != want {
		t.Errorf("order: got %q, want %q", got, want)
	}
	if want := []string{"a 1-5", "b 1-5", "a 6-6", "b 6-6", "c 1-5", "c 6-6"}; !slices.Equal(told, want) {
		t.Errorf("told of %q, want %q", told, want)
	}
	for i, cells := range []int{3, 1, 1} {
		if len(all[i]) != cells || len(all[i][cell{floor, 10}]) != inTurn+1 {
			t.Errorf("got %d cells, with %d samples, want %d with %d: %v", len(all[i]), len(all[i][cell{floor, 10}]), cells, inTurn+1, all[i])
		}
	}
}
