package howto_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/checkpointtest"
	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/llmtest"
	"github.com/weft-go/weft/state"
	"github.com/weft-go/weft/tools"
)

// docs:begin store
// countingStore counts the checkpoints that it passes on to another store. The embedded Store has
// the other methods.
type countingStore struct {
	checkpoint.Store
	puts *atomic.Int64
}

// Put implements checkpoint.Store.
func (s *countingStore) Put(ctx context.Context, c checkpoint.Checkpoint, head string) error {
	s.puts.Add(1)
	return s.Store.Put(ctx, c, head)
}

// Lease implements checkpoint.Leaser. A run writes through its lease, so the lease counts too.
func (s *countingStore) Lease(ctx context.Context, thread string) (checkpoint.Lease, error) {
	leaser, ok := s.Store.(checkpoint.Leaser)
	if !ok {
		return nil, errors.ErrUnsupported
	}
	lease, err := leaser.Lease(ctx, thread)
	if err != nil {
		return nil, err
	}
	return &countingLease{countingStore{lease, s.puts}, lease}, nil
}

type countingLease struct {
	countingStore
	lease checkpoint.Lease
}

// Release implements checkpoint.Lease.
func (l *countingLease) Release(ctx context.Context) error { return l.lease.Release(ctx) }

// TestStore runs the cases that every store has to pass.
func TestStore(t *testing.T) {
	t.Parallel()
	checkpointtest.Run(t, func(testing.TB) checkpoint.Store {
		return &countingStore{memcheckpoint.New(memcheckpoint.Options{}), new(atomic.Int64)}
	})
}

// docs:end

func Example_addAStore() {
	store := &countingStore{memcheckpoint.New(memcheckpoint.Options{}), new(atomic.Int64)}
	topic := state.Last[string]("topic")
	b := graph.New("note", topic)
	b.Node("nothing", func(context.Context, state.View) (state.Update, error) { return nil, nil })
	b.Edge(graph.Start, "nothing")
	g := must(b.Compile(graph.Options{Checkpoints: store}))
	must(g.Thread("1").Invoke(context.Background(), topic.Put("tea")))
	fmt.Println(store.puts.Load(), "checkpoints")
	// Output: 2 checkpoints
}

// docs:begin test-agent
// newShop returns the agent under test. The model is an argument, so that a test can pass a script.
func newShop(model llm.Model) (*graph.Graph, error) {
	price := tools.New("price", "Returns the price of an article in euros.",
		func(_ context.Context, in struct {
			Article string `json:"article"`
		},
		) (int, error) {
			if in.Article != "cup" {
				return 0, errors.New("there is no such article")
			}
			return 4, nil
		})
	set, err := tools.NewSet(price)
	if err != nil {
		return nil, err
	}
	return agent.New("shop", model, set, agent.Options{System: "You sell cups."})
}

func TestShopTellsThePrice(t *testing.T) {
	t.Parallel()
	model := llmtest.NewScript(llmtest.Call("price", `{"article":"cup"}`), llmtest.Say("A cup costs 4 euros."))
	shop, err := newShop(model)
	require.NoError(t, err)
	snap, err := shop.Invoke(t.Context(), agent.Messages.Put(llm.User("What is a cup?")))
	require.NoError(t, err)

	messages := agent.Messages.Get(snap)
	require.Equal(t, "4", messages[2].Text(), "the result of the tool")
	require.Equal(t, agent.Answered, agent.Result.Get(snap).Reason)
	require.Equal(t, "You sell cups.", model.Requests()[0].Messages[0].Text(), "what the model was sent")
}

// docs:end

