package guide_test

import (
	"context"
	"fmt"

	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/broadcast"
	"github.com/weft-go/weft/state"
)

// mistakes has two functions for each step of docs/graphs.md. Each makes a mistake and returns the
// error that Weft reports.
var mistakes = [][2]func(context.Context) error{
	{noEntry, channelNotInGraph},
	{targetNotListed, edgeBesideBranch},
	{endlessLoop, joinInLoop},
	{twoWriters, misspeltSource},
	{branchWrites, sendNotDeclared},
	{typeNotStored, nothingToResume},
	{questionWithoutThread, answeredTwice},
	{twoHandles, noSubgraph},
	{unknownCheckpoint, answerInThePast},
	{nodeNotFound, migrationReversed},
	{runInsideStream, readerTooLate},
	{nodeWithoutGraph, noNodeInContext},
}

var (
	Topic   = state.Last[string]("topic")
	Draft   = state.Last[string]("draft")
	Publish = graph.NewInterrupt[string, bool]("publish")
)

func noop(context.Context, state.View) (state.Update, error) { return nil, nil }

// returns makes a node that returns these writes.
func returns(writes ...state.Write) graph.NodeFunc {
	return func(context.Context, state.View) (state.Update, error) { return writes, nil }
}

func publish(ctx context.Context, _ state.View) (state.Update, error) {
	_, err := Publish.Wait(ctx, "publish?")
	return nil, err
}

func stored() graph.Options {
	return graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})}
}

// nodes returns a builder of a graph with nodes that do nothing. Each follows Start.
func nodes(names ...string) *graph.Builder {
	b := graph.New("note", Topic, Draft)
	for _, name := range names {
		b.Node(name, noop)
		b.Edge(graph.Start, name)
	}
	return b
}

// oneNode compiles a graph of one node.
func oneNode(name string, fn graph.NodeFunc, o graph.Options) (*graph.Graph, error) {
	b := graph.New("note", Topic, Draft)
	b.Node(name, fn)
	b.Edge(graph.Start, name)
	return b.Compile(o)
}

// run compiles a graph and runs it once.
func run(ctx context.Context, b *graph.Builder, o graph.Options) error {
	g, err := b.Compile(o)
	if err != nil {
		return err
	}
	_, err = g.Invoke(ctx)
	return err
}

func noEntry(ctx context.Context) error {
	b := graph.New("note", Topic, Draft)
	b.Node("write", noop)
	return run(ctx, b, graph.Options{})
}

func channelNotInGraph(ctx context.Context) error {
	b := graph.New("note", Topic)
	b.Node("write", returns(Draft.Put("")))
	b.Edge(graph.Start, "write")
	return run(ctx, b, graph.Options{})
}

func toEnd(state.View) (string, error) { return graph.End, nil }

func targetNotListed(ctx context.Context) error {
	b := nodes("write", "shorten")
	b.Branch("write", toEnd, "shorten")
	return run(ctx, b, graph.Options{})
}

func edgeBesideBranch(ctx context.Context) error {
	b := nodes("write", "shorten")
	b.Edge("write", graph.End)
	b.Branch("write", toEnd, "shorten", graph.End)
	return run(ctx, b, graph.Options{})
}

func endlessLoop(ctx context.Context) error {
	b := nodes("shorten")
	b.Branch("shorten", func(state.View) (string, error) { return "shorten", nil }, "shorten", graph.End)
	return run(ctx, b, graph.Options{MaxSteps: 20})
}

func joinInLoop(ctx context.Context) error {
	b := nodes("write")
	b.Node("shorten", noop)
	b.Join("shorten", "write", "shorten")
	return run(ctx, b, graph.Options{})
}

func twoWriters(ctx context.Context) error {
	b := graph.New("note", Topic, Draft)
	b.Node("history", returns(Draft.Put("")))
	b.Node("search", returns(Draft.Put("")))
	b.Edge(graph.Start, "history")
	b.Edge(graph.Start, "search")
	return run(ctx, b, graph.Options{})
}

func misspeltSource(ctx context.Context) error {
	b := nodes("history", "verify", "write")
	b.Join("write", "history", "verfy")
	return run(ctx, b, graph.Options{})
}

func branchWrites(ctx context.Context) error {
	b := nodes("research")
	b.BranchMany(graph.Start, func(state.View) (state.Update, error) {
		return state.Update{Topic.Put("tea")}, nil
	}, "research")
	return run(ctx, b, graph.Options{})
}

func sendNotDeclared(ctx context.Context) error {
	b := nodes("research")
	b.Node("plan", returns(graph.Send("research", Topic.Put("tea"))))
	b.Edge(graph.Start, "plan")
	return run(ctx, b, graph.Options{})
}

