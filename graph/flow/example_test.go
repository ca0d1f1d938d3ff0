package flow_test

import (
	"context"
	"fmt"

	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/flow"
)

// A flow writes an essay, asks for a review and counts its turns.
func ExampleNew() {
	type essay struct {
		Text string
		Runs int
	}
	ctx, written := context.Background(), 0
	review := graph.NewInterrupt[string, bool]("review")
	write, err := flow.New("workflow", func(ctx context.Context, topic string) (essay, error) {
		text, err := flow.Do(ctx, "write", func(context.Context) (string, error) {
			written++
			return "An essay about topic: " + topic, nil
		})
		if err != nil {
			return essay{}, err
		}
		ok, err := review.Wait(ctx, text)
		if err != nil {
			return essay{}, err
		}
		previous, _ := flow.Previous[essay](ctx)
		return essay{fmt.Sprintf("%s approved=%t", text, ok), previous.Runs + 1}, nil
	}, graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})})
	if err != nil {
		panic(err)
	}
	thread := write.Thread("1")
	for range 2 {
		snap, err := thread.Invoke(ctx, write.Input("cat"))
		if err != nil {
			panic(err)
		}
		open, err := review.Open(snap)
		if err != nil {
			panic(err)
		}
		snap, err = thread.Invoke(ctx, review.Answer(open[0].ID, true))
		if err != nil {
			panic(err)
		}
		out := write.Output(snap)
		fmt.Println(out.Text, "runs:", out.Runs, "written:", written)
	}
	// Output:
	// An essay about topic: cat approved=true runs: 1 written: 1
	// An essay about topic: cat approved=true runs: 2 written: 2
}

// A flow runs tasks at once: two at most with Map, and one with Go.
func ExampleMap() {
	sum, err := flow.New("sum", func(ctx context.Context, ns []int) (int, error) {
		ten := flow.Go(ctx, "ten", func(context.Context) (int, error) { return 10, nil })
		squares, err := flow.Map(ctx, ns, 2, func(n int) string { return fmt.Sprint("square/", n) },
			func(_ context.Context, n int) (int, error) { return n * n, nil })
		if err != nil {
			return 0, err
		}
		total, err := ten.Wait(ctx)
		for _, n := range squares {
			total += n
		}
		return total, err
	}, graph.Options{})
	if err != nil {
		panic(err)
	}
	snap, err := sum.Invoke(context.Background(), sum.Input([]int{1, 2, 3}))
	if err != nil {
		panic(err)
	}
	fmt.Println(sum.Output(snap))
	// Output: 24
}
