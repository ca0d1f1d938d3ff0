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

// pauseMemory and pauseSQLite measure what an interrupt, its storage and its
// resume add to a thread of 11 supersteps. The floor is the thread without a
// pause.
var (
	pauseMemory = pausing("P-memory", "a pause, stored in memory", inMemory)
	pauseSQLite = pausing("P-sqlite", "a pause, stored in SQLite", inSQLite)
)

func pausing(name, what string, kept storing) workload {
	return workload{
		name:    name,
		what:    what,
		unit:    "superstep",
		sizes:   []int{pauseSteps},
		payload: text64,
		verify:  verifyLoop,
		contestants: []contestant{
			{name: floor, setUp: func(ctx context.Context, w workload, n int) (subject, error) {
				return kept(ctx, n, weftStep(w.payload), newThreads)
			}},
			{name: weft, setUp: func(ctx context.Context, w workload, n int) (subject, error) {
				return kept(ctx, n, askingStep(w.payload), newAskingThreads)
			}},
		},
		targets: func(r results) []target {
			return []target{{
				n: pauseSteps, bound: 2, text: "a pause <= 2 supersteps",
				got: pauseSteps * (ratio(r, cell{weft, pauseSteps}, cell{floor, pauseSteps}, perUnit) - 1),
			}}
		},
	}
}

// Approve is the question that the asking thread stops at.
var Approve = graph.NewInterrupt[int, bool]("approve")

// askingStep is the loop's step, which asks once.
func askingStep(p payload) graph.NodeFunc {
	step := weftStep(p)
	return func(ctx context.Context, s state.View) (state.Update, error) {
		if at := Count.Get(s); at == pauseAt {
			yes, err := Approve.Wait(ctx, at)
			if err != nil {
				return nil, err
			}
			if !yes {
				return nil, errors.New("was told no")
			}
		}
		return step(ctx, s)
	}
}

// newAskingThreads returns a run that begins a new thread each time, and answers
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
