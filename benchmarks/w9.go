package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

// w9 compares a superstep of a long thread with one of a short thread, for each
// durability mode and each kind of channel. The floor is the mean time of the
// supersteps from 500 to 1,500. Weft is the mean time of the supersteps from 10,000 to
// 30,000. Both intervals end at three times their start. So work that recurs whenever
// the state has grown by some factor has the same share in both.
var w9 = longThreads()

// w9Size is the number of supersteps at which the long thread is measured.
const w9Size = 20_000

// An interval is a range of supersteps that is measured.
type interval struct{ from, to int }

var (
	earlySteps = interval{500, 1_500}
	lateSteps  = interval{w9Size / 2, w9Size * 3 / 2}
)

// A growing channel holds one more element after each superstep.
type growing struct {
	name  string
	bound float64
	// channel is the handle. put returns the write of the i-th element, and length the
	// number of elements.
	channel state.Handle
	put     func(i int) state.Write
	length  func(s state.View) int
}

// An item is an element of the keyed channel.
type item struct {
	ID   string `json:"id"`
	Text string `json:"text"`
}

// itemID identifies items.
type itemID struct{}

func (itemID) ID(e item) string { return e.ID }

func (itemID) WithID(e item, id string) item {
	e.ID = id
	return e
}

// The channels of W9, apart from the channels of the loop.
var (
	Items   = state.Keyed("items", itemID{})
	Tags    = state.Set[string]("tags")
	Entries = state.Map[string, string]("entries")
)

var growingChannels = []growing{
	{
		name: "Append", bound: 1.2, channel: Messages, length: Messages.Len,
		put: func(i int) state.Write { return Messages.Put(numbered(i)) },
	},
	{
		name: "Keyed", bound: 1.2, channel: Items, length: Items.Len,
		put: func(i int) state.Write { return Items.Put(item{ID: strconv.Itoa(i), Text: text64.at(i)}) },
	},
	{
		name: "Set", bound: 1.2, channel: Tags, length: Tags.Len,
		put: func(i int) state.Write { return Tags.Put(numbered(i)) },
	},
	{
		name: "Sum", bound: 1.2, channel: Total, length: func(s state.View) int { return Total.Get(s) },
		put: func(int) state.Write { return Total.Put(1) },
	},
	{
		name: "Map", bound: 1.5, channel: Entries, length: func(s state.View) int { return len(Entries.Get(s)) },
		put: func(i int) state.Write { return Entries.Put(map[string]string{strconv.Itoa(i): text64.at(i)}) },
	},
}

// Total is the growing sum of W9. Count counts the supersteps of every case.
var Total = state.Sum[int]("total")

// numbered returns a text of 64 bytes that is different for each number.
func numbered(i int) string {
	number := strconv.Itoa(i)
	return number + strings.Repeat(".", 64-len(number))
}

// longThreads returns a workload for each durability mode and growing channel.
func longThreads() []workload {
	var list []workload
	for _, mode := range []graph.Durability{graph.Sync, graph.Async, graph.Exit} {
		for _, channel := range growingChannels {
			list = append(list, longThread(mode, channel))
		}
	}
	return list
}

func longThread(mode graph.Durability, channel growing) workload {
	during := func(steps interval) func(context.Context, workload, int) (subject, error) {
		return func(_ context.Context, _ workload, n int) (subject, error) {
			return growingThread(n, mode, channel, steps)
		}
	}
	return workload{
		name:   fmt.Sprintf("W9-%v-%s", mode, channel.name),
		what:   "a superstep of a long thread to one of a short thread",
		unit:   "superstep",
		sizes:  []int{w9Size},
		rounds: 2 * inTurn,
		limit:  3 * time.Second,
		verify: verifyCount,
		contestants: []contestant{
			{name: floor, setUp: during(earlySteps)},
			{name: weft, setUp: during(lateSteps)},
		},
		targets: func(r results) []target {
			t := timesFloor(r, w9Size, channel.bound)
			t.text = fmt.Sprintf("<= %v x n=1000", channel.bound)
			return []target{t}
		},
	}
}

// A stopwatch holds the time at which an interval of supersteps began and ended.
type stopwatch struct {
	steps        interval
	began, ended time.Time
}

func (w *stopwatch) at(step int) {
	switch step {
	case w.steps.from:
		w.began = time.Now()
	case w.steps.to:
		w.ended = time.Now()
	}
}

// growingThread makes a subject whose runs are threads in memory. A thread ends after
// the interval steps. Only the interval is measured.
func growingThread(n int, mode graph.Durability, channel growing, steps interval) (subject, error) {
	watch := &stopwatch{steps: steps}
	store := newMemoryStore()
	g, err := compileGrowing(channel, watch, graph.Options{Checkpoints: store, Durability: mode, MaxSteps: maxSteps})
	if err != nil {
		return subject{}, err
	}
	threads := 0
	return subject{run: func(ctx context.Context) (outcome, error) {
		threads++
		thread := g.Thread(strconv.Itoa(threads))
		s, err := thread.Invoke(ctx, graph.Begin())
		if err != nil {
			return outcome{}, err
		}
		if got, want := channel.length(s), steps.to+1; got != want || Count.Get(s) != want {
			return outcome{}, fmt.Errorf("thread %s: got %d elements and %d supersteps, want %d of both", thread.ID(), got, Count.Get(s), want)
		}
		o := outcome{count: n, took: watch.ended.Sub(watch.began), units: steps.to - steps.from}
		return o, store.DeleteThread(ctx, thread.ID())
	}}, nil
}

// compileGrowing builds a graph of one node, which runs until the superstep after
// the measured interval.
func compileGrowing(channel growing, watch *stopwatch, opts graph.Options) (*graph.Graph, error) {
	b := graph.New("growing", channel.channel, Count)
	b.Node("step", func(ctx context.Context, s state.View) (state.Update, error) {
		i := Count.Get(s)
		watch.at(i)
		return state.Update{channel.put(i), Count.Put(1)}, ctx.Err()
	})
	b.Edge(graph.Start, "step")
	b.Branch("step", func(s state.View) (string, error) {
		if Count.Get(s) > watch.steps.to {
			return graph.End, nil
		}
		return "step", nil
	}, "step", graph.End)
	return b.Compile(opts)
}
