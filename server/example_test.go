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

// A client runs a graph on a new thread and waits for its values.
func ExampleNew() {
	name := state.Last[string]("name")
	greeting := state.Last[string]("greeting")
	b := graph.New("greeter", name, greeting)
	b.Node("greet", func(_ context.Context, v state.View) (state.Update, error) {
		return state.Update{greeting.Put("Hello, " + name.Get(v))}, nil
	})
	b.Edge(graph.Start, "greet")
	g, err := b.Compile(graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})})
	if err != nil {
		fmt.Println(err)
		return
	}
	s, err := server.New(server.Options{Graphs: map[string]*graph.Graph{"greeter": g}, Runs: memruns.New()})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = s.Close(context.Background()) }()
	web := httptest.NewServer(s) // a service calls http.ListenAndServe
	defer web.Close()

	body := strings.NewReader(`{"assistant_id": "greeter", "input": {"name": "Ada"}}`)
	resp, err := http.Post(web.URL+"/runs/wait", "application/json", body)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = resp.Body.Close() }()
	values, err := io.ReadAll(resp.Body)
	fmt.Println(strings.TrimSpace(string(values)), err)
	// Output: {"greeting":"Hello, Ada","name":"Ada"} <nil>
}

// An application adds a route of its own, under the checks of the server.
func ExampleServer_Handle() {
	b := graph.New("empty", state.Last[string]("name"))
	b.Node("n", func(context.Context, state.View) (state.Update, error) { return nil, nil })
	b.Edge(graph.Start, "n")
	g, err := b.Compile(graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})})
	if err != nil {
		fmt.Println(err)
		return
	}
	s, err := server.New(server.Options{Graphs: map[string]*graph.Graph{"empty": g}, Runs: memruns.New()})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = s.Close(context.Background()) }()
	s.Handle("GET /api/orders/{id}", func(w http.ResponseWriter, r *http.Request) error {
		if r.PathValue("id") != "1" {
			return &server.Refusal{Status: http.StatusNotFound, Detail: "There is no such order."}
		}
		_, err := fmt.Fprint(w, "a chair")
		return err
	})
	web := httptest.NewServer(s)
	defer web.Close()

	for _, id := range []string{"1", "2"} {
		resp, err := http.Get(web.URL + "/api/orders/" + id)
		if err != nil {
			fmt.Println(err)
			return
		}
		text, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		fmt.Println(resp.StatusCode, strings.TrimSpace(string(text)), err)
	}
	// Output:
	// 200 a chair <nil>
	// 404 {"detail":"There is no such order."} <nil>
}
