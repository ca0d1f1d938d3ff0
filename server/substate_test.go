package server_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/internal/uuid"
	"github.com/weft-go/weft/server"
	"github.com/weft-go/weft/server/runs/memruns"
	"github.com/weft-go/weft/state"
)

// editorServer serves a graph with three levels. Only the innermost graph has the channel draft. It writes a draft and
// asks about it. The two inner graphs are persistent subgraphs: they keep their channels from one call to the next.
func editorServer(t *testing.T) *server.Server {
	t.Helper()
	topic, draft, notes, out := state.Last[string]("topic"), state.Last[string]("draft"), state.Append[string]("notes"), state.Append[string]("out")
	ask := graph.NewInterrupt[string, string]("tone")
	editor := graph.New("editor", topic, draft, notes, out)
	editor.Node("write", func(_ context.Context, s state.View) (state.Update, error) {
		return state.Update{draft.Put("draft of " + topic.Get(s)), notes.Put(topic.Get(s))}, nil
	})
	editor.Node("polish", func(ctx context.Context, s state.View) (state.Update, error) {
		tone, err := ask.Wait(ctx, "tone?")
		return state.Update{out.Put(draft.Get(s) + ", " + tone + ", after " + strings.Join(notes.Get(s), "+"))}, err
	})
	editor.Edge(graph.Start, "write")
	editor.Edge("write", "polish")
	inner, err := editor.Compile(graph.Options{})
	require.NoError(t, err)
	desk := graph.New("desk", topic, out)
	desk.SubgraphWith("edit", inner, graph.SubgraphOptions{Persist: "editor"})
	desk.Edge(graph.Start, "edit")
	middle, err := desk.Compile(graph.Options{})
	require.NoError(t, err)
	b := graph.New("office", topic, out)
	b.SubgraphWith("desk", middle, graph.SubgraphOptions{Persist: "desk"})
	b.Edge(graph.Start, "desk")
	g, err := b.Compile(graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})})
	require.NoError(t, err)
	s, err := server.New(server.Options{Graphs: map[string]*graph.Graph{"review": g}, Runs: memruns.New()})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.Close(context.Background())) })
	return s
}

// A subState is the part of a state that these tests read.
type subState struct {
	Values     map[string]any `json:"values"`
	Next       []string       `json:"next"`
	Checkpoint map[string]any `json:"checkpoint"`
	Tasks      []struct {
		Name       string         `json:"name"`
		Checkpoint map[string]any `json:"checkpoint"`
		Interrupts []any          `json:"interrupts"`
		State      *subState      `json:"state"`
	} `json:"tasks"`
}

// paused starts a run that pauses in the innermost graph. It returns the thread, the checkpoint in the task of the middle
// graph, and the complete checkpoint of the innermost graph.
func paused(t *testing.T, s *server.Server) (thread string, named, whole map[string]any) {
	t.Helper()
	thread = uuid.New()
	code, body := waitFor(t, s, thread, `"input":{"topic":"tea"}`)
	require.Equal(t, http.StatusOK, code, body)
	root := stateAt(t, s, thread, nil, true)
	require.Len(t, root.Tasks, 1)
	require.NotNil(t, root.Tasks[0].State)
	desk := root.Tasks[0].State
	require.Len(t, desk.Tasks, 1)
	require.NotNil(t, desk.Tasks[0].State)
	flat := stateAt(t, s, thread, stateAt(t, s, thread, nil, false).Tasks[0].Checkpoint, false)
	require.Equal(t, []string{"edit"}, flat.Next)
	return thread, flat.Tasks[0].Checkpoint, desk.Tasks[0].State.Checkpoint
}

// post sends a request about a thread, and decodes the answer after a check that its status is 200.
func post[T any](t *testing.T, s *server.Server, path string, body any) (out T) {
	t.Helper()
	w := local(t, s, http.MethodPost, path, string(encoded(body)))
	require.Equal(t, http.StatusOK, w.Code, w.Body)
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &out))
	return out
}

