// Approval is a graph that asks before it acts: run it, and answer in another
// process.
//
//	go run ./examples/approval order 12
//	go run ./examples/approval answer yes
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"strconv"

	"github.com/weft-go/weft/checkpoint/sqlitecheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

// docs:begin graph
var (
	Cups    = state.Last[int]("cups")
	Log     = state.Append[string]("log")
	Approve = graph.NewInterrupt[string, bool]("approve")
)

func submit(ctx context.Context, s state.View) (state.Update, error) {
	ok, err := Approve.Wait(ctx, fmt.Sprintf("order %d cups?", Cups.Get(s)))
	if err != nil {
		return nil, err // no answer yet: the run pauses here
	}
	return state.Update{Log.Put(fmt.Sprintf("ordered: %t", ok))}, nil
}

// docs:end

func build(store *sqlitecheckpoint.Store) (*graph.Graph, error) {
	b := graph.New("shop", Cups, Log)
	b.Node("submit", submit)
	b.Edge(graph.Start, "submit")
	return b.Compile(graph.Options{Checkpoints: store})
}

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) != 2 {
		return errors.New("usage: approval order CUPS | approval answer yes|no")
	}
	store, err := sqlitecheckpoint.Open(ctx, "approval.db", sqlitecheckpoint.Options{})
	if err != nil {
		return err
	}
	defer store.Close()
	g, err := build(store)
	if err != nil {
		return err
	}
	thread := g.Thread("order")
	if args[0] == "order" {
		cups, err := strconv.Atoi(args[1])
		if err != nil {
			return err
		}
		return show(thread.Invoke(ctx, Cups.Put(cups)))
	}
	snap, err := thread.Snapshot(ctx)
	if err != nil {
		return err
	}
	pending, err := Approve.Open(snap)
	if err != nil || len(pending) == 0 {
		return errors.Join(err, errors.New("nothing waits for an answer"))
	}
	return show(thread.Invoke(ctx, Approve.Answer(pending[0].ID, args[1] == "yes")))
}

func show(snap *graph.Snapshot, err error) error {
	if err != nil {
		return err
	}
	pending, err := Approve.Open(snap)
	for _, q := range pending {
		fmt.Println(q.Prompt)
	}
	for _, line := range Log.All(snap) {
		fmt.Println(line)
	}
	return err
}
