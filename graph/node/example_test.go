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

// The policy retries the login while the server is busy. It does not retry after a
// wrong password.
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

// Retry around Timeout gives every attempt its own timeout. The first attempt receives
// no reply, and the second one succeeds.
func ExampleRetry_timeout() {
	answer := state.Last[string]("answer")
	call := func(ctx context.Context, attempt int) (string, error) {
		if attempt == 1 {
			<-ctx.Done() // the server does not reply
			return "", ctx.Err()
		}
		return "42", nil
	}
	ask := func(ctx context.Context, _ state.View) (state.Update, error) {
		at, _ := graph.FromContext(ctx)
		text, err := call(ctx, at.Attempt)
		if err != nil {
			return nil, err
		}
		return state.Update{answer.Put(text)}, nil
	}
	policy := node.RetryPolicy{Attempts: 2, Initial: time.Millisecond}

	b := graph.New("client", answer)
	b.Node("ask", node.Retry(policy, node.Timeout(10*time.Millisecond, ask)))
	b.Edge(graph.Start, "ask")
	g, err := b.Compile(graph.Options{})
	if err != nil {
		log.Fatal(err)
	}

	snap, err := g.Invoke(context.Background())
	fmt.Println(answer.Get(snap), err)
	// Output: 42 <nil>
}

// Timeout ends the context of the node, and the node must then return.
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

// The duration of the download has no limit, but no more than 20 milliseconds may pass
// between two parts.
func ExampleIdleTimeout() {
	b := graph.New("download")
	b.Node("fetch", node.IdleTimeout(20*time.Millisecond, func(ctx context.Context, _ state.View) (state.Update, error) {
		for _, part := range []string{"first", "second"} {
			fmt.Println("got the", part, "part")
			node.Heartbeat(ctx)
		}
		<-ctx.Done() // the server sends no more parts
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

// A long computation calls Heartbeat so that its idle timeout does not end it.
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

// The node may run for ten minutes, and must call Heartbeat every 20 milliseconds.
// Emitted tokens do not count as heartbeats.
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

// The node looks up each customer once. The cache answers the second lookup of the same
// customer.
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

// A SharedCache has a maximum size. Several nodes can share it, and Clear empties it.
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

// Limit allows only one task at a time to use the printer, over all threads.
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

// If the node fails, the handler keeps the old price and marks it as stale.
func ExampleRecover() {
	price := state.Last[int]("price").Default(func() int { return 99 })
	stale := state.Last[bool]("stale")

	b := graph.New("shop", price, stale)
	fetch := func(context.Context, state.View) (state.Update, error) {
		return nil, errors.New("no route to host")
	}
	keep := func(_ context.Context, _ state.View, err error) (state.Update, error) {
		fmt.Println("kept the old price:", err)
		return state.Update{stale.Put(true)}, nil
	}
	b.Node("fetch", node.Recover(keep, fetch))
	b.Edge(graph.Start, "fetch")
	g, err := b.Compile(graph.Options{})
	if err != nil {
		log.Fatal(err)
	}

	snap, err := g.Invoke(context.Background())
	fmt.Println(price.Get(snap), stale.Get(snap), err)
	// Output:
	// kept the old price: no route to host
	// 99 true <nil>
}
