package howto_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

// A webhook delivers a request again until it gets a reply. Each request has its own thread, whose
// id is the id of the request.
func Example_requestTwice() {
	order, receipt := state.Last[string]("order"), state.Last[string]("receipt")
	down := true
	b := graph.New("payment", order, receipt)
	b.Node("check", func(_ context.Context, s state.View) (state.Update, error) {
		fmt.Println("check", order.Get(s))
		return nil, nil
	})
	b.Node("pay", func(_ context.Context, s state.View) (state.Update, error) {
		if down {
			return nil, errors.New("the bank is down")
		}
		fmt.Println("pay", order.Get(s))
		return state.Update{receipt.Put("R-1")}, nil
	})
	b.Edge(graph.Start, "check")
	b.Edge("check", "pay")
	g := must(b.Compile(graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})}))

	take := func(request, id string) (string, error) {
		thread := g.Thread(request).With(graph.RunOptions{Conflict: graph.ConflictWait}) // two deliveries may come at the same time
		snap, err := thread.Invoke(context.Background(), graph.Continue(), order.Put(id))
		if err != nil {
			return "", err
		}
		return receipt.Get(snap), nil
	}

	_, err := take("request-1", "A7") // begins the thread
	fmt.Println("failed:", err != nil)
	down = false
	fmt.Println(must(take("request-1", "A7"))) // resumes at the node that failed
	fmt.Println(must(take("request-1", "A7"))) // runs nothing
	// Output:
	// check A7
	// failed: true
	// pay A7
	// R-1
	// R-1
}
