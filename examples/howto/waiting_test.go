package howto_test

import (
	"context"
	"fmt"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

// The list comes from the store, so the process that asked need not run.
func Example_listWhatWaits() {
	order := state.Last[string]("order")
	approve := graph.NewInterrupt[string, bool]("approve")
	b := graph.New("shop", order)
	b.Node("check", func(ctx context.Context, s state.View) (state.Update, error) {
		_, err := approve.Wait(ctx, "send "+order.Get(s)+"?")
		return nil, err
	})
	b.Edge(graph.Start, "check")
	store := memcheckpoint.New(memcheckpoint.Options{})
	shop := must(b.Compile(graph.Options{Checkpoints: store}))
	ctx := context.Background()
	must(shop.Thread("order-1").Invoke(ctx, order.Put("12 cups")))
	must(shop.Thread("order-2").Invoke(ctx, order.Put("900 cups")))
	must(shop.Thread("order-1").Invoke(ctx, approve.Answer(must(shop.Thread("order-1").Snapshot(ctx)).Pauses[0].ID, true)))

	seen := map[string]bool{}
	for waiting, err := range store.ListStatus(ctx, checkpoint.StatusQuery{Status: checkpoint.Paused}) {
		if err != nil {
			panic(err)
		}
		if seen[waiting.Thread] { // a thread that waits at two nodes is listed twice
			continue
		}
		seen[waiting.Thread] = true
		snap := must(shop.Thread(waiting.Thread).Snapshot(ctx))
		for _, p := range snap.Pauses { // of any kind, with the prompt as JSON
			fmt.Println(waiting.Thread, p.Node, p.Interrupt, string(p.Prompt), "asked:", !p.Asked.IsZero())
		}
		for _, q := range must(approve.Open(snap)) { // of one interrupt, with the prompt as its type
			fmt.Println(q.Prompt)
		}
	}
	// Output:
	// order-2 check approve "send 900 cups?" asked: true
	// send 900 cups?
}
