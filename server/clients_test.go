package server_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/internal/protocolgraphs"
	"github.com/weft-go/weft/server"
	"github.com/weft-go/weft/server/internal/replaytest"
	"github.com/weft-go/weft/server/runs/memruns"
)

// The tests of this file are for mistakes that were found with real clients.

// exchange sends a request and decodes the answer.
func exchange(t *testing.T, method, url, body string, into any) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	require.NoError(t, err)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer func() { assert.NoError(t, resp.Body.Close()) }()
	require.Equal(t, http.StatusOK, resp.StatusCode, "%s %s", method, url)
	require.NoError(t, json.NewDecoder(resp.Body).Decode(into))
}

func TestSubgraphsAreDescribed(t *testing.T) {
	t.Parallel()
	base := serve(t, memcheckpoint.New(memcheckpoint.Options{}), memruns.New(), replaytest.NewGate())
	var found []struct {
		ID string `json:"assistant_id"`
	}
	exchange(t, http.MethodPost, base+"/assistants/search", `{"graph_id": "sub"}`, &found)
	require.Len(t, found, 1)
	for path, want := range map[string][]string{
		"/subgraphs": {"child"}, "/subgraphs?recurse=true": {"child"}, "/subgraphs/child": {"child"}, "/subgraphs/close": {}, "/subgraphs/child%7Cx": {},
	} {
		got := map[string]struct {
			State struct {
				Properties map[string]struct{ Type string }
			} `json:"state_schema"`
		}{}
		exchange(t, http.MethodGet, base+"/assistants/"+found[0].ID+path, "", &got)
		assert.Len(t, got, len(want), path)
		for _, name := range want {
			properties := got[name].State.Properties
			assert.Len(t, properties, 3)
			for _, channel := range []string{"topic", "draft", "out"} {
				assert.Equal(t, "string", properties[channel].Type, channel)
			}
		}
	}
}

func TestCronsAreFoundByWhetherTheyAreEnabled(t *testing.T) {
	t.Parallel()
	base := serve(t, memcheckpoint.New(memcheckpoint.Options{}), memruns.New(), replaytest.NewGate())
	var made struct {
		ID string `json:"cron_id"`
	}
	exchange(t, http.MethodPost, base+"/runs/crons", `{"assistant_id": "echo", "schedule": "0 0 1 1 *", "enabled": false, "input": {}}`, &made)
	for body, want := range map[string]int{`{}`: 1, `{"enabled": true}`: 0, `{"enabled": false}`: 1} {
		var found []json.RawMessage
		exchange(t, http.MethodPost, base+"/runs/crons/search", body, &found)
		assert.Len(t, found, want, body)
	}
}

// Once the SDK for JavaScript has seen an id, it reads an event at each empty line.
func TestHeartbeatsEndNoEvent(t *testing.T) {
	t.Parallel()
	graphs, err := protocolgraphs.New(memcheckpoint.New(memcheckpoint.Options{}))
	require.NoError(t, err)
	s, err := server.New(server.Options{Graphs: graphs, Runs: memruns.New(), Heartbeat: 10 * time.Millisecond})
	require.NoError(t, err)
	web := httptest.NewServer(s)
	t.Cleanup(func() {
		web.CloseClientConnections()
		web.Close()
		assert.NoError(t, s.Close(context.Background()))
	})
	body := `{"assistant_id": "slow", "input": {"tag": "a", "n": 2}, "stream_mode": "custom", "stream_resumable": true}`
	resp, err := http.Post(web.URL+"/runs/stream", "application/json", strings.NewReader(body)) //nolint:noctx // the test ends the server
	require.NoError(t, err)
	defer func() { assert.NoError(t, resp.Body.Close()) }()
	beats, before := 0, ""
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); before = lines.Text() {
		if strings.HasPrefix(lines.Text(), ":") {
			beats++
		}
		if lines.Text() == "" {
			assert.False(t, strings.HasPrefix(before, ":"), "an empty line follows a comment")
		}
	}
	assert.Positive(t, beats)
}

// For the stream modes, version 2.0.0 of the SDK for JavaScript sends a JSON array, and the SDK for Python an empty
// value.
func TestModesOfJoinedStreams(t *testing.T) {
	t.Parallel()
	base := serve(t, memcheckpoint.New(memcheckpoint.Options{}), memruns.New(), replaytest.NewGate())
	var run struct {
		ID     string `json:"run_id"`
		Thread string `json:"thread_id"`
	}
	exchange(t, http.MethodPost, base+"/runs", `{"assistant_id": "slow", "input": {"tag": "a", "n": 1}, "stream_mode": ["custom", "updates"],
		"stream_resumable": true, "on_completion": "keep"}`, &run)
	for _, query := range []string{"stream_mode=&cancel_on_disconnect=false", "stream_mode=custom&stream_mode=updates", "stream_mode=custom,updates", "stream_mode=%5B%22custom%22,%22updates%22%5D"} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, base+"/threads/"+run.Thread+"/runs/"+run.ID+"/stream?"+query, nil)
		require.NoError(t, err)
		req.Header.Set("Last-Event-ID", "-1")
		resp, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		body, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		for _, name := range []string{"custom", "updates"} {
			assert.Contains(t, string(body), "event: "+name+"\n", query)
		}
	}
}

func TestMessageMayBeARoleAndAText(t *testing.T) {
	t.Parallel()
	base := serve(t, memcheckpoint.New(memcheckpoint.Options{}), memruns.New(), replaytest.NewGate())
	for _, messages := range []string{`["user","hi"]`, `[["user","hi"]]`, `"hi"`} {
		var out struct {
			Messages []struct{ Content string }
		}
		exchange(t, http.MethodPost, base+"/runs/wait", `{"assistant_id": "echo", "input": {"messages": `+messages+`}}`, &out)
		if assert.Len(t, out.Messages, 2, messages) {
			assert.Equal(t, "echo: hi", out.Messages[1].Content)
		}
	}
}

// Clients of the thread-centric protocol cannot ask for a resumable run. Another page can still read such a run from its
// beginning.
func TestARunOfACommandIsJoinedFromItsBeginning(t *testing.T) {
	t.Parallel()
	base := serve(t, memcheckpoint.New(memcheckpoint.Options{}), memruns.New(), replaytest.NewGate())
	var started struct {
		Result struct {
			Run string `json:"run_id"`
		} `json:"result"`
	}
	thread := base + "/threads/" + studioThread
	exchange(t, http.MethodPost, thread+"/commands", `{"id":1,"method":"run.start","params":{"assistant_id":"echo","input":{"messages":[{"type":"human","content":"one"}]}}}`, &started)
	var values json.RawMessage
	exchange(t, http.MethodGet, thread+"/runs/"+started.Result.Run+"/join", "", &values)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, thread+"/runs/"+started.Result.Run+"/stream?stream_mode=values", nil)
	require.NoError(t, err)
	req.Header.Set("Last-Event-ID", "-1")
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer func() { assert.NoError(t, resp.Body.Close()) }()
	data, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	assert.Contains(t, string(data), `"content":"one"`)
}
