package server_test

import (
	"context"
	"fmt"

	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/server"
	"github.com/weft-go/weft/server/runs/memruns"
	"github.com/weft-go/weft/state"
)

// A program stores its crons at each start. The server starts a run each Monday at eight o'clock.
func ExampleServer_PutCron() {
	ctx := context.Background()
	week := state.Last[string]("week")
	b := graph.New("report", week)
	b.Node("write", func(context.Context, state.View) (state.Update, error) { return nil, nil })
	b.Edge(graph.Start, "write")
	g, err := b.Compile(graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})})
	if err != nil {
		fmt.Println(err)
		return
	}
	s, err := server.New(server.Options{Graphs: map[string]*graph.Graph{"report": g}, Runs: memruns.New()})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = s.Close(ctx) }()

	weekly := server.Cron{
		Name: "report of the week", Assistant: "report",
		Schedule: "0 8 * * 1", Timezone: "Europe/Athens", Input: map[string]any{"week": "last"},
	}
	first, err := s.PutCron(ctx, weekly)
	if err != nil {
		fmt.Println(err)
		return
	}
	second, err := s.PutCron(ctx, weekly)
	fmt.Println(first == second, err)

	weekly.Input = map[string]any{"weak": "last"}
	_, err = s.PutCron(ctx, weekly)
	fmt.Println(err)
	// Output:
	// true <nil>
	// server: cron "report of the week": input cannot be read: the graph "report" has none of the channels ["weak"].
}
