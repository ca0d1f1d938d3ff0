package main

import (
	"context"
	"fmt"

	"github.com/cloudwego/eino/callbacks"
	"github.com/cloudwego/eino/compose"

	"github.com/weft-go/weft/graph"
)

// loop is W1 by weft, measured in the same rounds as W6.
const loop = "weft W1"

// w6 is W1 with every event read from the stream. The floor sends one event a superstep
// through a Go channel and does no other work.
var w6 = workload{
	name:    "W6",
	what:    "agent loop, every event read",
	unit:    "superstep",
	sizes:   []int{1001},
	payload: text64,
	verify:  verifyLoop,
	contestants: []contestant{
		{name: floor, setUp: w6Floor},
		{name: eino, setUp: w6Eino},
		{name: weft, setUp: w6Weft},
		{name: loop, setUp: w1Weft},
	},
	targets: func(r results) []target {
		const n = 1001
		above := r.paired(func(round ...sample) float64 {
			stream, own, through := round[0], round[1], round[2]
			return (stream.ns - own.ns) / through.ns
		}, cell{weft, n}, cell{loop, n}, cell{floor, n})
		return []target{
			{n: n, text: "above W1's own cost <= 6 x floor", got: above, bound: 6},
			ofEino(r, n, 0.3),
		}
	},
}

// A floorEvent is an event of the floor.
type floorEvent struct {
	step    int
	node    string
	message string
}

func w6Floor(_ context.Context, w workload, n int) (subject, error) {
	return subject{run: func(context.Context) (o outcome, err error) {
		events := make(chan floorEvent, 1)
		go func() {
			defer close(events)
			for i := range n {
				events <- floorEvent{step: i, node: "agent", message: w.payload.at(i)}
			}
		}()
		for e := range events {
			o.messages = append(o.messages, e.message)
			o.count++
		}
		return o, nil
	}}, nil
}

// An einoEvent is the start or the end of a component.
type einoEvent struct {
	info  *callbacks.RunInfo
	ended bool
}

// einoEvents returns a handler that sends the events of eino through a channel.
func einoEvents(events chan<- einoEvent) callbacks.Handler {
	return callbacks.NewHandlerBuilder().
		OnStartFn(func(ctx context.Context, info *callbacks.RunInfo, _ callbacks.CallbackInput) context.Context {
			events <- einoEvent{info: info}
			return ctx
		}).
		OnEndFn(func(ctx context.Context, info *callbacks.RunInfo, _ callbacks.CallbackOutput) context.Context {
			events <- einoEvent{info: info, ended: true}
			return ctx
		}).
		Build()
}

func w6Eino(ctx context.Context, w workload, n int) (subject, error) {
	g, err := einoLoop(ctx, einoPointers(w.payload, n))
	if err != nil {
		return subject{}, err
	}
	return subject{run: func(ctx context.Context) (o outcome, err error) {
		events := make(chan einoEvent, 64)
		go func() {
			defer close(events)
			var s *einoState
			if s, err = g.Invoke(ctx, nil, compose.WithCallbacks(einoEvents(events))); err == nil {
				o.messages = s.Messages
			}
		}()
		for e := range events {
			if e.ended && e.info.Component == compose.ComponentOfLambda {
				o.count++
			}
		}
		return o, err
	}}, nil
}

func w6Weft(_ context.Context, w workload, n int) (subject, error) {
	g, err := weftLoop(w.payload, n, graph.Options{})
	if err != nil {
		return subject{}, err
	}
	return subject{run: func(ctx context.Context) (o outcome, err error) {
		steps := 0
		for event, err := range g.Stream(ctx) {
			if err != nil {
				return outcome{}, err
			}
			switch event := event.(type) {
			case graph.TaskFinished:
				steps++
			case graph.RunEnded:
				o = fromSnapshot(event.Snapshot)
			}
		}
		if steps != o.count {
			return outcome{}, fmt.Errorf("the stream had events of %d steps of %d", steps, o.count)
		}
		return o, nil
	}}, nil
}
