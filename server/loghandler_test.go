package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/slogtest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/server"
	"github.com/weft-go/weft/server/runs/memruns"
	"github.com/weft-go/weft/state"
)

// The studio shows the records that a node writes with its context to a logger of LogHandler, within limits. The next
// handler gets all records, and clients get none.
func TestLogsOfANode(t *testing.T) {
	t.Parallel()
	var written bytes.Buffer
	logger := slog.New(server.LogHandler(slog.NewJSONHandler(&written, nil)))
	n := state.LastWins[int]("n")
	b := graph.New("talk", n)
	b.Node("say", func(ctx context.Context, _ state.View) (state.Update, error) {
		l := logger.With("shop", "A").WithGroup("order")
		l.WarnContext(ctx, "is late", "id", 9007199254740993)
		l.DebugContext(ctx, "not enabled")
		logger.InfoContext(ctx, strings.Repeat("ä", 4096), "large", strings.Repeat("x", 5000))
		logger.Info("without the context")
		return state.Update{n.Put(1)}, nil
	})
	b.Node("chat", func(ctx context.Context, _ state.View) (state.Update, error) {
		for i := range 150 {
			logger.InfoContext(ctx, "line", "i", i)
		}
		return nil, nil
	})
	b.Edge(graph.Start, "say")
	b.Edge("say", "chat")
	b.Edge("chat", graph.End)
	g, err := b.Compile(graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})})
	require.NoError(t, err)
	s := newServer(t, server.Options{Graphs: map[string]*graph.Graph{"talk": g}, Runs: memruns.New()})
	status, _ := send(t, s, http.MethodPost, "/threads", `{"thread_id":"`+studioThread+`"}`)
	require.Equal(t, http.StatusOK, status)
	_, stream := sendText(t, s, "/threads/"+studioThread+"/runs/stream", `{"assistant_id":"talk","input":{"n":0},"stream_mode":["custom","tasks","debug","values","updates","events"]}`)
	assert.NotContains(t, stream, "is late", "clients get no logs")
	assert.Contains(t, stream, "event: values")
	marks := get(t, s, "/weft/threads/"+studioThread+"/timeline")
	logs := map[any][]any{}
	for _, m := range field(marks, "checkpoints").([]any) {
		for _, task := range field(m, "tasks").([]any) {
			lines, _ := field(task, "logs").([]any)
			logs[field(task, "node")] = append(logs[field(task, "node")], lines...)
		}
	}
	require.Len(t, logs["say"], 2)
	late := logs["say"][0]
	assert.Equal(t, "WARN", field(late, "level"))
	assert.Equal(t, "is late", field(late, "message"))
	assert.Equal(t, map[string]any{"shop": "A", "order": map[string]any{"id": json.Number("9007199254740993")}}, field(late, "attrs"))
	assert.Equal(t, strings.Repeat("ä", 2048)+"…", field(logs["say"][1], "message"))
	assert.Nil(t, field(logs["say"][1], "attrs"))
	require.Len(t, logs["chat"], 100)
	assert.Equal(t, map[string]any{"i": json.Number("99")}, field(logs["chat"][99], "attrs"))
	assert.Equal(t, 153, strings.Count(written.String(), "\n"))
}

// sendText is like send, for a response that is not JSON.
func sendText(t *testing.T, h http.Handler, path, body string) (int, string) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, strings.NewReader(body))
	r.Host, r.RemoteAddr = "localhost", "127.0.0.1:1"
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

func TestLogHandlerPassesRecordsOn(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	require.NoError(t, slogtest.TestHandler(server.LogHandler(slog.NewJSONHandler(&b, nil)), func() (all []map[string]any) {
		for line := range strings.Lines(b.String()) {
			var m map[string]any
			require.NoError(t, json.Unmarshal([]byte(line), &m))
			all = append(all, m)
		}
		return all
	}))
}

func TestNothingIsEmittedOutsideOfAServer(t *testing.T) {
	t.Parallel()
	logger := slog.New(server.LogHandler(slog.NewJSONHandler(&bytes.Buffer{}, nil)))
	n := state.LastWins[int]("n")
	b := graph.New("talk", n)
	b.Node("say", func(ctx context.Context, _ state.View) (state.Update, error) {
		logger.InfoContext(ctx, "hello")
		return state.Update{n.Put(1)}, nil
	})
	b.Edge(graph.Start, "say")
	b.Edge("say", graph.End)
	g, err := b.Compile(graph.Options{})
	require.NoError(t, err)
	for e, err := range g.Stream(t.Context(), graph.Begin()) {
		require.NoError(t, err)
		_, emitted := e.(graph.Emitted)
		assert.False(t, emitted)
	}
}
