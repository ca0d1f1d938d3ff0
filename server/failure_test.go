package server_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The graph panics on an empty list of messages. No client sees the value or the place of the panic.
func TestAPanicOfANodeIsNotShown(t *testing.T) {
	t.Parallel()
	_, web := testServer(t, nil)
	thread := ask(t, web, "ann", http.MethodPost, "/threads", nil).field(t, "thread_id")
	run := map[string]any{"assistant_id": "echo", "input": map[string]any{"messages": []any{}}, "stream_mode": []string{"values", "tasks", "debug", "updates"}}
	for _, path := range []string{"/runs/wait", "/runs/stream", "/threads/" + thread + "/runs/wait", "/threads/" + thread + "/runs/stream"} {
		got := ask(t, web, "ann", http.MethodPost, path, run)
		require.Equal(t, http.StatusOK, got.status)
		assert.Contains(t, got.body, "a node panicked; the log of the server has the reason")
		assert.NotContains(t, got.body, "index out of range", path)
		assert.NotContains(t, got.body, ".go", path)
	}
	for _, path := range []string{"/threads/" + thread, "/threads/" + thread + "/state", "/threads/" + thread + "/history?limit=10"} {
		got := ask(t, web, "ann", http.MethodGet, path, nil)
		assert.NotContains(t, got.body, "index out of range", path)
		assert.NotContains(t, got.body, ".go", path)
	}
}
