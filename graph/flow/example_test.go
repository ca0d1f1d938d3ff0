package flow_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/flow"
	"github.com/weft-go/weft/graph/node"
	"github.com/weft-go/weft/state"
)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// A flow writes an essay, asks for a review, and counts the turns of its thread. Another flow
// squares numbers concurrently.
func ExampleNew() {
	ctx, store, written := context.Background(), memcheckpoint.New(memcheckpoint.Options{}), 0
	review := graph.NewInterrupt[string, bool]("review")
	workflow := must(flow.New("workflow", func(ctx context.Context, topic string) (string, error) {
		essay, err1 := flow.Do(ctx, "write", func(context.Context) (string, error) {
			written++
			return "An essay about topic: " + topic, nil
		})
		turns, err2 := flow.Previous[int](ctx)
		approved, err3 := review.Wait(ctx, essay)
		err := errors.Join(err1, err2, err3, flow.Save(ctx, turns+1))
		return fmt.Sprintf("%s approved=%t runs=%d", essay, approved, turns+1), err
	}, graph.Options{Checkpoints: store}))
	thread := workflow.Thread("1")
	for range 2 {
		snap := must(thread.Invoke(ctx, workflow.Input("cat")))
		open := must(review.Open(snap))
		fmt.Println("interrupt:", open[0].Prompt)
		snap = must(thread.Invoke(ctx, review.Answer(open[0].ID, true)))
		fmt.Println(workflow.Output(snap), "essays written:", written)
	}
	sum := must(flow.New("sum", func(ctx context.Context, ns []int) (int, error) {
		squares, err := flow.Map(ctx, ns, 0, func(n int) string { return fmt.Sprint(n) }, func(_ context.Context, n int) (int, error) { return n * n, nil })
		total := 0
		for _, n := range squares {
			total += n
		}
		return total, err
	}, graph.Options{Checkpoints: store}))
	fmt.Println("sum", sum.Output(must(sum.Thread("2").Invoke(ctx, sum.Input([]int{1, 2, 3})))))
	for event, err := range sum.Thread("3").Stream(ctx, sum.Input([]int{2})) {
		if started, ok := event.(graph.TaskStarted); ok && err == nil {
			fmt.Println("starts", started.At().Task)
		}
	}
	// Output:
	// interrupt: An essay about topic: cat
	// An essay about topic: cat approved=true runs=1 essays written: 1
	// interrupt: An essay about topic: cat
	// An essay about topic: cat approved=true runs=2 essays written: 2
	// sum 14
	// starts flow
	// starts flow~2
}

// A task that has completed does not run again when the flow resumes after a failure.
func ExampleDo() {
	ctx, fail := context.Background(), true
	job := must(flow.New("job", func(ctx context.Context, name string) (string, error) {
		id, err := flow.Do(ctx, "create", func(context.Context) (int, error) {
			fmt.Println("create", name)
			return 7, nil
		})
		if err != nil {
			return "", err
		}
		return flow.Do(ctx, "publish", func(context.Context) (string, error) {
			if fail {
				return "", errors.New("the network is down")
			}
			return fmt.Sprint("published ", id), nil
		})
	}, graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})}))
	thread := job.Thread("1")
	_, err := thread.Invoke(ctx, job.Input("page"))
	fmt.Println(err)
	fail = false
	fmt.Println(job.Output(must(thread.Invoke(ctx))))
	// Output:
	// create page
	// graph "job": thread "1": node "flow" (task flow~publish): the network is down
	// published 7
}

// Two tasks run concurrently.
func ExampleGo() {
	job := must(flow.New("job", func(ctx context.Context, city string) (string, error) {
		weather := flow.Go(ctx, "weather", func(context.Context) (string, error) { return "sun in " + city, nil })
		news := flow.Go(ctx, "news", func(context.Context) (string, error) { return "no news", nil })
		w, err1 := weather.Wait(ctx)
		n, err2 := news.Wait(ctx)
		return w + ", " + n, errors.Join(err1, err2)
	}, graph.Options{}))
	fmt.Println(job.Output(must(job.Invoke(context.Background(), job.Input("Rome")))))
	// Output: sun in Rome, no news
}

