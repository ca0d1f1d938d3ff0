// Program example runs an order on Temporal. It needs nothing else: the server of Temporal is in the
// process, and its data is in memory.
//
//	go run ./example
//
// The items of the order are checked as activities of their own. The price needs an approval, which
// nobody gives, so the question gets its default answer after three seconds.
package main

import (
	"context"
	"fmt"
	"log"
	"log/slog"
	"os"
	"time"

	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/server/temporaltest"

	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
	"github.com/weft-go/weft/temporal"
)

var (
	items   = state.Append[string]("items")
	prices  = state.Sum[int]("prices")
	result  = state.Last[string]("result")
	approve = graph.NewInterrupt[int, bool]("approve")
)

func main() {
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	warnings := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))
	server := temporaltest.NewServer(temporaltest.WithBaseClientOptions(client.Options{Logger: sdklog.NewStructuredLogger(warnings)}))
	defer server.Stop()
	c := server.GetDefaultClient() // in production: client.Dial

	g, err := orderGraph(temporal.NewExecutor(c, temporal.ExecutorOptions{FanOut: 2}))
	if err != nil {
		return err
	}
	// docs:begin run
	worker, err := temporal.NewWorker(c, temporal.WorkerOptions{
		Graphs: []*graph.Graph{g},
		Deadlines: []temporal.Deadline{temporal.NewDeadline(approve, func(price int) (time.Duration, bool) {
			return 3 * time.Second, price < 1000
		})},
	})
	if err != nil {
		return err
	}
	if err := worker.Start(); err != nil {
		return err
	}
	defer worker.Stop()

	thread := temporal.NewClient(c, temporal.Options{}).Thread(g, "order-42")
	for snap, err := range thread.Stream(ctx, items.Put("lamp", "desk", "chair")) {
		if err != nil {
			return err
		}
		fmt.Printf("step %d: prices %d, next %v\n", snap.Step, prices.Get(snap), snap.Next)
	}
	// docs:end
	status, err := thread.Status(ctx)
	if err != nil {
		return err
	}
	for _, d := range status.Deadlines {
		fmt.Printf("the question %s waits until %s\n", d.Interrupt, d.At.Format(time.TimeOnly))
	}
	for {
		snap, err := thread.Snapshot(ctx)
		if err != nil {
			return err
		}
		if snap.Done() {
			fmt.Println("the order is", result.Get(snap))
			return nil
		}
		<-time.After(100 * time.Millisecond)
	}
}

func orderGraph(executor *graph.Executor) (*graph.Graph, error) {
	b := graph.New("order", items, prices, result)
	b.Node("split", func(_ context.Context, v state.View) (state.Update, error) {
		var update state.Update
		for _, one := range items.Get(v) {
			update = append(update, graph.Send("check", items.Put(one)))
		}
		return update, nil
	})
	b.Node("check", func(_ context.Context, v state.View) (state.Update, error) {
		return state.Update{prices.Put(50 * len(items.Get(v)[0]))}, nil
	})
	b.Node("decide", func(ctx context.Context, v state.View) (state.Update, error) {
		ok, err := approve.Wait(ctx, prices.Get(v))
		if err != nil {
			return nil, err
		}
		if !ok {
			return state.Update{result.Put("refused")}, nil
		}
		return state.Update{result.Put("accepted")}, nil
	})
	b.Edge(graph.Start, "split")
	b.Destinations("split", "check")
	b.Edge("check", "decide")
	return b.Compile(graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{}), Executor: executor})
}
