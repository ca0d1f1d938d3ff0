package howto_test

import (
	"context"
	"fmt"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

var (
	Topic   = state.Last[string]("topic")
	Letter  = state.Last[string]("letter")
	Approve = graph.NewInterrupt[string, bool]("approve")
)

func write(_ context.Context, s state.View) (state.Update, error) {
	return state.Update{Letter.Put("Dear Ann, about " + Topic.Get(s))}, nil
}

// docs:begin home
// send waits for a person, for days if necessary.
func send(ctx context.Context, s state.View) (state.Update, error) {
	ok, err := Approve.Wait(ctx, Letter.Get(s))
	return state.Update{Letter.Put(fmt.Sprint("sent: ", ok))}, err
}

func build(store checkpoint.Store) (*graph.Graph, error) {
	b := graph.New("letters", Topic, Letter)
	b.Node("write", write)
	b.Node("send", send)
	b.Edge(graph.Start, "write")
	b.Edge("write", "send")
	return b.Compile(graph.Options{Checkpoints: store})
}

// docs:end

// The program on the home page of the site.
func Example_home() {
	ctx := context.Background()
	g := must(build(memcheckpoint.New(memcheckpoint.Options{})))
	snap := must(g.Thread("ann").Invoke(ctx, Topic.Put("tea")))
	snap = must(g.Thread("ann").Invoke(ctx, Approve.Answer(snap.Pauses[0].ID, true)))
	fmt.Println(Letter.Get(snap))
	// Output: sent: true
}
