package server_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/server"
	"github.com/weft-go/weft/server/runs/memruns"
	"github.com/weft-go/weft/state"
)

// The results and streams of a graph have the channels that Output names. Without Output, they have all channels that are
// not internal.
func ExampleOptions_output() {
	question := state.Last[string]("question")
	answer := state.Last[string]("answer")
	tries := state.Sum[int]("tries").Internal()
	b := graph.New("helper", question, answer, tries)
	b.Node("answer", func(context.Context, state.View) (state.Update, error) {
		return state.Update{answer.Put("42"), tries.Put(1)}, nil
	})
	b.Edge(graph.Start, "answer")
	g, err := b.Compile(graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, output := range []map[string][]string{nil, {"helper": {"answer"}}} {
		s, err := server.New(server.Options{Graphs: map[string]*graph.Graph{"helper": g}, Runs: memruns.New(), Output: output})
		if err != nil {
			fmt.Println(err)
			return
		}
		web := httptest.NewServer(s)
		resp, err := http.Post(web.URL+"/runs/wait", "application/json", strings.NewReader(`{"assistant_id": "helper", "input": {"question": "6 times 7?"}}`))
		if err != nil {
			fmt.Println(err)
			return
		}
		values, _ := io.ReadAll(resp.Body)
		fmt.Print(string(values))
		_ = resp.Body.Close()
		web.Close()
		_ = s.Close(context.Background())
	}
	// Output:
	// {"answer":"42","question":"6 times 7?"}
	// {"answer":"42"}
}
