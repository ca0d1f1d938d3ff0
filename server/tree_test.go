package server_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/internal/uuid"
	"github.com/weft-go/weft/server"
)

// command sends a command of a thread over HTTP.
func (w *wire) command(thread, method string, params any, header ...string) map[string]any {
	w.t.Helper()
	return w.json(http.MethodPost, "/threads/"+thread+"/commands", map[string]any{"id": 1, "method": method, "params": params}, header...)
}

func TestTreeOfARun(t *testing.T) {
	t.Parallel()
	w := newWire(t, nil)
	thread := w.thread()
	input := map[string]any{"assistant_id": "sub", "input": map[string]any{"topic": "tea"}}
	w.json(http.MethodPost, "/threads/"+thread+"/runs/wait", input)
	got := w.command(thread, "agent.getTree", map[string]any{})
	require.Equal(t, "success", got["type"], got)
	tree := got["result"].(map[string]any)["tree"].(map[string]any)
	first := tree["children"].([]any)[0].(map[string]any)
	assert.Equal(t, []any{"completed", "sub", []any{}}, []any{tree["status"], tree["graph_name"], tree["namespace"]})
	assert.Equal(t, []any{"completed", "child"}, []any{first["status"], first["graph_name"]})
	require.Len(t, first["namespace"], 1)
	assert.Contains(t, first["namespace"].([]any)[0], "child:")

	input["input"] = map[string]any{"topic": "?tea"}
	w.json(http.MethodPost, "/threads/"+thread+"/runs/wait", input)
	var runs []map[string]any
	require.NoError(t, json.NewDecoder(w.send(http.MethodGet, "/threads/"+thread+"/runs", nil).Body).Decode(&runs))
	require.Len(t, runs, 2)
	newest, oldest := runs[0]["run_id"], runs[1]["run_id"]
	for run, want := range map[any]string{nil: "interrupted", newest: "interrupted", oldest: "completed"} {
		params := map[string]any{}
		if run != nil {
			params["run_id"] = run
		}
		tree := w.command(thread, "agent.getTree", params)["result"].(map[string]any)["tree"].(map[string]any)
		assert.Equal(t, want, tree["status"], run)
		assert.Equal(t, want, tree["children"].([]any)[0].(map[string]any)["status"], run)
		assert.Len(t, tree["children"], 1)
	}
	for _, run := range []string{uuid.New(), "x"} {
		assert.Equal(t, "no_such_run", w.command(thread, "agent.getTree", map[string]any{"run_id": run})["error"])
	}
	assert.Equal(t, "no_such_run", w.command(w.thread(), "agent.getTree", map[string]any{"run_id": oldest})["error"], "a run of another thread")
	assert.Equal(t, "invalid_argument", w.command(thread, "agent.getTree", map[string]any{"run_id": 7})["error"])
}

// A user gets no tree of another user's thread.
func TestTreeOfAnotherUsersRunDoesNotExist(t *testing.T) {
	t.Parallel()
	w := newWire(t, func(o *server.Options) { o.Auth = userHeader })
	run := map[string]any{"assistant_id": "sub", "input": map[string]any{"topic": secret}, "if_not_exists": "create"}
	thread := uuid.New()
	w.json(http.MethodPost, "/threads/"+thread+"/runs/wait", run, "X-Test-User", "ann")
	assert.Equal(t, "success", w.command(thread, "agent.getTree", map[string]any{}, "X-Test-User", "ann")["type"])
	hidden := w.command(thread, "agent.getTree", map[string]any{}, "X-Test-User", "bob")
	assert.Equal(t, w.command(uuid.New(), "agent.getTree", map[string]any{}, "X-Test-User", "bob")["message"], hidden["message"])
	assert.Equal(t, "no_such_run", hidden["error"])
}
