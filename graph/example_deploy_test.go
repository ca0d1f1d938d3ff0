package graph_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

// checkThreads reads every stored thread with a graph that is to be deployed. It runs no node and changes nothing. It checks
// the due nodes and the joins of the graph itself, and reads the state of the subgraphs that its nodes run. It does not read
// the subgraphs of subgraphs.
func checkThreads(ctx context.Context, g *graph.Graph, store checkpoint.ThreadLister, report func(thread string, problem error)) error {
	description := g.Describe()
	known := map[string]bool{}
	for _, node := range description.Nodes {
		known[node.Name] = true
	}
	deferred, err := waitingDeferred(ctx, g, report)
	if err != nil {
		return err
	}
	for info, err := range store.ListThreads(ctx, "") {
		if err != nil && info.ID == "" { // an error with an id is about that thread alone
			return err
		}
		thread, snap := g.Thread(info.ID), (*graph.Snapshot)(nil)
		if err == nil {
			snap, err = thread.Snapshot(ctx)
		}
		if err != nil {
			report(info.ID, err)
			continue
		}
		for _, task := range snap.Tasks {
			if task.Namespace == "" || task.Finished {
				continue
			}
			_, err := thread.Subgraph(task.ID).Snapshot(ctx) // the channels of a subgraph are its own
			if err != nil && !errors.Is(err, checkpoint.ErrNotFound) {
				report(info.ID, err)
			}
		}
		for _, node := range snap.Next {
			if !known[node] {
				report(info.ID, fmt.Errorf("it is to run the node %q: %w", node, graph.ErrUnknownNode))
			}
		}
		for _, join := range stuckJoins(description.Edges, snap, deferred[info.ID]) {
			report(info.ID, fmt.Errorf("%q will not run: its join also waits for %q, and nothing leads there", join.Target, join.Awaiting))
		}
	}
	return nil
}

// The new version renames a node and changes the kind of a channel. The check reports both before the deployment.
func ExampleThread_Snapshot_deployment() {
	ctx, store := context.Background(), memcheckpoint.New(memcheckpoint.Options{})
	old := release(store, "ask", graph.Migrations{})
	for _, id := range []string{"v1.1", "v1.2"} {
		snap, err := old.Thread(id).Invoke(ctx, graph.Begin())
		if err == nil && id == "v1.1" {
			_, err = old.Thread(id).Invoke(ctx, releaseOK.Answer(snap.Pauses[0].ID, "Ada"))
		}
		if err != nil {
			log.Fatal(err)
		}
	}

	b := graph.New("release", state.Last[string]("releaseLog")) // it was an Append
	b.Node("approve", func(context.Context, state.View) (state.Update, error) { return nil, nil })
	b.Edge(graph.Start, "approve")
	g, err := b.Compile(graph.Options{Checkpoints: store})
	if err != nil {
		log.Fatal(err)
	}
	err = checkThreads(ctx, g, store, func(thread string, problem error) {
		if c, ok := errors.AsType[*state.ChannelError](problem); ok {
			fmt.Println(thread, "has a value of the channel", c.Channel, "that cannot be read")
			return
		}
		fmt.Println(thread, problem)
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// v1.1 has a value of the channel releaseLog that cannot be read
	// v1.2 it is to run the node "ask": the graph has no such node
}

// The old version stored the tags as a list, and the new version needs a set. The set is a new channel, and a node moves
// the old tags to the set.
func ExampleMigrations_newKind() {
	ctx, store := context.Background(), memcheckpoint.New(memcheckpoint.Options{})
	tagList, tagSet := state.Append[string]("tags"), state.Set[string]("tag_set")
	version := func(node graph.NodeFunc, channels ...state.Handle) *graph.Thread {
		b := graph.New("tags", channels...)
		b.Node("tag", node)
		b.Edge(graph.Start, "tag")
		g, err := b.Compile(graph.Options{Checkpoints: store})
		if err != nil {
			log.Fatal(err)
		}
		return g.Thread("note-1")
	}

	before := version(func(context.Context, state.View) (state.Update, error) {
		return state.Update{tagList.Put("go", "graph", "go")}, nil
	}, tagList)
	if _, err := before.Invoke(ctx, graph.Begin()); err != nil {
		log.Fatal(err)
	}

	after := version(func(_ context.Context, s state.View) (state.Update, error) {
		update := state.Update{tagSet.Put("stored")}
		if old := tagList.Get(s); len(old) > 0 {
			update = append(update, tagSet.Put(old...), tagList.Overwrite(nil))
		}
		return update, nil
	}, tagList, tagSet)
	snap, err := after.Invoke(ctx, graph.Begin())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(tagSet.Get(snap), tagList.Get(snap))
	// Output: [stored go graph] []
}
