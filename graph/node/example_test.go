package node_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"sync/atomic"
	"time"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/node"
	"github.com/weft-go/weft/state"
)

// Busy is worth another attempt, a wrong password is not.
func ExampleRetry() {
	errBusy := errors.New("busy")
	policy := node.RetryPolicy{
		Attempts: 4,
		Initial:  time.Millisecond,
		If:       func(err error) bool { return errors.Is(err, errBusy) },
	}

	b := graph.New("mailbox")
	b.Node("login", node.Retry(policy, func(ctx context.Context, _ state.View) (state.Update, error) {
		at, _ := graph.FromContext(ctx)
		fmt.Println("attempt", at.Attempt)
		if at.Attempt < 3 {
			return nil, errBusy
		}
		return nil, errors.New("wrong password")
	}))
	b.Edge(graph.Start, "login")
	g, err := b.Compile(graph.Options{})
	if err != nil {
		log.Fatal(err)
	}

	_, err = g.Invoke(context.Background())
	fmt.Println(err)
	// Output:
	// attempt 1
	// attempt 2
	// attempt 3
	// graph "mailbox": node "login", attempt 3: wrong password
}

// The node is given up when its time is over; it has to heed its context.
func ExampleTimeout() {
	query := func(ctx context.Context) error {
		<-ctx.Done() // a database that does not answer
		return ctx.Err()
	}

	b := graph.New("report")
	b.Node("query", node.Timeout(10*time.Millisecond, func(ctx context.Context, _ state.View) (state.Update, error) {
		return nil, query(ctx)
	}))
	b.Edge(graph.Start, "query")
	g, err := b.Compile(graph.Options{})
	if err != nil {
		log.Fatal(err)
	}

	_, err = g.Invoke(context.Background())
	fmt.Println(errors.Is(err, graph.ErrTimeout))
	fmt.Println(err)
	// Output:
	// true
	// graph "report": node "query": timed out after 10ms
}

// A download may take long, as long as something arrives.
func ExampleIdleTimeout() {
	b := graph.New("download")
	b.Node("fetch", node.IdleTimeout(20*time.Millisecond, func(ctx context.Context, _ state.View) (state.Update, error) {
		for _, part := range []string{"first", "second"} {
			fmt.Println("got the", part, "part")
			node.Heartbeat(ctx)
		}
		<-ctx.Done() // nothing more comes
		return nil, ctx.Err()
	}))
	b.Edge(graph.Start, "fetch")
	g, err := b.Compile(graph.Options{})
	if err != nil {
		log.Fatal(err)
	}

	_, err = g.Invoke(context.Background())
	fmt.Println(err)
	// Output:
	// got the first part
	// got the second part
	// graph "download": node "fetch": timed out: no sign of life for 20ms
}

// Long work tells its timeout that it is alive.
func ExampleHeartbeat() {
	rows := state.Sum[int]("rows")

	b := graph.New("import", rows)
	b.Node("load", node.IdleTimeout(time.Minute, func(ctx context.Context, _ state.View) (state.Update, error) {
		n := 0
		for range 5 {
			n += 200 // a batch that takes half a minute
			node.Heartbeat(ctx)
		}
		return state.Update{rows.Put(n)}, nil
	}))
	b.Edge(graph.Start, "load")
	g, err := b.Compile(graph.Options{})
	if err != nil {
		log.Fatal(err)
	}

	snap, err := g.Invoke(context.Background())
	fmt.Println(rows.Get(snap), err)
	// Output: 1000 <nil>
}

// At most ten minutes, and never silent for 20 milliseconds. Tokens that are
// emitted do not count here.
func ExampleTimeoutPolicy_Wrap() {
	policy := node.TimeoutPolicy{Run: 10 * time.Minute, Idle: 20 * time.Millisecond, HeartbeatOnly: true}

	b := graph.New("agent")
	b.Node("think", policy.Wrap(func(ctx context.Context, _ state.View) (state.Update, error) {
		for ctx.Err() == nil {
			graph.Emit(ctx, "hmm ")
		}
		return nil, ctx.Err()
	}))
	b.Edge(graph.Start, "think")
	g, err := b.Compile(graph.Options{})
	if err != nil {
		log.Fatal(err)
	}

	_, err = g.Invoke(context.Background())
	fmt.Println(err)
	// Output: graph "agent": node "think": timed out: no sign of life for 20ms
}

// Two customers, two lookups, however often they are asked for.
func ExampleCache() {
	customer := state.Last[string]("customer")
	address := state.Last[string]("address")
	policy := node.CachePolicy{TTL: time.Hour}

	b := graph.New("geo", customer, address)
	b.Node("locate", node.Cache(customer.Get, policy, func(_ context.Context, s state.View) (state.Update, error) {
		fmt.Println("looking up", customer.Get(s))
		return state.Update{address.Put(customer.Get(s) + " street 1")}, nil
	}))
	b.Edge(graph.Start, "locate")
	g, err := b.Compile(graph.Options{})
	if err != nil {
		log.Fatal(err)
	}

	for _, name := range []string{"ana", "bo", "ana"} {
		snap, err := g.Invoke(context.Background(), customer.Put(name))
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(address.Get(snap))
	}
	// Output:
	// looking up ana
	// ana street 1
	// looking up bo
	// bo street 1
	// ana street 1
}

// A cache of one's own can be bounded, shared by nodes, and emptied.
func ExampleSharedCache_Clear() {
	rate := state.Last[int]("rate")
	rates := node.NewSharedCache(100)
	currency := func(state.View) string { return "EUR" }
	today := 7

	b := graph.New("rates", rate)
	b.Node("fetch", node.Cache(currency, node.CachePolicy{Cache: rates}, func(context.Context, state.View) (state.Update, error) {
		return state.Update{rate.Put(today)}, nil
	}))
	b.Edge(graph.Start, "fetch")
	g, err := b.Compile(graph.Options{})
	if err != nil {
		log.Fatal(err)
	}

	for day := range 3 {
		if day == 2 {
			rates.Clear()
		}
		snap, err := g.Invoke(context.Background())
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(rate.Get(snap))
		today++
	}
	// Output:
	// 7
	// 7
	// 9
}

// The printer takes one job at a time, from however many threads.
func ExampleLimit() {
	printed := state.Sum[int]("printed")
	var busy, collisions atomic.Int32

	b := graph.New("print", printed)
	b.Node("split", func(context.Context, state.View) (state.Update, error) {
		return state.Update{graph.Send("page"), graph.Send("page"), graph.Send("page")}, nil
	})
	b.Node("page", node.Limit(1, func(context.Context, state.View) (state.Update, error) {
		if busy.Add(1) > 1 {
			collisions.Add(1)
		}
		defer busy.Add(-1)
		return state.Update{printed.Put(1)}, nil
	}))
	b.Edge(graph.Start, "split")
	b.Destinations("split", "page")
	g, err := b.Compile(graph.Options{})
	if err != nil {
		log.Fatal(err)
	}

	snap, err := g.Invoke(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(printed.Get(snap), "pages,", collisions.Load(), "collisions")
	// Output: 3 pages, 0 collisions
}
