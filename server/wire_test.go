package server_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/internal/protocolgraphs"
	"github.com/weft-go/weft/internal/uuid"
	"github.com/weft-go/weft/server"
	"github.com/weft-go/weft/server/runs"
	"github.com/weft-go/weft/server/runs/memruns"
)

// A wire is a server with the recorded graphs. A test sends it requests over HTTP.
type wire struct {
	t      *testing.T
	url    string
	runs   runs.Store
	server *server.Server
}

func newWire(t *testing.T, change func(*server.Options)) *wire {
	t.Helper()
	graphs, err := protocolgraphs.New(memcheckpoint.New(memcheckpoint.Options{}))
	require.NoError(t, err)
	o := server.Options{Graphs: graphs, Runs: memruns.New()}
	if change != nil {
		change(&o)
	}
	s, err := server.New(o)
	require.NoError(t, err)
	web := httptest.NewServer(s)
	t.Cleanup(func() {
		web.CloseClientConnections()
		web.Close()
		assert.NoError(t, s.Close(context.Background()))
	})
	return &wire{t: t, url: web.URL, runs: o.Runs, server: s}
}

// send sends a request and returns the response. The body is JSON, or nil.
func (w *wire) send(method, path string, body any, header ...string) *http.Response {
	w.t.Helper()
	var data io.Reader
	if body != nil {
		data = bytes.NewReader(encoded(body))
	}
	r, err := http.NewRequestWithContext(w.t.Context(), method, w.url+path, data)
	require.NoError(w.t, err)
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(r)
	require.NoError(w.t, err)
	w.t.Cleanup(func() { _ = resp.Body.Close() })
	return resp
}

// json sends a request and decodes the response, after a check that its status is 200.
func (w *wire) json(method, path string, body any, header ...string) map[string]any {
	w.t.Helper()
	resp := w.send(method, path, body, header...)
	data, err := io.ReadAll(resp.Body)
	require.NoError(w.t, err)
	require.Equal(w.t, http.StatusOK, resp.StatusCode, "%s", data)
	var out map[string]any
	require.NoError(w.t, json.Unmarshal(data, &out), "%s", data)
	return out
}

// thread creates a thread and returns its id.
func (w *wire) thread() string {
	w.t.Helper()
	return w.json(http.MethodPost, "/threads", map[string]any{"thread_id": uuid.New()})["thread_id"].(string)
}

// A wireEvent is an event of a stream.
type wireEvent struct{ name, id, data string }

// events reads the events of a response up to an event for which last is true, or to the end of the response.
func (w *wire) events(resp *http.Response, last func(wireEvent) bool) []wireEvent {
	w.t.Helper()
	require.Equal(w.t, http.StatusOK, resp.StatusCode)
	out, err := readEvents(resp.Body, last)
	require.NoError(w.t, err)
	return out
}

// readEvents reads complete events of a stream up to an event for which last is true, or to the end of the stream.
func readEvents(from io.Reader, last func(wireEvent) bool) (out []wireEvent, err error) {
	var e wireEvent
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		field, value, _ := strings.Cut(lines.Text(), ": ")
		switch field {
		case "event":
			e.name = value
		case "id":
			e.id = value
		case "data":
			e.data = value
		case "":
			if e == (wireEvent{}) || value != "" { // a comment, or the empty line after one
				continue
			}
			out = append(out, e)
			if last != nil && last(e) {
				return out, nil
			}
			e = wireEvent{}
		}
	}
	return out, lines.Err()
}

func itoa(n int) string { return strconv.Itoa(n) }

func names(events []wireEvent) []string {
	var out []string
	for _, e := range events {
		out = append(out, e.name)
	}
	return out
}

// encoded returns the JSON of a value.
func encoded(v any) json.RawMessage {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return data
}
