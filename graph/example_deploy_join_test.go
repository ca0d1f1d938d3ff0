package graph_test

import (
	"context"
	"fmt"
	"log"
	"maps"
	"slices"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/draw"
	"github.com/weft-go/weft/state"
)

// stuckJoins returns the joins of a graph that will not fire in the current turn of a thread. One source of such a join has
// completed or may run, and another source cannot be reached from the due nodes: the thread has passed the node that
// schedules the source, or a branch has left the source out, or the join has already fired.
func stuckJoins(edges []draw.Edge, snap *graph.Snapshot, deferred []string) []graph.WaitingJoin {
	comes := map[string]bool{} // the nodes that have arrived at a join, or may run
	for _, node := range deferred {
		comes[node] = true
	}
	for _, task := range snap.Tasks {
		comes[task.Node] = true
	}
	for _, join := range snap.Waiting {
		for _, source := range join.Arrived {
			comes[source] = true
		}
	}
	joins := map[int][]draw.Edge{} // the edges of each join by its number; 0 has the edges that fire alone
	for _, e := range edges {
		joins[e.Join] = append(joins[e.Join], e)
	}
	absent := func(e draw.Edge) bool { return !comes[e.From] }
	for before := -1; before < len(comes); {
		before = len(comes)
		for number, edges := range joins {
			for _, e := range edges {
				if comes[e.From] && (number == 0 || !slices.ContainsFunc(edges, absent)) {
					comes[e.To] = true
				}
			}
		}
	}
	var stuck []graph.WaitingJoin
	delete(joins, 0)
	for _, number := range slices.Sorted(maps.Keys(joins)) {
		join := graph.WaitingJoin{Target: joins[number][0].To}
		for _, e := range joins[number] {
			if comes[e.From] {
				join.Arrived = append(join.Arrived, e.From)
			} else {
				join.Awaiting = append(join.Awaiting, e.From)
			}
		}
		if len(join.Arrived) > 0 && len(join.Awaiting) > 0 {
			stuck = append(stuck, join)
		}
	}
	return stuck
}

// waitingDeferred returns the deferred nodes that wait in each thread, since the tasks of a snapshot do not include them. It
// reports the threads that cannot be read.
func waitingDeferred(ctx context.Context, g *graph.Graph, report func(thread string, problem error)) (map[string][]string, error) {
	nodes := map[string][]string{}
	for _, node := range g.Describe().Nodes {
		if !node.Deferred {
			continue
		}
		for info, err := range g.Waiting(ctx, node.Name, "") {
			if err != nil && info.Thread == "" {
				return nil, err
			}
			if err != nil {
				report(info.Thread, err)
				continue
			}
			nodes[info.Thread] = append(nodes[info.Thread], node.Name)
		}
	}
	return nodes, nil
}

var (
	mailLog = state.Append[string]("mailLog")
	mailOK  = graph.NewInterrupt[string, bool]("mailOK")
)

// mail compiles a graph that sends a mail once a person has confirmed it. The second version translates the mail in
// parallel with the confirmation, and a join waits for both.
func mail(store checkpoint.Store, translated bool) *graph.Graph {
	did := func(what string) graph.NodeFunc {
		return func(context.Context, state.View) (state.Update, error) { return state.Update{mailLog.Put(what)}, nil }
	}
	b := graph.New("mail", mailLog)
	b.Node("write", did("written"))
	b.Node("confirm", func(ctx context.Context, _ state.View) (state.Update, error) {
		_, err := mailOK.Wait(ctx, "Send it?")
		return state.Update{mailLog.Put("confirmed")}, err
	})
	b.Node("send", did("sent"))
	b.Edge(graph.Start, "write")
	b.Edge("write", "confirm")
	if translated {
		b.Node("translate", did("translated"))
		b.Edge("write", "translate")
		b.Join("send", "confirm", "translate")
	} else {
		b.Edge("confirm", "send")
	}
	g, err := b.Compile(graph.Options{Checkpoints: store})
	if err != nil {
		log.Fatal(err)
	}
	return g
}

// A thread waits at the node "confirm", a source of the join that the new version adds. The other source, "translate", is
// not due, because the node "write" has already completed. Goto schedules "translate".
func ExampleGoto_newJoin() {
	ctx, store := context.Background(), memcheckpoint.New(memcheckpoint.Options{})
	snap, err := mail(store, false).Thread("7").Invoke(ctx, graph.Begin())
	if err != nil {
		log.Fatal(err)
	}
	question := snap.Pauses[0].ID

	g := mail(store, true)
	err = checkThreads(ctx, g, store, func(thread string, problem error) {
		fmt.Println(thread, problem)
		// The question stays open. The Goto could also follow the answer.
		if _, err := g.Thread(thread).Invoke(ctx, graph.Goto("translate")); err != nil {
			log.Fatal(err)
		}
	})
	if err != nil {
		log.Fatal(err)
	}
	snap, err = g.Thread("7").Invoke(ctx, mailOK.Answer(question, true))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(mailLog.Get(snap))
	// Output:
	// 7 "send" will not run: its join also waits for ["translate"], and nothing leads there
	// [written confirmed translated sent]
}