func stateAt(t *testing.T, s *server.Server, thread string, checkpoint map[string]any, deep bool) subState {
	t.Helper()
	return post[subState](t, s, "/threads/"+thread+"/state/checkpoint", map[string]any{"checkpoint": checkpoint, "subgraphs": deep})
}

func historyOf(t *testing.T, s *server.Server, thread string, checkpoint map[string]any) []subState {
	t.Helper()
	return post[[]subState](t, s, "/threads/"+thread+"/history", map[string]any{"checkpoint": checkpoint})
}

// updateAt updates the state at a checkpoint and returns the new checkpoint.
func updateAt(t *testing.T, s *server.Server, thread string, checkpoint map[string]any, values, node any) map[string]any {
	t.Helper()
	body := map[string]any{"checkpoint": checkpoint, "values": values, "as_node": node}
	return post[struct {
		Checkpoint map[string]any `json:"checkpoint"`
	}](t, s, "/threads/"+thread+"/state", body).Checkpoint
}

func TestStateOfASubgraphIsReadAtItsCheckpoint(t *testing.T) {
	t.Parallel()
	s := editorServer(t)
	thread, named, whole := paused(t, s)
	assert.Equal(t, named["checkpoint_ns"], whole["checkpoint_ns"])
	for _, at := range []map[string]any{named, whole} {
		st := stateAt(t, s, thread, at, false)
		assert.Equal(t, map[string]any{"topic": "tea", "draft": "draft of tea", "notes": []any{"tea"}, "out": []any{}}, st.Values)
		assert.Equal(t, []string{"polish"}, st.Next)
		assert.Equal(t, whole, st.Checkpoint)
		assert.Len(t, st.Tasks[0].Interrupts, 1)
	}
	assert.Len(t, whole["checkpoint_map"], 3, "the checkpoints of all three graphs")
}

func TestHistoryOfASubgraph(t *testing.T) {
	t.Parallel()
	s := editorServer(t)
	thread, named, whole := paused(t, s)
	all := historyOf(t, s, thread, named)
	require.Len(t, all, 3)
	assert.Equal(t, [][]string{{"polish"}, {"write"}, {graph.Start}}, [][]string{all[0].Next, all[1].Next, all[2].Next})
	assert.Equal(t, whole, all[0].Checkpoint)
	for i, want := range all[1:] {
		got := stateAt(t, s, thread, want.Checkpoint, false)
		assert.Equal(t, want, got, i)
	}
	assert.Equal(t, all[:1], historyOf(t, s, thread, whole), "a checkpoint with an id is alone in its history")
	root := historyOf(t, s, thread, nil)
	require.Greater(t, len(root), 1)
	assert.Equal(t, root[1:2], historyOf(t, s, thread, root[1].Checkpoint))
	missing := map[string]any{"checkpoint_ns": named["checkpoint_ns"], "checkpoint_id": uuid.New()}
	assert.Empty(t, historyOf(t, s, thread, missing))
}

func TestStateOfASubgraphIsUpdated(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		values any
		node   any
		resume string
		want   string
	}{
		"the channel of the subgraph": {map[string]any{"draft": "mine"}, nil, `"command":{"resume":"warm"}`, `["mine, warm, after tea"]`},
		"the waiting node":            {map[string]any{"out": "done"}, "polish", "", `["done"]`},
	} {
		for _, full := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				s := editorServer(t)
				thread, at, whole := paused(t, s)
				if full {
					at = whole
				}
				made := updateAt(t, s, thread, at, c.values, c.node)
				assert.Equal(t, whole["checkpoint_ns"], made["checkpoint_ns"])
				st := stateAt(t, s, thread, made, false)
				assert.Equal(t, made, st.Checkpoint)
				assert.Equal(t, st, stateAt(t, s, thread, map[string]any{"checkpoint_ns": made["checkpoint_ns"]}, false), "it is the newest one")

				code, body := waitFor(t, s, thread, `"checkpoint":`+string(encoded(made)))
				require.Equal(t, http.StatusOK, code, body)
				if c.resume != "" {
					assert.Contains(t, body, "tone?", "the question is asked again")
					_, body = waitFor(t, s, thread, c.resume)
				}
				assert.JSONEq(t, `{"topic":"tea","out":`+c.want+`}`, body)
			})
		}
	}
}

