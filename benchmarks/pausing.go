package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

const (
	pauseAt    = 5
	pauseSteps = 11
)

// pausing measures the cost of an interrupt, its storage and its resume in a thread of
// 11 supersteps on SQLite. The floor is the same thread without a pause.
var pausing = workload{
	name:    "pausing",
	what:    "an interrupt, its storage in SQLite and its resume",
	unit:    "superstep",
	sizes:   []int{pauseSteps},
	payload: text64,
	verify:  verifyLoop,
	contestants: []contestant{
		{name: floor, setUp: func(ctx context.Context, w workload, n int) (subject, error) {
			return inSQLite(ctx, n, weftStep(w.payload), newThreads)
		}},
		{name: weft, setUp: func(ctx context.Context, w workload, n int) (subject, error) {
			return inSQLite(ctx, n, askingStep(w.payload), newAskingThreads)
		}},
	},
	targets: func(r results) []target {
		return []target{{
			n: pauseSteps, bound: 10, text: "a pause <= 10 supersteps",
			got: pauseSteps * (ratio(r, cell{weft, pauseSteps}, cell{floor, pauseSteps}, timeOf) - 1),
		}}
	},
}

// Approve is the question of the thread that pauses.
var Approve = graph.NewInterrupt[int, bool]("approve")

// askingStep is the node of the loop, and asks one question.
func askingStep(p payload) graph.NodeFunc {
	step := weftStep(p)
	return func(ctx context.Context, s state.View) (state.Update, error) {
		if at := Count.Get(s); at == pauseAt {
			yes, err := Approve.Wait(ctx, at)
			if err != nil {
				return nil, err
			}
			if !yes {
				return nil, errors.New("the answer was no")
			}
		}
		return step(ctx, s)
	}
}

// newAskingThreads returns a function that runs a new thread at each call and answers
// its question.
func newAskingThreads(g *graph.Graph) func(context.Context) (outcome, error) {
	threads := 0
	return func(ctx context.Context) (outcome, error) {
		threads++
		t := g.Thread(strconv.Itoa(threads))
		s, err := t.Invoke(ctx, graph.Begin())
		if err != nil {
			return outcome{}, err
		}
		open, err := Approve.Open(s)
		if err != nil {
			return outcome{}, err
		}
		if len(open) != 1 || open[0].Prompt != pauseAt {
			return outcome{}, fmt.Errorf("open questions: got %v, want one", open)
		}
		if s, err = t.Invoke(ctx, Approve.Answer(open[0].ID, true)); err != nil {
			return outcome{}, err
		}
		return fromSnapshot(s), nil
	}
}
