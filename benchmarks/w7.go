package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"sync"
	"time"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

const (
	streams       = 400
	tokenInterval = 5 * time.Millisecond
	// w7Tokens is the number of tokens of all streams in 2 s.
	w7Tokens = streams * 400
	// onThread is weft with every stream on a thread that is stored in memory.
	onThread = "thread"
)

// w7 reads 400 streams at once, each with a token every 5 ms for 2 s, and measures
// processor time per token. The floor sends the tokens of each stream through one
// unbuffered channel.
var w7 = workload{
	name:          "W7",
	what:          "400 slow streams at once, processor time",
	unit:          "token",
	sizes:         []int{w7Tokens},
	last:          true,
	warm:          true,
	rounds:        inTurn,
	processorTime: true,
	verify:        verifyCount,
	contestants: []contestant{
		{name: floor, setUp: w7Floor},
		{name: weft, setUp: w7Weft},
		{name: onThread, setUp: w7Thread},
	},
	targets: func(r results) []target {
		thread := ratio(r, cell{onThread, w7Tokens}, cell{floor, w7Tokens}, timeOf)
		return []target{
			timesFloor(r, w7Tokens, 1.3),
			{n: w7Tokens, text: "<= 1.3 x floor, on a thread", got: thread, bound: 1.3},
		}
	},
}

// everyToken calls emit for the tokens of one stream, one at each tick.
func everyToken(tokens int, emit func(i int)) {
	ticks := time.NewTicker(tokenInterval)
	defer ticks.Stop()
	for i := range tokens {
		<-ticks.C
		emit(i)
	}
}

// readStreams runs all streams at once. The function read returns the number of tokens
// that the i-th stream delivered in order.
func readStreams(read func(i int) (int, error)) (o outcome, err error) {
	got := make([]int, streams)
	failed := make([]error, streams)
	var wg sync.WaitGroup
	for i := range streams {
		wg.Go(func() { got[i], failed[i] = read(i) })
	}
	wg.Wait()
	for _, tokens := range got {
		o.count += tokens
	}
	return o, errors.Join(failed...)
}

func w7Floor(_ context.Context, _ workload, n int) (subject, error) {
	return subject{run: func(context.Context) (outcome, error) {
		return readStreams(func(int) (tokens int, err error) {
			events := make(chan any)
			go func() {
				defer close(events)
				everyToken(n/streams, func(i int) { events <- i })
			}()
			for event := range events {
				if event == tokens {
					tokens++
				}
			}
			return tokens, nil
		})
	}}, nil
}

func w7Weft(_ context.Context, _ workload, n int) (subject, error) {
	g, err := compileTokens(n/streams, graph.Options{})
	if err != nil {
		return subject{}, err
	}
	return subject{run: func(ctx context.Context) (outcome, error) {
		return readStreams(func(int) (int, error) { return countTokens(g.Stream(ctx)) })
	}}, nil
}

func w7Thread(_ context.Context, _ workload, n int) (subject, error) {
	g, err := compileTokens(n/streams, graph.Options{Checkpoints: newMemoryStore()})
	if err != nil {
		return subject{}, err
	}
	runs := 0
	return subject{run: func(ctx context.Context) (outcome, error) {
		runs++
		return readStreams(func(i int) (int, error) {
			return countTokens(g.Thread(strconv.Itoa(runs*streams+i)).Stream(ctx, graph.Begin()))
		})
	}}, nil
}

// countTokens reads a stream to its end and counts the tokens that come in order.
func countTokens(events iter.Seq2[graph.Event, error]) (tokens int, err error) {
	ended := false
	for event, err := range events {
		if err != nil {
			return tokens, err
		}
		switch event := event.(type) {
		case graph.Emitted:
			if event.Value == tokens {
				tokens++
			}
		case graph.RunEnded:
			ended = Count.Get(event.Snapshot) == 1
		}
	}
	if !ended {
		return tokens, fmt.Errorf("the stream ended without the final state after %d tokens", tokens)
	}
	return tokens, nil
}

// compileTokens builds a graph of one node, which emits the tokens of one stream.
func compileTokens(tokens int, opts graph.Options) (*graph.Graph, error) {
	b := graph.New("tokens", Count)
	b.Node("agent", func(ctx context.Context, _ state.View) (state.Update, error) {
		everyToken(tokens, func(i int) { graph.Emit(ctx, i) })
		return state.Update{Count.Put(1)}, nil
	})
	b.Edge(graph.Start, "agent")
	b.Edge("agent", graph.End)
	return b.Compile(opts)
}