// At most two pages are loaded at the same time.
func ExampleMap() {
	job := must(flow.New("job", func(ctx context.Context, pages []string) ([]string, error) {
		return flow.Map(ctx, pages, 2, func(page string) string { return "load " + page },
			func(_ context.Context, page string) (string, error) { return "text of " + page, nil })
	}, graph.Options{}))
	fmt.Println(job.Output(must(job.Invoke(context.Background(), job.Input([]string{"a", "b", "c"})))))
	// Output: [text of a text of b text of c]
}

// A flow runs a graph as a task. The result of the task is the value of a channel.
func ExampleCall() {
	count := state.Sum[int]("count")
	b := graph.New("counter", count)
	b.Node("add", func(context.Context, state.View) (state.Update, error) { return state.Update{count.Put(1)}, nil })
	b.Edge(graph.Start, "add")
	counter := must(b.Compile(graph.Options{}))
	job := must(flow.New("job", func(ctx context.Context, n int) (int, error) {
		return flow.Call(ctx, "count", counter, count.Get, count.Put(n))
	}, graph.Options{}))
	fmt.Println(job.Output(must(job.Invoke(context.Background(), job.Input(41)))))
	// Output: 42
}

func ExampleFlow_Call() {
	double := must(flow.New("double", func(_ context.Context, n int) (int, error) { return 2 * n, nil }, graph.Options{}))
	job := must(flow.New("job", func(ctx context.Context, n int) (int, error) { return double.Call(ctx, "double", n) }, graph.Options{}))
	fmt.Println(job.Output(must(job.Invoke(context.Background(), job.Input(21)))))
	// Output: 42
}

// A flow keeps a list of its inputs from turn to turn.
func ExampleSave() {
	ctx := context.Background()
	job := must(flow.New("job", func(ctx context.Context, in string) (int, error) {
		all, err := flow.Previous[[]string](ctx)
		all = append(all, in)
		return len(all), errors.Join(err, flow.Save(ctx, all))
	}, graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})}))
	for _, in := range []string{"a", "b"} {
		fmt.Println(job.Output(must(job.Thread("1").Invoke(ctx, job.Input(in)))))
	}
	// Output:
	// 1
	// 2
}

// Without Save, Previous returns the output of the previous turn.
func ExamplePrevious() {
	ctx := context.Background()
	sum := must(flow.New("sum", func(ctx context.Context, n int) (int, error) {
		total, err := flow.Previous[int](ctx)
		return total + n, err
	}, graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})}))
	for _, n := range []int{20, 22} {
		fmt.Println(sum.Output(must(sum.Thread("1").Invoke(ctx, sum.Input(n)))))
	}
	// Output:
	// 20
	// 42
}

func ExampleRetry() {
	tries := 0
	job := must(flow.New("job", func(ctx context.Context, _ string) (string, error) {
		return flow.Do(ctx, "load", flow.Retry(node.RetryPolicy{Attempts: 3, Initial: time.Millisecond}, func(context.Context) (string, error) {
			if tries++; tries < 3 {
				return "", errors.New("not yet")
			}
			return fmt.Sprint("loaded after ", tries), nil
		}))
	}, graph.Options{}))
	fmt.Println(job.Output(must(job.Invoke(context.Background(), job.Input("")))))
	// Output: loaded after 3
}

// The flow continues without a task that is too slow.
func ExampleTimeout() {
	job := must(flow.New("job", func(ctx context.Context, _ string) (string, error) {
		_, err := flow.Do(ctx, "slow", flow.Timeout(time.Millisecond, func(ctx context.Context) (string, error) {
			<-ctx.Done()
			return "", ctx.Err()
		}))
		if errors.Is(err, graph.ErrTimeout) {
			return "too slow", nil
		}
		return "", err
	}, graph.Options{}))
	fmt.Println(job.Output(must(job.Invoke(context.Background(), job.Input("")))))
	// Output: too slow
}

// A page is loaded once for two threads.
func ExampleNewCache() {
	pages := flow.NewCache[string](flow.CacheOptions{TTL: time.Hour})
	job := must(flow.New("job", func(ctx context.Context, page string) (string, error) {
		return flow.Do(ctx, "load", pages.Wrap(page, func(context.Context) (string, error) {
			fmt.Println("load", page)
			return "text of " + page, nil
		}))
	}, graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})}))
	for _, thread := range []string{"1", "2"} {
		fmt.Println(job.Output(must(job.Thread(thread).Invoke(context.Background(), job.Input("a")))))
	}
	// Output:
	// load a
	// text of a
	// text of a
}