func TestUpdateAtAnOlderCheckpointOfASubgraphBranches(t *testing.T) {
	t.Parallel()
	s := editorServer(t)
	thread, named, _ := paused(t, s)
	older := historyOf(t, s, thread, named)[1].Checkpoint
	code, body := waitFor(t, s, thread, `"checkpoint":`+string(encoded(older)))
	assert.Equal(t, http.StatusOK, code)
	assert.Contains(t, body, "is not the newest one of the subgraph")
	made := updateAt(t, s, thread, older, map[string]any{"topic": "milk"}, nil)
	waitFor(t, s, thread, `"config":{"configurable":`+string(encoded(made))+`}`)
	_, body = waitFor(t, s, thread, `"command":{"resume":"warm"}`)
	assert.JSONEq(t, `{"topic":"milk","out":["draft of milk, warm, after milk"]}`, body)
}

// The history of a persistent subgraph contains only the checkpoints of one call.
func TestHistoryOfAPersistentSubgraphIsThatOfItsCall(t *testing.T) {
	t.Parallel()
	s := editorServer(t)
	thread, _, _ := paused(t, s)
	waitFor(t, s, thread, `"command":{"resume":"warm"}`)
	waitFor(t, s, thread, `"input":{"topic":"milk"}`)
	desk := stateAt(t, s, thread, stateAt(t, s, thread, nil, false).Tasks[0].Checkpoint, false)
	all := historyOf(t, s, thread, desk.Tasks[0].Checkpoint)
	require.Len(t, all, 2)
	assert.Equal(t, [][]string{{"polish"}, {"write"}}, [][]string{all[0].Next, all[1].Next})
	assert.Equal(t, []any{"tea"}, all[1].Values["notes"], "what the first call left")
}

func TestSubgraphsThatDoNotRunAreRefused(t *testing.T) {
	t.Parallel()
	s := editorServer(t)
	thread, named, whole := paused(t, s)
	start := historyOf(t, s, thread, named)[2].Checkpoint
	other := map[string]any{"checkpoint_ns": "desk:x"}
	unknown := map[string]any{"checkpoint_ns": named["checkpoint_ns"], "checkpoint_id": uuid.New()}
	draft := map[string]any{"draft": "mine"}
	refused := func(path string, body map[string]any, status int, text string) {
		t.Helper()
		w := local(t, s, http.MethodPost, "/threads/"+thread+path, string(encoded(body)))
		assert.Equal(t, status, w.Code, w.Body)
		assert.Contains(t, w.Body.String(), text)
	}
	for path, body := range map[string]map[string]any{"/state/checkpoint": {}, "/history": {}, "/state": {"values": draft}} {
		body["checkpoint"] = other
		refused(path, body, http.StatusNotFound, `runs no subgraph \"desk:x\"`)
	}
	refused("/state/checkpoint", map[string]any{"checkpoint": unknown}, http.StatusNotFound, "There is no checkpoint")
	refused("/state", map[string]any{"checkpoint": unknown, "values": draft}, http.StatusNotFound, "There is no checkpoint")
	refused("/state", map[string]any{"checkpoint": start, "values": draft}, http.StatusBadRequest, "before the input of the subgraph")
	refused("/state", map[string]any{"checkpoint": whole, "values": map[string]any{"nope": 1}}, http.StatusBadRequest, `the graph \"editor\" has none of the channels`)
	_, body := waitFor(t, s, thread, `"checkpoint":{"checkpoint_ns":"desk:x"}`)
	assert.Contains(t, body, "runs no subgraph")

	waitFor(t, s, thread, `"command":{"resume":"warm"}`)
	refused("/state/checkpoint", map[string]any{"checkpoint": whole}, http.StatusNotFound, "until its task has finished")
}
