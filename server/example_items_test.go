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
	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/inmemory"
	"github.com/weft-go/weft/server"
	"github.com/weft-go/weft/server/runs/memruns"
	"github.com/weft-go/weft/state"
)

// A node stores a value, and a client reads it: in Python client.store.get_item(["prefs"], "style").
func ExampleItemScope() {
	mem, err := memory.New(inmemory.New(inmemory.Options{}), memory.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	style := state.Last[string]("style")
	b := graph.New("prefs", style)
	b.Node("remember", func(ctx context.Context, v state.View) (state.Update, error) {
		prefs := mem.Values().In(server.ItemScope(ctx), "prefs")
		_, err := memory.PutValue(ctx, prefs, "style", map[string]string{"text": style.Get(v)}, memory.PutOptions{})
		return nil, err
	})
	b.Edge(graph.Start, "remember")
	g, err := b.Compile(graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})})
	if err != nil {
		fmt.Println(err)
		return
	}
	s, err := server.New(server.Options{Graphs: map[string]*graph.Graph{"prefs": g}, Runs: memruns.New(), Values: mem.Values()})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = s.Close(context.Background()) }()
	web := httptest.NewServer(s)
	defer web.Close()

	run, err := http.Post(web.URL+"/runs/wait", "application/json", strings.NewReader(`{"assistant_id": "prefs", "input": {"style": "short"}}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	_ = run.Body.Close()
	item, err := http.Get(web.URL + "/store/items?namespace=prefs&key=style")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = item.Body.Close() }()
	text, _ := io.ReadAll(item.Body)
	fmt.Println(strings.Contains(string(text), `{"text":"short"}`))
	// Output: true
}
