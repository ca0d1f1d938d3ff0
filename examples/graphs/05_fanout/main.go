// Fanout is a graph that runs one node for each element of a list, all at the same time.
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
	Topics = state.Last[[]string]("topics")
	Topic  = state.Last[string]("topic") // of one task
	Notes  = state.Append[string]("notes")
	Draft  = state.Last[string]("draft")
)

func each(s state.View) (state.Update, error) {
	var sends state.Update
	for _, topic := range Topics.Get(s) {
		sends = append(sends, graph.Send("research", Topic.Put(topic)))
	}
	return sends, nil
}

func research(_ context.Context, s state.View) (state.Update, error) {
	return state.Update{Notes.Put("about " + Topic.Get(s))}, nil
}

func write(_ context.Context, s state.View) (state.Update, error) {
	return state.Update{Draft.Put(strings.Join(Notes.Get(s), "; "))}, nil
}

func main() {
	b := graph.New("note", Topics, Topic, Notes, Draft)
	b.Node("research", research)
	b.Node("write", write)
	b.BranchMany(graph.Start, each, "research")
	b.Join("write", "research")
	g, err := b.Compile(graph.Options{})
	if err != nil {
		log.Fatal(err)
	}
	snap, err := g.Invoke(context.Background(), Topics.Put([]string{"tea", "milk", "sugar"}))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(Draft.Get(snap))
}

// docs:end
