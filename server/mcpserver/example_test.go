package mcpserver_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/server"
	"github.com/weft-go/weft/server/mcpserver"
	"github.com/weft-go/weft/server/runs/memruns"
	"github.com/weft-go/weft/state"
)

// An MCP client calls a graph.
func ExampleNew() {
	name, greeting := state.Last[string]("name"), state.Last[string]("greeting")
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
	mux := http.NewServeMux()
	mux.Handle("/mcp", mcpserver.New(s, mcpserver.Options{Describe: map[string]string{"greeter": "Greets a person."}}))
	mux.Handle("/", s)
	web := httptest.NewServer(mux) // a service calls http.ListenAndServe
	defer web.Close()

	client := mcp.NewClient(&mcp.Implementation{Name: "example", Version: "1"}, nil)
	session, err := client.Connect(context.Background(), &mcp.StreamableClientTransport{Endpoint: web.URL + "/mcp"}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = session.Close() }()
	result, err := session.CallTool(context.Background(), &mcp.CallToolParams{Name: "greeter", Arguments: map[string]any{"name": "Ada"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(result.Content[0].(*mcp.TextContent).Text)
	// Output: {"greeting":"Hello, Ada","name":"Ada"}
}
