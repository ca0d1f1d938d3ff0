package server_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
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

// Without credentials, a browser gets a page, but nothing else.
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

// A client that prefers a short response gets the history of a thread without values.
func TestHistoryCanBeShort(t *testing.T) {
	t.Parallel()
	name := state.Last[string]("name")
	b := graph.New("g", name)
	b.Node("n", func(context.Context, state.View) (state.Update, error) { return nil, nil })
	b.Edge(graph.Start, "n")
	g, err := b.Compile(graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})})
	require.NoError(t, err)
	s, err := server.New(server.Options{Graphs: map[string]*graph.Graph{"g": g}, Runs: memruns.New()})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close(t.Context())) }()
	web := httptest.NewServer(s)
	defer web.Close()
	const thread = "/threads/0d4d2b3c-4a51-4c38-9a5e-1f2c3d4e5f60"
	call := func(path, body, prefer string) string {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, web.URL+path, strings.NewReader(body))
		require.NoError(t, err)
		r.Header.Set("Prefer", prefer)
		resp, err := web.Client().Do(r)
		require.NoError(t, err)
		defer func() { _ = resp.Body.Close() }()
		text, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		require.Equal(t, 200, resp.StatusCode, "%s", text)
		return string(text)
	}
	call(thread+"/runs/wait", `{"assistant_id":"g","input":{"name":"Ada"},"if_not_exists":"create"}`, "")
	type checkpoint struct {
		ID     string            `json:"checkpoint_id"`
		Parent string            `json:"parent_checkpoint_id"`
		Next   []string          `json:"next"`
		Values map[string]string `json:"values"`
		Tasks  []struct {
			Name   string            `json:"name"`
			Result map[string]string `json:"result"`
		} `json:"tasks"`
	}
	var short, long []checkpoint
	require.NoError(t, json.Unmarshal([]byte(call(thread+"/history", `{}`, "return=minimal")), &short))
	require.NoError(t, json.Unmarshal([]byte(call(thread+"/history", `{}`, "")), &long))
	require.Len(t, short, len(long))
	require.Len(t, short, 3)
	for i := range short {
		assert.Empty(t, short[i].Values)
		assert.Equal(t, [3]any{long[i].ID, long[i].Parent, long[i].Next}, [3]any{short[i].ID, short[i].Parent, short[i].Next})
	}
	start := short[2].Tasks
	require.Len(t, start, 1)
	assert.Equal(t, map[string]string{"name": "Ada"}, start[0].Result, "the input is told")
}