// A run ends when its context is cancelled. Finished supersteps stay stored.
func Example_cancel() {
	ctx, cancel := context.WithCancel(context.Background())
	text := state.Append[string]("text")
	b := graph.New("report", text)
	b.Node("first", func(context.Context, state.View) (state.Update, error) {
		return state.Update{text.Put("first")}, nil
	})
	b.Node("slow", func(ctx context.Context, _ state.View) (state.Update, error) {
		if ctx.Value(restarted{}) != nil {
			return state.Update{text.Put("second")}, nil
		}
		cancel()     // a person clicks on Stop
		<-ctx.Done() // a model, a query or a request ends here
		return nil, ctx.Err()
	})
	b.Edge(graph.Start, "first")
	b.Edge("first", "slow")
	g := must(b.Compile(graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})}))

	snap, err := g.Thread("1").Invoke(ctx, graph.Begin())
	fmt.Println(text.Get(snap), errors.Is(err, context.Canceled))

	again := context.WithValue(context.Background(), restarted{}, true)
	snap, err = g.Thread("1").Invoke(again) // no input: the run resumes
	fmt.Println(text.Get(snap), err)
	// Output:
	// [first] true
	// [first second] <nil>
}

type restarted struct{}

// endWith returns a middleware that ends the contexts of nodes when another context ends too.
func endWith(hard context.Context) graph.Middleware {
	return func(next graph.NodeFunc) graph.NodeFunc {
		return func(ctx context.Context, s state.View) (state.Update, error) {
			ctx, cancel := context.WithCancelCause(ctx)
			defer cancel(nil)
			defer context.AfterFunc(hard, func() { cancel(context.Cause(hard)) })()
			return next(ctx, s)
		}
	}
}

// A run that drains has a time limit. After the limit, the context of its slow node ends.
func Example_drainWithTimeLimit() {
	hard, stop := context.WithCancel(context.Background())
	ctx, drain := context.WithCancelCause(context.Background())
	text := state.Append[string]("text")
	b := graph.New("report", text)
	b.Node("slow", func(ctx context.Context, _ state.View) (state.Update, error) {
		if ctx.Value(restarted{}) != nil {
			return state.Update{text.Put("done")}, nil
		}
		drain(graph.ErrDrained)                // the process gets SIGTERM, and this node still runs
		time.AfterFunc(time.Millisecond, stop) // usually some seconds
		<-ctx.Done()                           // a model, a query or a request ends here
		return nil, ctx.Err()
	})
	b.Node("next", func(context.Context, state.View) (state.Update, error) {
		return state.Update{text.Put("next")}, nil
	})
	b.Edge(graph.Start, "slow")
	b.Edge("slow", "next")
	store := memcheckpoint.New(memcheckpoint.Options{}) // processes share a file or a database
	g := must(b.Compile(graph.Options{Checkpoints: store, Middleware: []graph.Middleware{endWith(hard)}}))

	snap, err := g.Thread("1").Invoke(ctx, graph.Begin())
	fmt.Println(errors.Is(err, context.Canceled), snap.Tasks[0].Err) // the failure is stored

	again := must(b.Compile(graph.Options{Checkpoints: store})) // the next process
	snap, err = again.Thread("1").Invoke(context.WithValue(context.Background(), restarted{}, true))
	fmt.Println(text.Get(snap), err)
	// Output:
	// true node "slow": context canceled
	// [done next] <nil>
}

// Tenants and users are separated by the id of the thread.
func Example_threadsOfTenants() {
	ctx := context.Background()
	notes := state.Append[string]("notes")
	b := graph.New("notes", notes)
	b.Node("nothing", func(context.Context, state.View) (state.Update, error) { return nil, nil })
	b.Edge(graph.Start, "nothing")
	g := must(b.Compile(graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})}))

	thread := func(tenant, user, name string) *graph.Thread { // tenant and user come from a verified token
		return g.Thread(url.PathEscape(tenant) + "/" + url.PathEscape(user) + "/" + url.PathEscape(name))
	}
	must(thread("acme", "ann", "1").Invoke(ctx, notes.Put("a secret")))
	must(thread("acme/ann", "1", "").Invoke(ctx, notes.Put("a secret of another tenant")))
	snap := must(thread("acme", "ann", "1/").Invoke(ctx, notes.Put("hello")))
	fmt.Println(notes.Get(snap))
	// Output: [hello]
}
