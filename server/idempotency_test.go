package server_test

import (
	"io"
	"maps"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/internal/uuid"
	"github.com/weft-go/weft/server"
	"github.com/weft-go/weft/server/runs"
)

// runsOf returns the number of runs.
func runsOf(t *testing.T, w *wire) int {
	t.Helper()
	_, n, err := w.runs.Search(t.Context(), runs.Query{Kind: runs.Run})
	require.NoError(t, err)
	return n
}

func bodyOf(t *testing.T, resp *http.Response) string {
	t.Helper()
	data, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return string(data)
}

// A request that a client repeats with its key starts no second run, and gets the answer of the first run.
func TestRepeatedRequestStartsNoSecondRun(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		stateless bool
		suffix    string
	}{
		"create": {}, "wait": {suffix: "/wait"}, "stream": {suffix: "/stream"},
		"create, stateless": {stateless: true}, "wait, stateless": {stateless: true, suffix: "/wait"}, "stream, stateless": {stateless: true, suffix: "/stream"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWire(t, nil)
			path := "/runs" + c.suffix
			if !c.stateless {
				path = "/threads/" + w.thread() + path
			}
			body := map[string]any{
				"assistant_id": "slow", "input": map[string]any{"tag": "a", "n": 1}, "stream_resumable": true, "on_completion": "keep",
			}
			send := func(key string) (run, answer string) {
				resp := w.send(http.MethodPost, path, body, "Idempotency-Key", key)
				answer = bodyOf(t, resp)
				require.Equal(t, http.StatusOK, resp.StatusCode, answer)
				return resp.Header.Get("Content-Location"), answer
			}
			first, answer := send("one")
			again, repeated := send("one")
			assert.Equal(t, first, again)
			assert.Equal(t, 1, runsOf(t, w))
			if c.suffix != "" { // otherwise the answer has the status of the run, which may have changed
				assert.Equal(t, answer, repeated)
			}
			other, _ := send("two")
			assert.NotEqual(t, first, other)
			assert.Equal(t, 2, runsOf(t, w))
		})
	}
}

// A key identifies one request of one user on one thread.
func TestKeyBelongsToOneRequest(t *testing.T) {
	t.Parallel()
	w := newWire(t, func(o *server.Options) {
		o.Auth = func(r *http.Request) (server.User, error) { return server.User{ID: r.Header.Get("X-User")}, nil }
	})
	body := map[string]any{"assistant_id": "slow", "input": map[string]any{"tag": "a", "n": 1}, "if_not_exists": "create", "multitask_strategy": "reject"}
	other := maps.Clone(body)
	other["input"] = map[string]any{"tag": "b", "n": 1}
	anns, bobs := uuid.New(), uuid.New()
	for _, c := range []struct {
		name, user, thread, key string
		body                    map[string]any
		status, runs            int
	}{
		{"a new key", "ann", anns, "k", body, 200, 1},
		{"the same request", "ann", anns, "k", body, 200, 1},
		{"another body", "ann", anns, "k", other, 422, 1},
		{"another thread", "ann", uuid.New(), "k", body, 200, 2},
		{"another user", "bob", bobs, "k", body, 200, 3},
		{"the thread of another user", "bob", anns, "k", body, 404, 3},
		{"a long key", "ann", anns, strings.Repeat("k", 256), body, 422, 3},
		{"no key", "ann", uuid.New(), "", body, 200, 4},
	} {
		resp := w.send(http.MethodPost, "/threads/"+c.thread+"/runs", c.body, "X-User", c.user, "Idempotency-Key", c.key)
		assert.Equal(t, c.status, resp.StatusCode, "%s: %s", c.name, bodyOf(t, resp))
		assert.Equal(t, c.runs, runsOf(t, w), c.name)
	}
}

// Simultaneous requests with one key start one run. If the run is not stored yet, the response tells the client to repeat
// the request.
func TestRequestsAtOnceStartOneRun(t *testing.T) {
	t.Parallel()
	w := newWire(t, nil)
	thread := w.thread()
	body := map[string]any{"assistant_id": "slow", "input": map[string]any{"tag": "a", "n": 1}}
	answers := make([]*http.Response, 20)
	var all sync.WaitGroup
	for i := range answers {
		all.Go(func() {
			answers[i] = w.send(http.MethodPost, "/threads/"+thread+"/runs", body, "Idempotency-Key", "k")
		})
	}
	all.Wait()
	started := map[string]bool{}
	for _, resp := range answers {
		if resp.StatusCode == http.StatusConflict {
			assert.NotEmpty(t, resp.Header.Get("Retry-After"))
			continue
		}
		require.Equal(t, http.StatusOK, resp.StatusCode)
		started[resp.Header.Get("Content-Location")] = true
	}
	assert.Len(t, started, 1)
	assert.Equal(t, 1, runsOf(t, w))
}
