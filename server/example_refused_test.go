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

// docs:begin cups

// Cups is the type of an answer. It refuses a number below one.
type Cups int

func (c *Cups) UnmarshalJSON(data []byte) error {
	var n int
	if err := json.Unmarshal(data, &n); err != nil {
		return err
	}
	if n < 1 {
		return fmt.Errorf("want at least one cup, got %d", n)
	}
	*c = Cups(n)
	return nil
}

// docs:end

var askCups = graph.NewInterrupt[string, Cups]("order_cups")

// The type of an answer rejects an invalid answer, and the question is open again.
func Example_refusedAnswer() {
	ordered := state.Last[Cups]("ordered")
	b := graph.New("shop", ordered)
	b.Node("order", func(ctx context.Context, _ state.View) (state.Update, error) {
		n, err := askCups.Wait(ctx, "How many cups?")
		return state.Update{ordered.Put(n)}, err
	})
	b.Edge(graph.Start, "order")
	g, err := b.Compile(graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})})
	if err != nil {
		fmt.Println(err)
		return
	}
	s, err := server.New(server.Options{Graphs: map[string]*graph.Graph{"shop": g}, Runs: memruns.New()})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = s.Close(context.Background()) }()
	const thread = "/threads/4b0b7a2e-8b0c-4f0e-9a59-3c2d1c8d2f10"
	call := func(method, path, body string) (out struct {
		Ordered Cups
		Status  string
		Error   *struct{ Message string } `json:"__error__"`
	},
	) {
		r := httptest.NewRequest(method, thread+path, strings.NewReader(body))
		r.Host, r.RemoteAddr = "127.0.0.1", "127.0.0.1:1"
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil {
			fmt.Println(err)
		}
		return out
	}
	call(http.MethodPost, "/runs/wait", `{"assistant_id": "shop", "if_not_exists": "create", "input": {}}`)
	for _, answer := range []string{"0", "3"} {
		got := call(http.MethodPost, "/runs/wait", `{"assistant_id": "shop", "command": {"resume": `+answer+`}}`)
		if got.Error != nil {
			fmt.Println(got.Error.Message)
		}
		fmt.Println("ordered:", got.Ordered, "thread:", call(http.MethodGet, "", "").Status)
	}
	// Output:
	// graph: interrupt "order_cups": the answer 0 cannot be read, and the question is open again: want at least one cup, got 0
	// ordered: 0 thread: interrupted
	// ordered: 3 thread: idle
}
