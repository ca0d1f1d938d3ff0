package graph_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

// A snapshot encodes to JSON, for example in the response of a server. ReadSnapshot
// decodes it.
func ExampleSnapshot_MarshalJSON() {
	g, err := wordCounter()
	if err != nil {
		log.Fatal(err)
	}
	snap, err := g.Invoke(context.Background(), state.Update{}...)
	if err != nil {
		log.Fatal(err)
	}
	data, err := json.Marshal(snap)
	if err != nil {
		log.Fatal(err)
	}
	back, err := g.ReadSnapshot(data)
	if err != nil {
		log.Fatal(err)
	}
	values, err := state.Values(back.View)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(values["words"]), string(values["count"]))
	// Output: ["one"] 1
}

// ReadInput decodes the body of a request into writes. The caller does not need the
// handles of the channels.
func ExampleGraph_ReadInput() {
	g, err := wordCounter()
	if err != nil {
		log.Fatal(err)
	}
	input, err := g.ReadInput([]byte(`{"words": ["zero"], "count": 10}`))
	if err != nil {
		log.Fatal(err)
	}
	snap, err := g.Invoke(context.Background(), input...)
	if err != nil {
		log.Fatal(err)
	}
	values, err := state.Values(snap.View)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(values["words"]), string(values["count"]))

	_, err = g.ReadInput([]byte(`{"wrods": "zero"}`))
	fmt.Println(err)
	// Output:
	// ["zero","one"] 11
	// graph "counting": state: channel "wrods": the graph does not have this channel; did you mean "words"?
}

func wordCounter() (*graph.Graph, error) {
	words, count := state.Append[string]("words"), state.Sum[int]("count")
	b := graph.New("counting", words, count)
	b.Node("add", func(context.Context, state.View) (state.Update, error) {
		return state.Update{words.Put("one"), count.Put(1)}, nil
	})
	b.Edge(graph.Start, "add")
	return b.Compile(graph.Options{})
}
