package server_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/server/runs"
)

// The metadata of a streamed message is stored with its first piece. Clients get it with each piece,
// also those that begin in the middle, or after the first piece was removed.
func TestMetadataOfAMessageIsStoredOnce(t *testing.T) {
	t.Parallel()
	w := newWire(t, nil)
	thread := w.thread()
	resp := w.send(http.MethodPost, "/threads/"+thread+"/runs/stream", map[string]any{
		"assistant_id": "tools", "input": map[string]any{"messages": []any{map[string]any{"role": "user", "content": "add 2 3"}}},
		"stream_mode": []string{"messages-tuple"}, "stream_resumable": true,
	})
	got := w.events(resp, nil)
	_, run, _ := strings.Cut(resp.Header.Get("Content-Location"), "/runs/")
	log, err := w.runs.Events(t.Context(), thread, 0, 0)
	require.NoError(t, err)
	pieces, with := map[string]int{}, map[string]int{}
	middle := 0 // of the last message
	for i := range log {
		var m struct {
			ID       string          `json:"id"`
			Metadata json.RawMessage `json:"metadata"`
		}
		if log[i].Kind != "message" {
			continue
		}
		require.NoError(t, json.Unmarshal(log[i].Data, &m))
		pieces[m.ID]++
		if len(m.Metadata) > 0 {
			with[m.ID]++
		} else if m.ID == "ai-3" && middle == 0 {
			middle = i
		}
	}
	require.Greater(t, pieces["ai-3"], 3)
	for id := range pieces {
		assert.Equal(t, 1, with[id], id)
	}
	nodes := func(events []wireEvent) (all []string) {
		for _, e := range events {
			var pair [2]map[string]any
			if e.name == "messages" {
				require.NoError(t, json.Unmarshal([]byte(e.data), &pair))
				node, _ := pair[1]["langgraph_node"].(string)
				all = append(all, node)
			}
		}
		return all
	}
	all := nodes(got)
	assert.NotContains(t, all, "", "a piece without metadata")
	path := "/threads/" + thread + "/runs/" + run + "/stream"
	w.json(http.MethodGet, "/threads/"+thread+"/runs/"+run+"/join", nil)
	again := w.events(w.send(http.MethodGet, path, nil, "Last-Event-ID", itoa(middle)), nil)
	assert.Equal(t, got[len(got)-len(again):], again, "from the middle of a message")
	_, err = w.runs.Trim(t.Context(), thread, runs.Bounds{Events: len(log) - middle})
	require.NoError(t, err)
	rest := nodes(w.events(w.send(http.MethodGet, path, nil, "Last-Event-ID", "-1"), nil))
	require.NotEmpty(t, rest)
	assert.NotContains(t, rest, "", "after the first piece was removed")
}
