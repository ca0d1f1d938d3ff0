package state_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/server"
	"github.com/weft-go/weft/server/runs/memruns"
	"github.com/weft-go/weft/state"
)

// Nodes and states of threads have an internal channel. The result of a run does not have it.
func ExampleChannel_Internal() {
	answer := state.Last[string]("answer")
	tries := state.Sum[int]("tries").Internal()

	b := graph.New("helper", answer, tries)
	b.Node("answer", func(context.Context, state.View) (state.Update, error) {
		return state.Update{answer.Put("42"), tries.Put(1)}, nil
	})
	b.Edge(graph.Start, "answer")
	g := must(b.Compile(graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})}))
	s := must(server.New(server.Options{Graphs: map[string]*graph.Graph{"helper": g}, Runs: memruns.New()}))
	defer func() { _ = s.Close(context.Background()) }()

	const thread = "/threads/4b0b7a2e-8b0c-4f0e-9a59-3c2d1c8d2f10"
	run := httptest.NewRequest(http.MethodPost, "http://127.0.0.1"+thread+"/runs/wait", strings.NewReader(`{"assistant_id": "helper", "if_not_exists": "create", "input": {}}`))
	run.RemoteAddr = "127.0.0.1:1"
	result := httptest.NewRecorder()
	s.ServeHTTP(result, run)
	fmt.Print(result.Body)
	snap := must(g.Thread(strings.TrimPrefix(thread, "/threads/")).Snapshot(context.Background()))
	fmt.Println(tries.Get(snap))
	// Output:
	// {"answer":"42"}
	// 1
}
