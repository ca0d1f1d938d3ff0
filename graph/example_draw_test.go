package graph_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

// Mermaid returns a flowchart that GitHub shows in a README.
func ExampleGraph_Mermaid() {
	nothing := func(context.Context, state.View) (state.Update, error) { return nil, nil }

	inner := graph.New("checks")
	inner.Node("virus", nothing)
	inner.Edge(graph.Start, "virus")
	checks, err := inner.Compile(graph.Options{})
	if err != nil {
		log.Fatal(err)
	}
	b := graph.New("upload")
	b.Node("receive", nothing)
	b.Node("resize", nothing)
	b.Subgraph("check", checks)
	b.Node("publish", nothing)
	b.Node("log", nothing)
	b.Edge(graph.Start, "receive")
	b.Edge("receive", "resize")
	b.Edge("receive", "check")
	b.Join("publish", "resize", "check")
	b.Branch("publish", func(state.View) (string, error) { return graph.End, nil }, "receive", graph.End)
	b.Edge(graph.Start, "log")
	b.Defer("log")
	g, err := b.Compile(graph.Options{PauseBefore: []string{"publish"}})
	if err != nil {
		log.Fatal(err)
	}

	fmt.Print(g.Mermaid())
	// Output:
	// flowchart TD
	//   __start__((start))
	//   subgraph check ["check"]
	//     check___start__((start))
	//     check_virus["virus"]
	//     check___start__ --> check_virus
	//   end
	//   log[["log"]]
	//   publish{{"publish"}}
	//   receive["receive"]
	//   resize["resize"]
	//   __end__((end))
	//   __start__ --> log
	//   __start__ --> receive
	//   publish -.-> receive
	//   publish -.-> __end__
	//   receive --> check
	//   receive --> resize
	//   check ==> publish
	//   resize ==> publish
}

func ExampleGraph_DOT() {
	nothing := func(context.Context, state.View) (state.Update, error) { return nil, nil }

	b := graph.New("order")
	b.Node("pay", nothing)
	b.Node("ship", nothing)
	b.Edge(graph.Start, "pay")
	b.Branch("pay", func(state.View) (string, error) { return "ship", nil }, "ship", graph.End)
	g, err := b.Compile(graph.Options{})
	if err != nil {
		log.Fatal(err)
	}

	fmt.Print(g.DOT())
	// Output:
	// digraph "order" {
	//   compound=true;
	//   node [shape=box, style=rounded];
	//   __start__ [label=start, shape=circle];
	//   pay [label="pay"];
	//   ship [label="ship"];
	//   __end__ [label=end, shape=doublecircle];
	//   __start__ -> pay [style=solid];
	//   pay -> ship [style=dashed];
	//   pay -> __end__ [style=dashed];
	// }
}

// Describe returns the graph as data. A program can draw it in another way.
func ExampleGraph_Describe() {
	total := state.Sum[int]("total")
	nothing := func(context.Context, state.View) (state.Update, error) { return nil, nil }

	b := graph.New("order", total)
	b.Node("pay", nothing)
	b.Edge(graph.Start, "pay")
	g, err := b.Compile(graph.Options{})
	if err != nil {
		log.Fatal(err)
	}

	data, err := json.MarshalIndent(g.Describe(), "", "  ")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(data))
	// Output:
	// {
	//   "name": "order",
	//   "channels": [
	//     {
	//       "name": "total",
	//       "kind": "sum",
	//       "type": "int",
	//       "stored": true,
	//       "initial": 0
	//     }
	//   ],
	//   "nodes": [
	//     {
	//       "name": "pay"
	//     }
	//   ],
	//   "edges": [
	//     {
	//       "from": "__start__",
	//       "to": "pay",
	//       "kind": "edge"
	//     }
	//   ]
	// }
}
