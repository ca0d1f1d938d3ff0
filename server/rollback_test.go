package server_test

import (
	"context"
	"net/http"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint/sqlitecheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/internal/uuid"
	"github.com/weft-go/weft/server"
	"github.com/weft-go/weft/state"
)

// An askingGraph has a node that asks a question, a node after it, and a node beside it. The node named stopsIn stops at
// the gate.
type askingGraph struct {
	subgraph bool // the nodes are in a subgraph
	stopsIn  string
	at       *gate
	beside   atomic.Int32 // runs of the node beside the question
}

func (a *askingGraph) compile(t *testing.T, store *sqlitecheckpoint.Store) map[string]*graph.Graph {
	t.Helper()
	lines := state.Append[string]("log")
	question := graph.NewInterrupt[string, string]("question")
	wait := func(node string) {
		if node == a.stopsIn {
			a.at.wait()
		}
	}
	b := graph.New("asking", lines)
	b.Node("ask", func(ctx context.Context, _ state.View) (state.Update, error) {
		answer, err := question.Wait(ctx, "?")
		if err != nil {
			return nil, err
		}
		wait("ask")
		return state.Update{lines.Put(answer)}, nil
	})
	b.Node("beside", func(context.Context, state.View) (state.Update, error) {
		a.beside.Add(1)
		return state.Update{lines.Put("beside")}, nil
	})
	b.Node("after", func(context.Context, state.View) (state.Update, error) {
		wait("after")
		return state.Update{lines.Put("after")}, nil
	})
	b.Edge(graph.Start, "ask")
	b.Edge(graph.Start, "beside")
	b.Edge("ask", "after")
	b.Edge("after", graph.End)
	b.Edge("beside", graph.End)
	if a.subgraph {
		inner, err := b.Compile(graph.Options{})
		require.NoError(t, err)
		outer := graph.New("outer", lines)
		outer.Subgraph("inner", inner)
		outer.Edge(graph.Start, "inner")
		outer.Edge("inner", graph.End)
		b = outer
	}
	g, err := b.Compile(graph.Options{Checkpoints: store})
	require.NoError(t, err)
	return map[string]*graph.Graph{"asking": g}
}

// If a run is undone, its thread is as before the run: the question that it answered is open again, and the results of
// earlier runs are still stored. The server undoes the run even if the process is killed before the rollback, or the run
// was interrupted before it; the graph does not.
func TestRollbackOpensTheQuestionAgain(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		subgraph bool
		stopsIn  string // the node in which the run is cancelled
		killed   bool   // the server is killed at that time, and another one ends the run
	}{
		"killed in the node that asked":                     {false, "ask", true},
		"killed in the node after it":                       {false, "after", true},
		"killed in the node that asked, in a subgraph":      {true, "ask", true},
		"killed in the node after it, in a subgraph":        {true, "after", true},
		"interrupted in the node that asked":                {false, "ask", false},
		"interrupted in the node after it":                  {false, "after", false},
		"interrupted in the node that asked, in a subgraph": {true, "ask", false},
		"interrupted in the node after it, in a subgraph":   {true, "after", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			checkpoints, store := openFile(t, filepath.Join(dir, "first.db"))
			at := newGate()
			g := &askingGraph{subgraph: c.subgraph, stopsIn: c.stopsIn, at: at}
			_, url := listen(t, server.Options{Graphs: g.compile(t, checkpoints), Runs: store})
			release := sync.OnceFunc(func() { close(at.open) })
			t.Cleanup(release) // before the server is closed
			thread := "/threads/" + uuid.New()
			request(t, http.MethodPost, url+thread+"/runs/wait", `{"assistant_id":"asking","if_not_exists":"create","input":{"log":["in"]}}`, nil)
			var run struct {
				ID string `json:"run_id"`
			}
			request(t, http.MethodPost, url+thread+"/runs", `{"assistant_id":"asking","command":{"resume":"undone"}}`, &run)
			<-at.reached
			runs := int32(1)
			if !c.killed {
				require.Equal(t, http.StatusAccepted, request(t, http.MethodPost, url+thread+"/runs/"+run.ID+"/cancel?action=interrupt", "", nil))
			}
			require.Equal(t, http.StatusAccepted, request(t, http.MethodPost, url+thread+"/runs/"+run.ID+"/cancel?action=rollback", "", nil))
			if c.killed {
				copyFile(t, filepath.Join(dir, "first.db"), filepath.Join(dir, "second.db"))
				checkpoints, store = openFile(t, filepath.Join(dir, "second.db"))
				g, runs = &askingGraph{subgraph: c.subgraph}, 0
				_, url = listen(t, server.Options{Graphs: g.compile(t, checkpoints), Runs: store})
			} else {
				release()
			}
			request(t, http.MethodGet, url+thread+"/runs/"+run.ID+"/join", "", nil)
			assert.Equal(t, http.StatusNotFound, request(t, http.MethodGet, url+thread+"/runs/"+run.ID, "", nil))

			var got struct{ Status string }
			assert.Eventually(t, func() bool {
				request(t, http.MethodGet, url+thread, "", &got)
				return got.Status == "interrupted"
			}, 5*time.Second, time.Millisecond)
			request(t, http.MethodPost, url+thread+"/runs/wait", `{"assistant_id":"asking"}`, nil)
			request(t, http.MethodGet, url+thread, "", &got)
			assert.Equal(t, "interrupted", got.Status, "a run without an answer asks again")
			request(t, http.MethodPost, url+thread+"/runs/wait", `{"assistant_id":"asking","command":{"resume":"kept"}}`, nil)
			var state struct{ Values struct{ Log []string } }
			request(t, http.MethodGet, url+thread+"/state", "", &state)
			assert.Equal(t, []string{"in", "kept", "beside", "after"}, state.Values.Log)
			assert.Equal(t, runs, g.beside.Load(), "the stored result of the node beside the question was lost")
		})
	}
}
