// Join is a graph with two parallel paths of different lengths that meet in one node.
package main

import (
	"context"
	"fmt"
	"log"
	"strings"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

// docs:begin graph
var (
	Notes = state.Append[string]("notes")
	Draft = state.Last[string]("draft")
)

// note returns a node that appends one line to the notes.
func note(text string) graph.NodeFunc {
	return func(context.Context, state.View) (state.Update, error) {
		return state.Update{Notes.Put(text)}, nil
	}
}

func write(_ context.Context, s state.View) (state.Update, error) {
	return state.Update{Draft.Put(strings.Join(Notes.Get(s), "; "))}, nil
}

func main() {
	b := graph.New("note", Notes, Draft)
	b.Node("history", note("tea is old"))
	b.Node("search", note("it grows in Assam"))
	b.Node("verify", note("Assam is confirmed"))
	b.Node("write", write)
	b.Edge(graph.Start, "history")
	b.Edge(graph.Start, "search")
	b.Edge("search", "verify")
	b.Join("write", "history", "verify")
	g, err := b.Compile(graph.Options{})
	if err != nil {
		log.Fatal(err)
	}
	snap, err := g.Invoke(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(Draft.Get(snap))
}

// docs:end
