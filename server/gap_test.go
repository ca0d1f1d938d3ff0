package server_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/server/runs"
)

// trimmed runs a graph on a thread and removes the first events of its log. It returns the thread,
// the run, and the number of the removed events.
func trimmed(t *testing.T, w *wire) (thread, run string, removed int) {
	t.Helper()
	thread = w.thread()
	resp := w.send(http.MethodPost, "/threads/"+thread+"/runs/stream", map[string]any{
		"assistant_id": "slow", "input": map[string]any{"tag": "a", "n": 2}, "stream_mode": []string{"values", "custom"}, "stream_resumable": true,
	})
	got := w.events(resp, nil)
	require.Equal(t, []string{"metadata", "values", "values", "custom", "custom", "values"}, names(got))
	_, run, _ = strings.Cut(resp.Header.Get("Content-Location"), "/runs/")
	w.json(http.MethodGet, "/threads/"+thread+"/runs/"+run+"/join", nil) // wait until the log is closed, because an open log has the events in memory
	log, err := w.runs.Events(t.Context(), thread, 0, 0)
	require.NoError(t, err)
	second := 0 // the index of the second value that the node emits, 100 ms after the first
	for i := range log {
		if log[i].Kind == "custom" {
			second = i
		}
	}
	removed, err = w.runs.Trim(t.Context(), thread, runs.Bounds{Since: log[second].Time})
	require.NoError(t, err)
	require.Equal(t, second, removed)
	return thread, run, removed
}

func TestAReaderIsToldWhatItMissed(t *testing.T) {
	t.Parallel()
	w := newWire(t, nil)
	thread, run, removed := trimmed(t, w)
	final := `{"n":2,"steps":["a:begin","a:done"],"tag":"a"}`

	t.Run("of a run", func(t *testing.T) {
		path := "/threads/" + thread + "/runs/" + run + "/stream"
		got := w.events(w.send(http.MethodGet, path, nil, "Last-Event-ID", "-1"), nil)
		require.Equal(t, []string{"gap", "values", "custom", "values"}, names(got))
		assert.JSONEq(t, `{"missed":`+itoa(removed)+`}`, got[0].data)
		assert.JSONEq(t, final, got[1].data, "the present values")
		again := w.events(w.send(http.MethodGet, path, nil, "Last-Event-ID", got[1].id), nil)
		assert.Equal(t, got[2:], again, "a reader that comes back is told once")
		again = w.events(w.send(http.MethodGet, path, nil, "Last-Event-ID", got[2].id), nil)
		assert.Equal(t, got[3:], again)
	})
	t.Run("of a thread", func(t *testing.T) {
		last := func(e wireEvent) bool { return e.name == "metadata" && strings.Contains(e.data, "run_done") }
		got := w.events(w.send(http.MethodGet, "/threads/"+thread+"/stream?stream_modes=run_modes,lifecycle", nil, "Last-Event-ID", "-1"), last)
		assert.Equal(t, []string{"gap", "values", "custom", "values", "metadata"}, names(got))
		assert.JSONEq(t, final, got[1].data, "the present values")
	})
	t.Run("of the thread-centric protocol", func(t *testing.T) {
		last := func(e wireEvent) bool { return e.name == "lifecycle" && strings.Contains(e.data, "completed") }
		body := map[string]any{"channels": []string{"values", "custom", "lifecycle"}}
		got := w.events(w.send(http.MethodPost, "/threads/"+thread+"/stream/events", body), last)
		require.Equal(t, []string{"gap", "values", "custom", "values", "lifecycle"}, names(got))
		assert.Contains(t, got[0].data, `"data":{"missed":`+itoa(removed)+`}`)
		assert.Contains(t, got[1].data, `"data":`+final, "the present values")
	})
}

func TestAReaderIsToldThatNothingIsKept(t *testing.T) {
	t.Parallel()
	w := newWire(t, nil)
	thread, run, _ := trimmed(t, w)
	log, err := w.runs.Events(t.Context(), thread, 0, 0)
	require.NoError(t, err)
	_, err = w.runs.Trim(t.Context(), thread, runs.Bounds{Since: log[len(log)-1].Time.Add(time.Microsecond)})
	require.NoError(t, err)

	path := "/threads/" + thread + "/runs/" + run + "/stream"
	assert.Equal(t, []string{"gap", "values"}, names(w.events(w.send(http.MethodGet, path, nil, "Last-Event-ID", "-1"), nil)))
	last := itoa(int(log[len(log)-1].Seq))
	assert.Empty(t, w.events(w.send(http.MethodGet, path, nil, "Last-Event-ID", last), nil), "it has read all")
}

func TestARunThatWasUndoneIsNoGap(t *testing.T) {
	t.Parallel()
	w := newWire(t, nil)
	thread := w.thread()
	resp := w.send(http.MethodPost, "/threads/"+thread+"/runs/stream", map[string]any{
		"assistant_id": "slow", "input": map[string]any{"tag": "a", "n": 100}, "stream_mode": "custom",
	})
	w.events(resp, func(e wireEvent) bool { return e.name == "custom" })
	_, run, _ := strings.Cut(resp.Header.Get("Content-Location"), "/runs/")
	w.json(http.MethodPost, "/threads/"+thread+"/runs/"+run+"/cancel?wait=1&action=rollback", nil)
	_ = resp.Body.Close()

	w.json(http.MethodPost, "/threads/"+thread+"/runs/wait", map[string]any{"assistant_id": "slow", "input": map[string]any{"tag": "b", "n": 0}})
	got := w.events(w.send(http.MethodPost, "/threads/"+thread+"/stream/events", map[string]any{"channels": []string{"lifecycle"}}),
		func(e wireEvent) bool { return strings.Contains(e.data, "completed") })
	assert.NotContains(t, names(got), "gap")
}

// One event of the log may become two events of a stream. A reader that got only the first one gets the second when it
// comes back.
func TestAReaderThatComesBackGetsEachEventOnce(t *testing.T) {
	t.Parallel()
	w := newWire(t, nil)
	thread := w.thread()
	resp := w.send(http.MethodPost, "/threads/"+thread+"/runs/stream", map[string]any{
		"assistant_id": "approve", "input": map[string]any{"request": "r"}, "stream_mode": []string{"values", "updates", "debug", "tasks"}, "stream_resumable": true,
	})
	got := w.events(resp, nil)
	_, run, _ := strings.Cut(resp.Header.Get("Content-Location"), "/runs/")
	for i, e := range got {
		again := w.events(w.send(http.MethodGet, "/threads/"+thread+"/runs/"+run+"/stream", nil, "Last-Event-ID", e.id), nil)
		assert.Equal(t, got[i+1:], append([]wireEvent{}, again...), "after %s", e.id)
	}
	status := w.send(http.MethodGet, "/threads/"+thread+"/runs/"+run+"/stream", nil, "Last-Event-ID", "five").StatusCode
	assert.Equal(t, http.StatusUnprocessableEntity, status)
}
