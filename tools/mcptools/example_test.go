package mcptools_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/llmtest"
	"github.com/weft-go/weft/tools"
	"github.com/weft-go/weft/tools/mcptools"
)

// Town has the arguments of the weather tool.
type Town struct {
	Name string `json:"name" jsonschema:"the town, in English"`
}

// weatherServer returns a server for the examples.
func weatherServer() *mcptools.Server {
	set, err := tools.NewSet(tools.New("weather", "Tells the weather in a town.",
		func(ctx context.Context, in Town) (string, error) {
			tools.Report(ctx, tools.Progress{Done: 1, Total: 2, Message: "looking out"})
			return "sunny in " + in.Name, nil
		}))
	if err != nil {
		panic(err)
	}
	server, err := mcptools.NewServer(set, mcptools.ServerOptions{Name: "weather"})
	if err != nil {
		panic(err)
	}
	return server
}

// The tools of a server are tools of an agent. A server that runs as a program is
// a Command instead:
//
//	mcptools.Command{Path: "mcp-weather", Args: []string{"--units", "metric"}}
func ExampleNew() {
	server := httptest.NewServer(weatherServer())
	defer server.Close()

	weather, err := mcptools.New(mcptools.HTTP{URL: server.URL}, mcptools.Options{Name: "weather", Prefix: "w"})
	if err != nil {
		panic(err)
	}
	defer weather.Close()
	ctx := context.Background()
	list, err := weather.Tools(ctx)
	if err != nil {
		panic(err)
	}
	set, err := tools.NewSet(list...)
	if err != nil {
		panic(err)
	}
	model := llmtest.NewScript(llmtest.Call("w__weather", `{"name":"Athens"}`), llmtest.Say("It is sunny."))
	a, err := agent.New("helper", model, set, agent.Options{})
	if err != nil {
		panic(err)
	}
	snap, err := a.Invoke(ctx, agent.Messages.Put(llm.User("How is the weather in Athens?")))
	if err != nil {
		panic(err)
	}
	for _, m := range agent.Messages.All(snap) {
		fmt.Println(m)
	}
	// Output:
	// user: How is the weather in Athens?
	// assistant: w__weather({"name":"Athens"})
	// tool: sunny in Athens
	// assistant: It is sunny.
}

// All tools of a server are annotated as destructive until the hints of the server are trusted.
func ExampleOptions() {
	server := mcp.NewServer(&mcp.Implementation{Name: "files"}, nil)
	server.AddTool(&mcp.Tool{
		Name: "file.read", InputSchema: map[string]any{"type": "object"}, Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true},
	}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{}, nil
	})

	for _, trust := range []bool{false, true} {
		files, err := mcptools.New(dialTo(server), mcptools.Options{Prefix: "files", TrustHints: trust})
		if err != nil {
			panic(err)
		}
		list, err := files.Tools(context.Background())
		if err != nil {
			panic(err)
		}
		for _, t := range list {
			fmt.Println(t.Name(), "read-only:", t.Annotations().ReadOnly, "destructive:", t.Annotations().Destructive)
		}
		if err := files.Close(); err != nil {
			panic(err)
		}
	}
	// Output:
	// files__file_read_35b6643f read-only: false destructive: true
	// files__file_read_35b6643f read-only: true destructive: false
}

// A Dial returns a connection of any kind, here to a server in the same program.
func ExampleDial() {
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	weather, err := mcptools.New(mcptools.Dial(func(context.Context) (mcp.Transport, error) {
		here, there := net.Pipe()
		go func() { served <- weatherServer().Serve(ctx, there, there) }()
		return &mcp.IOTransport{Reader: here, Writer: here}, nil
	}), mcptools.Options{})
	if err != nil {
		panic(err)
	}
	list, err := weather.Tools(ctx)
	if err != nil {
		panic(err)
	}
	for _, t := range list {
		fmt.Printf("%s: %s\n", t.Name(), t.Spec().Description)
	}
	if err := weather.Close(); err != nil {
		panic(err)
	}
	cancel()
	if err := <-served; err != nil && !errors.Is(err, context.Canceled) {
		panic(err)
	}
	// Output: weather: Tells the weather in a town.
}

// UserID is the user of a request.
type UserID string

// Notes has the arguments of the notes tool. The model does not see User.
type Notes struct {
	About string `json:"about"`
	User  tools.Bound[UserID]
}

// A Server serves a set to any MCP client. The middleware, and not the client, decides for
// which user a request acts.
func ExampleServer() {
	set, err := tools.NewSet(tools.New("notes", "Looks up the user's notes.",
		func(_ context.Context, in Notes) (string, error) {
			return fmt.Sprintf("notes of %s about %s", in.User.Value(), in.About), nil
		}))
	if err != nil {
		panic(err)
	}
	server, err := mcptools.NewServer(set, mcptools.ServerOptions{Name: "notes"})
	if err != nil {
		panic(err)
	}
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, password, ok := r.BasicAuth()
		if !ok || password != "secret of "+name {
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		server.ServeHTTP(w, r.WithContext(tools.WithBound(r.Context(), UserID(name))))
	}))
	defer web.Close()

	for _, password := range []string{"secret of ada", "guess"} {
		request, err := http.NewRequest(http.MethodGet, web.URL, nil)
		if err != nil {
			panic(err)
		}
		request.SetBasicAuth("ada", password)
		notes, err := mcptools.New(mcptools.HTTP{URL: web.URL, Header: request.Header}, mcptools.Options{Name: "notes"})
		if err != nil {
			panic(err)
		}
		list, err := notes.Tools(context.Background())
		if err != nil {
			fmt.Println(err)
		} else if set, err := tools.NewSet(list...); err == nil {
			call := llm.ToolCall{ID: "1", Name: "notes", Arguments: []byte(`{"about":"weaving"}`)}
			fmt.Println(set.Call(context.Background(), call, tools.Options{}))
		}
		if err := notes.Close(); err != nil {
			panic(err)
		}
	}
	// Output:
	// tool: notes of ada about weaving <nil>
	// mcptools: server "notes": not available: calling "initialize": sending "initialize": Unauthorized
}
