package howto_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/tools"
	"github.com/weft-go/weft/tools/mcptools"
)

// docs:begin stdio

// serveAgent serves an agent as a tool to one client. A program that the client starts passes
// os.Stdin and os.Stdout.
func serveAgent(ctx context.Context, bot *graph.Graph, in io.Reader, out io.Writer) error {
	ask := tools.New("ask", "Answers a question.", func(ctx context.Context, in struct {
		Message string `json:"message"`
	},
	) (string, error) {
		snap, err := bot.Invoke(ctx, agent.Messages.Put(llm.User(in.Message)))
		if err != nil {
			return "", err
		}
		if len(snap.Pauses) > 0 {
			return "", errors.New("the agent asks a question, which this client cannot answer")
		}
		answer, _ := agent.Messages.Last(snap)
		return answer.Text(), nil
	})
	set, err := tools.NewSet(ask)
	if err != nil {
		return err
	}
	server, err := mcptools.NewServer(set, mcptools.ServerOptions{Name: "helper"})
	if err != nil {
		return err
	}
	return server.Serve(ctx, in, out)
}

// docs:end

// A client speaks with the agent over a stream.
func Example_agentByStdio() {
	served := make(chan error, 1)
	client := must(mcptools.New(mcptools.Dial(func(context.Context) (mcp.Transport, error) { // this context ends when the client is connected
		here, there := net.Pipe()
		go func() { served <- serveAgent(context.Background(), echo(), there, there) }()
		return &mcp.IOTransport{Reader: here, Writer: here}, nil
	}), mcptools.Options{}))
	set := must(tools.NewSet(must(client.Tools(context.Background()))...))
	call := llm.ToolCall{ID: "1", Name: "ask", Arguments: []byte(`{"message":"good morning"}`)}
	fmt.Println(must(set.Call(context.Background(), call, tools.Options{})))
	if err := client.Close(); err != nil {
		fmt.Println(err)
	}
	if err := <-served; err != nil && !errors.Is(err, context.Canceled) {
		fmt.Println(err)
	}
	// Output: tool: good morning
}
