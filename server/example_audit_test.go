package server_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/server"
	"github.com/weft-go/weft/server/runs/memruns"
	"github.com/weft-go/weft/state"
)

// Authorize writes an audit log of the changes by users, and refuses new runs during maintenance. The server may call it
// more than once for a request.
func Example_audit() {
	audit := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey || a.Key == slog.LevelKey {
			return slog.Attr{}
		}
		return a
	}}))
	var maintenance atomic.Bool // a signal or a route of the program sets it
	authorize := func(_ context.Context, a server.Access) (server.Filter, error) {
		own := server.Filter{Owner: a.User.ID}
		switch {
		case a.Action == server.ActionRead || a.Action == server.ActionSearch:
			return own, nil
		case a.Action == server.ActionCreateRun && maintenance.Load():
			return own, &server.Refusal{Status: http.StatusServiceUnavailable, Detail: "Maintenance. Try again later.", RetryAfter: time.Minute}
		}
		audit.Info("change", "user", a.User.ID, "action", a.Action, "of", a.Resource, "id", a.ID)
		return own, nil
	}

	text := state.Last[string]("text")
	b := graph.New("echo", text)
	b.Node("say", func(context.Context, state.View) (state.Update, error) { return nil, nil })
	b.Edge(graph.Start, "say")
	g, err := b.Compile(graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})})
	if err != nil {
		fmt.Println(err)
		return
	}
	s, err := server.New(server.Options{
		Graphs: map[string]*graph.Graph{"echo": g}, Runs: memruns.New(), Authorize: authorize,
		Auth: func(*http.Request) (server.User, error) { return server.User{ID: "ann"}, nil },
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = s.Close(context.Background()) }()
	const thread = "/threads/4b0b7a2e-8b0c-4f0e-9a59-3c2d1c8d2f10"
	ask := func(method, path, body string) {
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequest(method, path, strings.NewReader(body)))
		fmt.Println(w.Code)
	}
	ask(http.MethodPost, "/threads", `{"thread_id": "4b0b7a2e-8b0c-4f0e-9a59-3c2d1c8d2f10"}`)
	ask(http.MethodPost, thread+"/runs/wait", `{"assistant_id": "echo", "input": {"text": "hi"}}`)
	maintenance.Store(true)
	ask(http.MethodPost, thread+"/runs/wait", `{"assistant_id": "echo", "input": {"text": "hi"}}`)
	ask(http.MethodGet, thread+"/state", "")
	// Output:
	// msg=change user=ann action=create of=threads id=""
	// 200
	// msg=change user=ann action=create_run of=threads id=4b0b7a2e-8b0c-4f0e-9a59-3c2d1c8d2f10
	// 200
	// 503
	// 200
}
