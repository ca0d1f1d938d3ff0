// Stream is a program that prints the events of a graph while the graph runs.
package main

import (
	"context"
	"fmt"
	"log"
	"strings"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

var Draft = state.Last[string]("draft")

// docs:begin graph
func write(ctx context.Context, _ state.View) (state.Update, error) {
	words := []string{"Tea", "is", "old"}
	for _, word := range words {
		graph.Emit(ctx, word)
	}
	return state.Update{Draft.Put(strings.Join(words, " "))}, nil
}

// docs:end

func build() (*graph.Graph, error) {
	b := graph.New("note", Draft)
	b.Node("write", write)
	b.Edge(graph.Start, "write")
	return b.Compile(graph.Options{})
}

func main() {
	g, err := build()
	if err != nil {
		log.Fatal(err)
	}
	// docs:begin run
	for event, err := range g.Stream(context.Background()) {
		if err != nil {
			log.Fatal(err)
		}
		switch e := event.(type) {
		case graph.TaskStarted:
			fmt.Print(e.At().Node, ":")
		case graph.Emitted:
			fmt.Print(" ", e.Value)
		case graph.TaskFinished:
			fmt.Println()
		case graph.RunEnded:
			fmt.Printf("result: %q\n", Draft.Get(e.Snapshot))
		}
	}
	// docs:end
}
