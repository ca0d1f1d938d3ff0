package graph_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

// A chart for the README of a service, kept current by a test.
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
	//   n__5f__5f_start_5f__5f_((start))
	//   subgraph n_check ["check"]
	//     n_check_2f__5f__5f_start_5f__5f_((start))
	//     n_check_2f_virus["virus"]
	//     n_check_2f__5f__5f_start_5f__5f_ --> n_check_2f_virus
	//   end
	//   n_log[["log"]]
	//   n_publish{{"publish"}}
	//   n_receive["receive"]
	//   n_resize["resize"]
	//   n__5f__5f_end_5f__5f_((end))
	//   n__5f__5f_start_5f__5f_ --> n_log
	//   n__5f__5f_start_5f__5f_ --> n_receive
	//   n_publish -.-> n_receive
	//   n_publish -.-> n__5f__5f_end_5f__5f_
	//   n_receive --> n_check
	//   n_receive --> n_resize
	//   n_check ==> n_publish
	//   n_resize ==> n_publish
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
	// digraph n_order {
	//   node [shape=box, style=rounded];
	//   n__5f__5f_start_5f__5f_ [label=start, shape=circle];
	//   n_pay [label="pay"];
	//   n_ship [label="ship"];
	//   n__5f__5f_end_5f__5f_ [label=end, shape=doublecircle];
	//   n__5f__5f_start_5f__5f_ -> n_pay [style=solid];
	//   n_pay -> n_ship [style=dashed];
	//   n_pay -> n__5f__5f_end_5f__5f_ [style=dashed];
	// }
}

// A description is plain data, for a page of one's own.
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
	//       "stored": true
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
