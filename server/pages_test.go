package server_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/server"
	"github.com/weft-go/weft/server/runs/memruns"
	"github.com/weft-go/weft/server/ui"
	"github.com/weft-go/weft/state"
)

// A browser gets a page before it has credentials, but nothing else.
func TestPagesNeedNoUser(t *testing.T) {
	t.Parallel()
	name := state.Last[string]("name")
	b := graph.New("g", name)
	b.Node("n", func(context.Context, state.View) (state.Update, error) { return nil, nil })
	b.Edge(graph.Start, "n")
	g, err := b.Compile(graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})})
	require.NoError(t, err)
	o := server.Options{
		Graphs: map[string]*graph.Graph{"g": g}, Runs: memruns.New(), Hosts: []string{"127.0.0.1"},
		Auth: func(*http.Request) (server.User, error) { return server.User{}, assert.AnError },
		Chat: &ui.Chat{Title: "Ask us"},
	}
	s, err := server.New(o)
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close(t.Context())) }()
	web := httptest.NewServer(s)
	defer web.Close()
	status := func(path string) (int, string) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, web.URL+path, nil)
		require.NoError(t, err)
		resp, err := web.Client().Do(r)
		require.NoError(t, err)
		defer func() { _ = resp.Body.Close() }()
		text, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		return resp.StatusCode, string(text)
	}
	for path, want := range map[string]int{
		"/chat/": 200, "/chat": 200, "/chat/theme.js": 200, "/chat/none.js": 404,
		"/studio/": 401, "/info": 401, "/chatty": 401, "/threads/chat/": 401,
	} {
		got, _ := status(path)
		assert.Equal(t, want, got, path)
	}
	_, text := status("/chat/")
	assert.Contains(t, text, "<title>Ask us</title>")

	o.Chat = &ui.Chat{Theme: map[string]string{"colour": "red"}}
	_, err = server.New(o)
	require.ErrorContains(t, err, `server: ui: there is no variable "colour" in a theme`)
}
