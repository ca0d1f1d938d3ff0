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
	"github.com/weft-go/weft/server"
	"github.com/weft-go/weft/server/runs/memruns"
	"github.com/weft-go/weft/state"
)

// The prompt of a question has the JSON schema of its answers in the field "schema". The server refuses an answer that
// does not fit, and the question stays open.
func Example_answerSchema() {
	type prompt struct {
		Title  string          `json:"title"`
		Schema json.RawMessage `json:"schema"`
	}
	cups := state.Last[int]("cups")
	ask := graph.NewInterrupt[prompt, int]("cups")
	b := graph.New("tea", cups)
	b.Node("ask", func(ctx context.Context, _ state.View) (state.Update, error) {
		n, err := ask.Wait(ctx, prompt{"How many cups?", json.RawMessage(`{"type":"integer","minimum":1}`)})
		return state.Update{cups.Put(n)}, err
	})
	b.Edge(graph.Start, "ask")
	g, err := b.Compile(graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})})
	if err != nil {
		fmt.Println(err)
		return
	}
	s, err := server.New(server.Options{Graphs: map[string]*graph.Graph{"tea": g}, Runs: memruns.New()})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = s.Close(context.Background()) }()
	web := httptest.NewServer(s)
	defer web.Close()

	const thread = "/threads/4b0b7a2e-8b0c-4f0e-9a59-3c2d1c8d2f10"
	run := func(request string) {
		resp, err := http.Post(web.URL+thread+"/runs/wait", "application/json", strings.NewReader(request))
		if err != nil {
			fmt.Println(err)
			return
		}
		defer func() { _ = resp.Body.Close() }()
		var result struct {
			Cups  int
			Asked []struct{ Value json.RawMessage } `json:"__interrupt__"`
			Error *struct{ Message string }         `json:"__error__"`
		}
		err = json.NewDecoder(resp.Body).Decode(&result)
		switch {
		case err != nil:
			fmt.Println(err)
		case result.Error != nil:
			_, why, _ := strings.Cut(result.Error.Message, ": ") // after the id of the question
			fmt.Println("refused:", why)
		case len(result.Asked) > 0:
			fmt.Println("asked:", string(result.Asked[0].Value))
		default:
			fmt.Println("cups:", result.Cups)
		}
	}
	run(`{"assistant_id": "tea", "if_not_exists": "create", "input": {}}`)
	for _, answer := range []string{`"many"`, `0`, `2.0`} {
		run(`{"assistant_id": "tea", "command": {"resume": ` + answer + `}}`)
	}
	// Output:
	// asked: {"title":"How many cups?","schema":{"type":"integer","minimum":1}}
	// refused: the answer does not fit the question: the answer: want an integer of at least 1, got the string "many"
	// refused: the answer does not fit the question: the answer: want an integer of at least 1, got 0
	// cups: 2
}