func typeNotStored(ctx context.Context) error {
	type user struct{ name string }
	users := state.Last[user]("user")
	b := graph.New("note", users)
	b.Node("write", returns(users.Put(user{name: "Ada"})))
	b.Edge(graph.Start, "write")
	return run(ctx, b, stored())
}

func nothingToResume(ctx context.Context) error {
	g, err := oneNode("write", noop, stored())
	if err != nil {
		return err
	}
	_, err = g.Thread("ada").Invoke(ctx)
	return err
}

func questionWithoutThread(ctx context.Context) error {
	g, err := oneNode("publish", publish, stored())
	if err != nil {
		return err
	}
	_, err = g.Invoke(ctx)
	return err
}

func answeredTwice(ctx context.Context) error {
	g, err := oneNode("publish", publish, stored())
	if err != nil {
		return err
	}
	thread := g.Thread("note-1")
	snap, err := thread.Invoke(ctx, graph.Begin())
	if err != nil {
		return err
	}
	yes := Publish.Answer(snap.Pauses[0].ID, true)
	if _, err := thread.Invoke(ctx, yes); err != nil {
		return err
	}
	_, err = thread.Invoke(ctx, yes)
	return err
}

func twoHandles(ctx context.Context) error {
	sub := graph.New("review", state.Last[string]("draft"))
	sub.Node("find", noop)
	sub.Edge(graph.Start, "find")
	review, err := sub.Compile(graph.Options{})
	if err != nil {
		return err
	}
	b := nodes("write")
	b.Subgraph("review", review)
	b.Edge("write", "review")
	return run(ctx, b, graph.Options{})
}

func noSubgraph(ctx context.Context) error {
	review, _ := graph.New("review", Draft).Compile(graph.Options{}) // the graph has no nodes
	b := nodes("write")
	b.Subgraph("review", review)
	b.Edge("write", "review")
	return run(ctx, b, graph.Options{})
}

func unknownCheckpoint(ctx context.Context) error {
	g, err := oneNode("write", noop, stored())
	if err != nil {
		return err
	}
	thread := g.Thread("note-1")
	if _, err := thread.Invoke(ctx, graph.Begin()); err != nil {
		return err
	}
	_, err = thread.At("1").Invoke(ctx)
	return err
}

func answerInThePast(ctx context.Context) error {
	g, err := oneNode("publish", publish, stored())
	if err != nil {
		return err
	}
	thread := g.Thread("note-1")
	snap, err := thread.Invoke(ctx, graph.Begin())
	if err != nil {
		return err
	}
	if _, err := thread.Invoke(ctx, Draft.Put("Tea")); err != nil {
		return err
	}
	_, err = thread.At(snap.ID).Invoke(ctx, Publish.Answer(snap.Pauses[0].ID, true))
	return err
}

// renamed pauses a thread at the node "submit", and resumes it with a graph that calls the node
// "publish".
func renamed(ctx context.Context, migrations map[string]string) error {
	o := stored()
	old, err := oneNode("submit", publish, o)
	if err != nil {
		return err
	}
	if _, err := old.Thread("note-1").Invoke(ctx, graph.Begin()); err != nil {
		return err
	}
	o.Migrations.Nodes = migrations
	g, err := oneNode("publish", publish, o)
	if err != nil {
		return err
	}
	_, err = g.Thread("note-1").Invoke(ctx)
	return err
}

func nodeNotFound(ctx context.Context) error { return renamed(ctx, nil) }

func migrationReversed(ctx context.Context) error {
	return renamed(ctx, map[string]string{"publish": "submit"})
}

func runInsideStream(ctx context.Context) error {
	tried := make(chan struct{}) // closed when the second run was tried; the first run waits for that
	write := func(ctx context.Context, _ state.View) (state.Update, error) {
		select {
		case <-tried:
		case <-ctx.Done():
		}
		return nil, nil
	}
	g, err := oneNode("write", write, stored())
	if err != nil {
		return err
	}
	thread := g.Thread("note-1")
	for _, err := range thread.Stream(ctx, graph.Begin()) {
		if err != nil {
			return err
		}
		_, err := thread.Invoke(ctx)
		close(tried)
		return err
	}
	return nil
}

func readerTooLate(ctx context.Context) error {
	g, err := oneNode("write", noop, graph.Options{})
	if err != nil {
		return err
	}
	events := broadcast.New(2)
	if err := events.Run(g.Stream(ctx)); err != nil {
		return err
	}
	for _, err := range events.Events(ctx, 0) {
		if err != nil {
			return err
		}
	}
	return nil
}

func nodeWithoutGraph(ctx context.Context) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("panic: %v", v)
		}
	}()
	_, err = func(_ context.Context, s state.View) (state.Update, error) {
		return state.Update{Draft.Put(Topic.Get(s))}, nil
	}(ctx, nil)
	return err
}

func noNodeInContext(ctx context.Context) error {
	_, err := publish(ctx, nil)
	return err
}
