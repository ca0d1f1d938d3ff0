package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/node"
	"github.com/weft-go/weft/server"
	"github.com/weft-go/weft/server/runs/memruns"
	"github.com/weft-go/weft/state"
)

// The studio shows the failed attempts of a node that was tried again. Clients do not get them.
func TestFailedAttemptsAreShownToTheStudioOnly(t *testing.T) {
	t.Parallel()
	text, calls := state.LastWins[string]("text"), atomic.Int32{}
	b := graph.New("flaky", text)
	b.Node("try", node.Retry(node.RetryPolicy{Initial: -1}, func(context.Context, state.View) (state.Update, error) {
		if n := calls.Add(1); n < 3 {
			return nil, errors.New("the carrier is busy")
		}
		return state.Update{text.Put("sent")}, nil
	}))
	b.Edge(graph.Start, "try")
	b.Edge("try", graph.End)
	var mine atomic.Int32
	g, err := b.Compile(graph.Options{
		Checkpoints: memcheckpoint.New(memcheckpoint.Options{}),
		Hooks:       &graph.Hooks{Retry: func(context.Context, int, error) { mine.Add(1) }},
	})
	require.NoError(t, err)
	w := newWire(t, func(o *server.Options) { o.Graphs, o.Runs = map[string]*graph.Graph{"flaky": g}, memruns.New() })
	thread := w.thread()
	modes := []string{"values", "updates", "custom", "tasks", "debug", "events", "messages-tuple", "checkpoints", "tools"}
	body := map[string]any{"assistant_id": "flaky", "input": map[string]any{"text": "go"}, "stream_mode": modes}
	for _, e := range w.events(w.send(http.MethodPost, "/threads/"+thread+"/runs/stream", body), nil) {
		assert.NotContains(t, e.data, "busy", e.name)
	}
	assert.EqualValues(t, 2, mine.Load(), "the hooks of the graph are called, too")
	var marks struct {
		Checkpoints []struct {
			Tasks []struct {
				Node     string
				Attempts []struct {
					Attempt int
					Error   string
					Ended   time.Time `json:"ended_at"`
				}
			}
		}
	}
	require.NoError(t, json.NewDecoder(w.send(http.MethodGet, "/weft/threads/"+thread+"/timeline", nil).Body).Decode(&marks))
	found := 0
	for _, m := range marks.Checkpoints {
		for _, task := range m.Tasks {
			for i, a := range task.Attempts {
				found++
				assert.Equal(t, i+1, a.Attempt)
				assert.Contains(t, a.Error, "the carrier is busy")
				assert.False(t, a.Ended.IsZero())
			}
		}
	}
	assert.Equal(t, 2, found)
	var list []map[string]any
	require.NoError(t, json.NewDecoder(w.send(http.MethodGet, "/threads/"+thread+"/runs", nil).Body).Decode(&list))
	var names []string
	spans := w.json(http.MethodGet, "/weft/threads/"+thread+"/runs/"+list[0]["run_id"].(string), nil)["spans"].([]any)
	for _, s := range spans {
		span := s.(map[string]any)
		names = append(names, strings.Join([]string{span["kind"].(string), span["name"].(string), span["status"].(string)}, " "))
		if span["kind"] == "attempt" {
			assert.Equal(t, spans[0].(map[string]any)["id"], span["parent"])
			start, err := time.Parse(time.RFC3339Nano, span["start"].(string))
			require.NoError(t, err)
			end, err := time.Parse(time.RFC3339Nano, span["end"].(string))
			require.NoError(t, err)
			assert.False(t, end.Before(start), "%v is before %v", end, start)
		}
	}
	assert.Equal(t, []string{"task try success", "attempt attempt 1 error", "attempt attempt 2 error"}, names)
}
