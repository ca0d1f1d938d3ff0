package howto_test

import (
	"context"
	"fmt"

	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

// The program on the home page of the site.
func Example_home() {
	ctx := context.Background()
	store := memcheckpoint.New(memcheckpoint.Options{})
	// docs:begin home
	// Typed channels, and a question.
	Topic, Letter := state.Last[string]("topic"), state.Last[string]("letter")
	Approve := graph.NewInterrupt[string, bool]("approve")

	b := graph.New("letters", Topic, Letter)
	b.Node("write", func(ctx context.Context, s state.View) (state.Update, error) {
		return state.Update{Letter.Put("Dear Ann, about " + Topic.Get(s))}, nil
	})
	b.Node("send", func(ctx context.Context, s state.View) (state.Update, error) {
		ok, err := Approve.Wait(ctx, Letter.Get(s)) // pauses the run
		return state.Update{Letter.Put(fmt.Sprint("sent: ", ok))}, err
	})
	b.Edge(graph.Start, "write")
	b.Edge("write", "send")
	g := must(b.Compile(graph.Options{Checkpoints: store}))
	snap := must(g.Thread("ann").Invoke(ctx, Topic.Put("tea")))

	// Next week, in another process:
	id := snap.Pauses[0].ID
	snap = must(g.Thread("ann").Invoke(ctx, Approve.Answer(id, true)))
	// docs:end
	fmt.Println(Letter.Get(snap))
	// Output: sent: true
}
