package server_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"

	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/server"
	"github.com/weft-go/weft/server/runs/memruns"
	"github.com/weft-go/weft/state"
)

// Users run their own threads in the order of the graph. Only users with the permission "approve" answer questions and
// name a checkpoint. Nobody sends a run to a node or updates a state.
func ExampleAccess() {
	ask := graph.NewInterrupt[string, bool]("ask")
	b := graph.New("pay")
	b.Node("ask", func(ctx context.Context, _ state.View) (state.Update, error) {
		_, err := ask.Wait(ctx, "Pay 100 €?")
		return nil, err
	})
	b.Node("pay", func(context.Context, state.View) (state.Update, error) {
		fmt.Println("paid")
		return nil, nil
	})
	b.Edge(graph.Start, "ask")
	b.Edge("ask", "pay")
	g, err := b.Compile(graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})})
	if err != nil {
		fmt.Println(err)
		return
	}
	s, err := server.New(server.Options{
		Graphs: map[string]*graph.Graph{"pay": g}, Runs: memruns.New(),
		Auth: func(r *http.Request) (server.User, error) { // a real program verifies a token
			user, permission, _ := strings.Cut(r.Header.Get("X-Test-User"), ":")
			return server.User{ID: user, Permissions: []string{permission}}, nil
		},
		Authorize: func(_ context.Context, a server.Access) (server.Filter, error) {
			approves := slices.Contains(a.User.Permissions, "approve")
			switch {
			case len(a.Goto) > 0 || len(a.AsNode) > 0:
				return server.Filter{}, &server.Refusal{Status: http.StatusForbidden, Detail: "Runs follow the order of the graph."}
			case (a.Resume || a.Checkpoint != "") && !approves: // a run at an older checkpoint repeats an approved action
				return server.Filter{}, &server.Refusal{Status: http.StatusForbidden, Detail: "Somebody else approves this."}
			case approves && a.Resource == server.ResourceThreads && (a.Action == server.ActionCreateRun || a.Action == server.ActionRead):
				return server.Filter{}, nil // the threads of all users
			}
			return server.Filter{Owner: a.User.ID}, nil
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = s.Close(context.Background()) }()
	for _, c := range []struct{ user, request string }{
		{"ann", `"input": {}`},
		{"ann", `"command": {"goto": "pay"}`},
		{"ann", `"command": {"resume": true}`},
		{"boss:approve", `"command": {"resume": true}`},
	} {
		r := httptest.NewRequest(http.MethodPost, "/threads/4b0b7a2e-8b0c-4f0e-9a59-3c2d1c8d2f10/runs/wait",
			strings.NewReader(`{"assistant_id": "pay", "if_not_exists": "create", `+c.request+`}`))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("X-Test-User", c.user)
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		fmt.Println(c.user, c.request, w.Code)
	}
	// Output:
	// ann "input": {} 200
	// ann "command": {"goto": "pay"} 403
	// ann "command": {"resume": true} 403
	// paid
	// boss:approve "command": {"resume": true} 200
}
