package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/llmtest"
	"github.com/weft-go/weft/server"
	"github.com/weft-go/weft/server/runs/memruns"
	"github.com/weft-go/weft/state"
)

// A client of OpenAI's protocol offers a tool, and the model of the graph calls it.
func Example_clientTools() {
	model := llmtest.NewScript(llmtest.Call("clock", `{"zone":"Athens"}`))
	b := graph.New("helper", agent.Messages, server.ClientTools)
	b.Node("model", func(ctx context.Context, v state.View) (state.Update, error) {
		request := llm.Request{Messages: agent.Messages.Get(v), Tools: server.ClientTools.Get(v)}
		reply, err := llm.Generate(ctx, model, request)
		return state.Update{agent.Messages.Put(reply)}, err
	})
	b.Edge(graph.Start, "model")
	g, err := b.Compile(graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})})
	if err != nil {
		fmt.Println(err)
		return
	}
	s, err := server.New(server.Options{Graphs: map[string]*graph.Graph{"helper": g}, Runs: memruns.New()})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = s.Close(context.Background()) }()
	web := httptest.NewServer(s)
	defer web.Close()

	resp, err := http.Post(web.URL+"/v1/chat/completions", "application/json", strings.NewReader(`{
		"model": "helper",
		"messages": [{"role": "user", "content": "What time is it in Athens?"}],
		"tools": [{"type": "function", "function": {"name": "clock", "description": "Tells the time."}}]
	}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = resp.Body.Close() }()
	var answer struct {
		Choices []struct {
			Message struct {
				Calls []struct {
					Function struct{ Name, Arguments string }
				} `json:"tool_calls"`
			}
			Reason string `json:"finish_reason"`
		}
	}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		fmt.Println(err)
		return
	}
	choice := answer.Choices[0]
	fmt.Println(choice.Reason, choice.Message.Calls[0].Function)
	// Output: tool_calls {clock {"zone":"Athens"}}
}
