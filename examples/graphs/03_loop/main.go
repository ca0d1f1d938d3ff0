// Loop is a graph in which a node runs until its result is good enough.
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
	Draft  = state.Last[string]("draft")
	Rounds = state.Sum[int]("rounds")
)

// shorten removes the last word.
func shorten(_ context.Context, s state.View) (state.Update, error) {
	words := strings.Fields(Draft.Get(s))
	shorter := strings.Join(words[:len(words)-1], " ")
	return state.Update{Draft.Put(shorter), Rounds.Put(1)}, nil
}

func tooLong(s state.View) (string, error) {
	if len(Draft.Get(s)) > 12 {
		return "shorten", nil
	}
	return graph.End, nil
}

func main() {
	b := graph.New("note", Draft, Rounds)
	b.Node("shorten", shorten)
	b.Branch(graph.Start, tooLong, "shorten", graph.End)
	b.Branch("shorten", tooLong, "shorten", graph.End)
	g, err := b.Compile(graph.Options{MaxSteps: 20})
	if err != nil {
		log.Fatal(err)
	}
	snap, err := g.Invoke(context.Background(), Draft.Put("Tea grows on hills where it rains"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%q after %d rounds\n", Draft.Get(snap), Rounds.Get(snap))
}

// docs:end
