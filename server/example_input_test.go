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

// Clients can write only the channels that Input names. The server drops values for others.
func ExampleOptions_input() {
	question := state.Last[string]("question")
	role := state.Last[string]("role").Default(func() string { return "guest" })
	b := graph.New("helper", question, role)
	b.Node("check", func(context.Context, state.View) (state.Update, error) { return nil, nil })
	b.Edge(graph.Start, "check")
	g, err := b.Compile(graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, input := range []map[string][]string{nil, {"helper": {"question"}}} {
		s, err := server.New(server.Options{Graphs: map[string]*graph.Graph{"helper": g}, Runs: memruns.New(), Input: input})
		if err != nil {
			fmt.Println(err)
			return
		}
		web := httptest.NewServer(s)
		resp, err := http.Post(web.URL+"/runs/wait", "application/json", strings.NewReader(`{"assistant_id": "helper", "input": {"question": "hi", "role": "admin"}}`))
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
	// {"question":"hi","role":"admin"}
	// {"question":"hi","role":"guest"}
}
