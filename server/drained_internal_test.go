package server

import (
	"context"
	"encoding/json"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/flow"
	"github.com/weft-go/weft/internal/uuid"
	"github.com/weft-go/weft/server/runs"
	"github.com/weft-go/weft/server/runs/memruns"
	"github.com/weft-go/weft/state"
)

// If a server is closed while a subgraph runs, the next server continues the task around the subgraph: the task has not
// failed.
func TestATaskWhoseSubgraphIsDrainedHasNotFailed(t *testing.T) {
	t.Parallel()
	type outer func(t *testing.T, inner *graph.Graph, store checkpoint.Store) *graph.Graph
	for name, build := range map[string]outer{
		"a subgraph": func(t *testing.T, inner *graph.Graph, store checkpoint.Store) *graph.Graph {
			t.Helper()
			b := graph.New("outer", words)
			b.Subgraph("inner", inner)
			b.Edge(graph.Start, "inner")
			b.Edge("inner", graph.End)
			g, err := b.Compile(graph.Options{Checkpoints: store})
			require.NoError(t, err)
			return g
		},
		"a graph that a task of a flow calls": func(t *testing.T, inner *graph.Graph, store checkpoint.Store) *graph.Graph {
			t.Helper()
			f, err := flow.New("outer", func(ctx context.Context, _ string) ([]string, error) {
				return flow.Do(ctx, "task", func(ctx context.Context) ([]string, error) {
					return flow.Call(ctx, "inner", inner, words.Get)
				})
			}, graph.Options{Checkpoints: store})
			require.NoError(t, err)
			return f.Graph
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				release, begun := make(chan struct{}), make(chan string, 10)
				b := graph.New("inner", words)
				for _, name := range []string{"first", "second"} {
					b.Node(name, func(context.Context, state.View) (state.Update, error) {
						begun <- name
						<-release
						return state.Update{words.Put(name)}, nil
					})
				}
				b.Edge(graph.Start, "first")
				b.Edge("first", "second")
				b.Edge("second", graph.End)
				inner, err := b.Compile(graph.Options{})
				require.NoError(t, err)
				g := build(t, inner, memcheckpoint.New(memcheckpoint.Options{}))
				store := memruns.New()
				o := Options{Graphs: map[string]*graph.Graph{"outer": g}, Runs: store}
				s, err := New(o)
				require.NoError(t, err)
				thread := uuid.New()
				w := ask(t, s, "POST", "/threads/"+thread+"/runs", `{"assistant_id":"outer","if_not_exists":"create","input":{}}`)
				require.Equal(t, 200, w.Code, w.Body)
				require.Equal(t, "first", <-begun)
				closed := make(chan error, 1)
				go func() { closed <- s.Close(t.Context()) }()
				synctest.Wait()
				close(release)
				require.NoError(t, <-closed)
				require.Empty(t, begun, "the subgraph was drained")

				assert.Empty(t, failedTasks(t, store, thread))
				w = ask(t, s, "GET", "/threads/"+thread+"/state", "")
				var now struct {
					Next  []string
					Tasks []struct{ Error *string }
				}
				require.NoError(t, json.Unmarshal(w.Body.Bytes(), &now), w.Body)
				require.Len(t, now.Next, 1)
				require.Len(t, now.Tasks, 1)
				assert.Nil(t, now.Tasks[0].Error)

				s, err = New(o)
				require.NoError(t, err)
				synctest.Wait()
				require.NoError(t, s.Close(t.Context()))
				assert.Equal(t, "second", <-begun, "the next server continues in the subgraph")
				assert.Empty(t, failedTasks(t, store, thread))
			})
		})
	}
}

// failedTasks returns the events of failed tasks of a thread.
func failedTasks(t *testing.T, store runs.Store, thread string) (found []string) {
	t.Helper()
	events, err := store.Events(t.Context(), thread, 0, 0)
	require.NoError(t, err)
	for i := range events {
		var r struct{ Error *string }
		require.NoError(t, json.Unmarshal(events[i].Data, &r))
		if e := &events[i]; e.Kind == kindCut || e.Kind == kindResult && r.Error != nil {
			found = append(found, e.Kind+" "+e.Task+" "+string(e.Data))
		}
	}
	return found
}
