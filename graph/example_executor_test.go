package graph_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"

	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

// The pages of a book are read in another process. Here, a goroutine with its own build of the
// graph stands for that process, and a channel for the queue.
func ExampleExecutor() {
	pages := state.Last[int]("pages")
	words := state.Sum[int]("words")
	b := graph.New("count", pages, words)
	b.Node("split", func(_ context.Context, v state.View) (state.Update, error) {
		var update state.Update
		for page := range pages.Get(v) {
			update = append(update, graph.Send("read", pages.Put(page+1)))
		}
		return update, nil
	})
	b.Node("read", func(_ context.Context, v state.View) (state.Update, error) {
		return state.Update{words.Put(100 * pages.Get(v))}, nil
	})
	b.Edge(graph.Start, "split")
	b.Destinations("split", "read")

	store := memcheckpoint.New(memcheckpoint.Options{})
	queue, answers := make(chan []byte), make(chan error)
	worker, err := b.Compile(graph.Options{Checkpoints: store})
	if err != nil {
		log.Fatal(err)
	}
	go func() {
		for data := range queue {
			var set graph.TaskSet
			err := json.Unmarshal(data, &set)
			if err == nil {
				err = worker.RunTasks(context.Background(), set)
			}
			answers <- err
		}
	}()

	g, err := b.Compile(graph.Options{
		Checkpoints: store,
		Executor: &graph.Executor{
			Takes: func(node string, due int) bool { return node == "read" && due > 1 },
			Execute: func(_ context.Context, sets []graph.TaskSet) error {
				for _, set := range sets {
					fmt.Println("passes on", set.Tasks)
					data, err := json.Marshal(set)
					if err != nil {
						return err
					}
					queue <- data
					if err := <-answers; err != nil {
						return err
					}
				}
				return nil
			},
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	snap, err := g.Thread("book").Invoke(context.Background(), pages.Put(3))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(words.Get(snap), "words")
	close(queue)
	// Output:
	// passes on [read[0] read[1] read[2]]
	// 600 words
}
