package server

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/server/runs"
	"github.com/weft-go/weft/server/runs/memruns"
	"github.com/weft-go/weft/state"
)

// An olderStore stores results as older versions did, with the older ids of start checkpoints.
type olderStore struct{ runs.Store }

func (s olderStore) PutTasks(ctx context.Context, thread string, tasks []runs.Task) error {
	for i, t := range tasks {
		if input, ok := isStart(t.Checkpoint); ok {
			tasks[i].Checkpoint = oldStartID(input)
			tasks[i].ID = taskID(oldStartID(input), graph.Start)
		}
	}
	return s.Store.PutTasks(ctx, thread, tasks)
}

// Clients find the newest checkpoint by comparing ids as texts, so the ids must sort in the order of the checkpoints.
// Checkpoints with older ids stay readable.
func TestIDsOfCheckpointsSortInTheirOrder(t *testing.T) {
	t.Parallel()
	for name, wrap := range map[string]func(runs.Store) runs.Store{
		"ids of now": func(s runs.Store) runs.Store { return s },
		"older ids":  func(s runs.Store) runs.Store { return olderStore{s} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := startServer(t, wrap)
			call := func(method, path, body string, into any) {
				t.Helper()
				r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
				r.Host, r.RemoteAddr = "localhost", "127.0.0.1:1"
				w := httptest.NewRecorder()
				s.ServeHTTP(w, r)
				require.Equal(t, http.StatusOK, w.Code, w.Body)
				require.NoError(t, json.Unmarshal(w.Body.Bytes(), into))
			}
			const thread = "/threads/11111111-1111-4111-8111-111111111111"
			var done map[string]json.RawMessage
			for range 3 {
				call(http.MethodPost, thread+"/runs/wait", `{"assistant_id":"words","if_not_exists":"create","input":{"words":"hello"}}`, &done)
			}
			var history []threadState
			call(http.MethodPost, thread+"/history", `{"limit":100}`, &history)
			var ids []string
			starts := 0
			for _, st := range history {
				ids = append(ids, *st.ID)
				if st.Metadata["source"] != "input" {
					continue
				}
				starts++
				assert.JSONEq(t, `{"words":"hello"}`, string(st.Tasks[0].Result))
				input, ok := isStart(*st.ID)
				require.True(t, ok)
				var older threadState // read by the older id, which a client may still have
				call(http.MethodGet, thread+"/state/"+oldStartID(input), "", &older)
				assert.Equal(t, st.ID, older.ID)
			}
			assert.Equal(t, 3, starts)
			assert.True(t, slices.IsSortedFunc(ids, func(a, b string) int { return strings.Compare(b, a) }), "%v", ids)
			assert.Len(t, slices.Compact(slices.Clone(ids)), len(ids), "an id twice: %v", ids)
		})
	}
}

func startServer(t *testing.T, wrap func(runs.Store) runs.Store) *Server {
	t.Helper()
	words := state.Last[string]("words")
	b := graph.New("words", words)
	b.Node("say", func(context.Context, state.View) (state.Update, error) { return nil, nil })
	b.Edge(graph.Start, "say")
	g, err := b.Compile(graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})})
	require.NoError(t, err)
	s, err := New(Options{Graphs: map[string]*graph.Graph{"words": g}, Runs: wrap(memruns.New())})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close(context.WithoutCancel(t.Context()))) })
	return s
}
