// Fork is a program that goes back to an earlier checkpoint of a thread and
// continues from there in another way.
package main

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

var (
	Draft = state.Last[string]("draft")
	Tone  = state.Last[string]("tone")
)

func write(context.Context, state.View) (state.Update, error) {
	return state.Update{Draft.Put("Tea is old"), Tone.Put("!")}, nil
}

func finish(_ context.Context, s state.View) (state.Update, error) {
	return state.Update{Draft.Put(Draft.Get(s) + Tone.Get(s))}, nil
}

func build(store checkpoint.Store) (*graph.Graph, error) {
	b := graph.New("note", Draft, Tone)
	b.Node("write", write)
	b.Node("finish", finish)
	b.Edge(graph.Start, "write")
	b.Edge("write", "finish")
	return b.Compile(graph.Options{Checkpoints: store})
}

func main() {
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	g, err := build(memcheckpoint.New(memcheckpoint.Options{}))
	if err != nil {
		return err
	}
	// docs:begin run
	thread := g.Thread("note-1")
	snap, err := thread.Invoke(ctx, graph.Begin())
	if err != nil {
		return err
	}
	fmt.Println(Draft.Get(snap))

	var before string // the checkpoint from which finish ran
	for info, err := range thread.History(ctx, graph.HistoryQuery{}) {
		if err != nil {
			return err
		}
		fmt.Println("step", info.Step, "next", info.Next)
		if len(info.Next) == 1 && info.Next[0] == "finish" {
			before = info.ID
		}
	}

	if before == "" { // At("") is the newest checkpoint
		return errors.New("no checkpoint is before finish")
	}
	if _, err := thread.At(before).Update(ctx, "", Tone.Put("?")); err != nil {
		return err
	}
	snap, err = thread.Invoke(ctx)
	if err != nil {
		return err
	}
	fmt.Println(Draft.Get(snap))
	// docs:end
	return nil
}
