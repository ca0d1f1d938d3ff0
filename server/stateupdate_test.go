package server_test

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/internal/protocolgraphs"
	"github.com/weft-go/weft/internal/unavailable"
	"github.com/weft-go/weft/server"
	"github.com/weft-go/weft/state"
)

// A fullStore returns its error for each new checkpoint while it is full.
type fullStore struct {
	checkpoint.Store
	err  error
	full atomic.Bool
}

const fullText = "database or disk is full: /secret/path"

func (s *fullStore) Put(ctx context.Context, c checkpoint.Checkpoint, head string) error {
	if s.full.Load() {
		return s.err
	}
	return s.Store.Put(ctx, c, head)
}

func TestAnUpdateThatCannotBeStoredIsNoMistakeOfTheClient(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err    error
		status int
	}{
		"the store says that it is unavailable":  {unavailable.New(fullText), http.StatusServiceUnavailable},
		"the store says nothing about its error": {errors.New(fullText), http.StatusInternalServerError},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := &fullStore{Store: memcheckpoint.New(memcheckpoint.Options{}), err: c.err}
			graphs, err := protocolgraphs.New(store)
			require.NoError(t, err)
			_, web := testServer(t, func(o *server.Options) { o.Graphs = graphs })
			thread := "/threads/" + ask(t, web, "ann", http.MethodPost, "/threads", nil).field(t, "thread_id")
			input := map[string]any{"messages": []any{map[string]any{"role": "user", "content": "hi"}}}
			require.Equal(t, http.StatusOK, ask(t, web, "ann", http.MethodPost, thread+"/runs/wait", map[string]any{"assistant_id": "echo", "input": input}).status)
			store.full.Store(true)
			got := ask(t, web, "ann", http.MethodPost, thread+"/state", map[string]any{"values": input})
			assert.Equal(t, c.status, got.status, got.body)
			assert.Equal(t, c.status == http.StatusServiceUnavailable, got.header.Get("Retry-After") != "")
			assert.NotContains(t, got.body, fullText)
			store.full.Store(false)
			got = ask(t, web, "ann", http.MethodPost, thread+"/state", map[string]any{"values": input})
			assert.Equal(t, http.StatusOK, got.status, got.body)
		})
	}
}

// After an update, a failed thread stays failed until it runs again: an operator repairs the states, and then resumes all
// failed threads.
func TestAnUpdateLeavesAFailedThreadFailed(t *testing.T) {
	t.Parallel()
	_, web := testServer(t, nil)
	thread := "/threads/" + ask(t, web, "ann", http.MethodPost, "/threads", nil).field(t, "thread_id")
	ask(t, web, "ann", http.MethodPost, thread+"/runs/wait", map[string]any{"assistant_id": "fail", "input": map[string]any{"text": "boom"}})
	got := ask(t, web, "ann", http.MethodPost, thread+"/state", map[string]any{"values": map[string]any{"text": "good"}, "as_node": "prep"})
	require.Equal(t, http.StatusOK, got.status, got.body)
	assert.Equal(t, "error", ask(t, web, "ann", http.MethodGet, thread, nil).field(t, "status"))
	ask(t, web, "ann", http.MethodPost, thread+"/runs/wait", map[string]any{"assistant_id": "fail"})
	assert.Equal(t, "idle", ask(t, web, "ann", http.MethodGet, thread, nil).field(t, "status"))
}

func TestAnUpdateThatLeavesNothingToDoEndsAFailedThread(t *testing.T) {
	t.Parallel()
	_, web := testServer(t, nil)
	thread := "/threads/" + ask(t, web, "ann", http.MethodPost, "/threads", nil).field(t, "thread_id")
	ask(t, web, "ann", http.MethodPost, thread+"/runs/wait", map[string]any{"assistant_id": "fail", "input": map[string]any{"text": "boom"}})
	require.Equal(t, "error", ask(t, web, "ann", http.MethodGet, thread, nil).field(t, "status"))
	got := ask(t, web, "ann", http.MethodPost, thread+"/state", map[string]any{"values": map[string]any{"text": "good"}, "as_node": "check"})
	require.Equal(t, http.StatusOK, got.status, got.body)
	after := ask(t, web, "ann", http.MethodGet, thread, nil)
	assert.Equal(t, "idle", after.field(t, "status"))
	assert.Contains(t, after.body, `"error":null`)
}

// The expected answers are those of LangGraph Server.
func TestAnUpdateMakesTheThreadInterruptedIfNodesAreDue(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ update, want string }{
		"as the input":          {`{"values":{"draft":"tea"},"as_node":"__input__"}`, "interrupted"},
		"as Start":              {`{"values":{"draft":"tea"},"as_node":"__start__"}`, "interrupted"},
		"as the first node":     {`{"values":{"draft":"tea"},"as_node":"review"}`, "interrupted"},
		"as the last node":      {`{"values":{"draft":"tea"},"as_node":"publish"}`, "idle"},
		"in the same way again": {`{"values":{"draft":"milk"},"as_node":"publish"}`, "idle"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := reviewServer(t)
			made := local(t, s, http.MethodPost, "/threads", `{"graph_id":"review","supersteps":[{"updates":[`+c.update+`]}]}`)
			require.Equal(t, http.StatusOK, made.Code, made.Body)
			assert.Equal(t, c.want, fieldOf(t, made, "status"))
			assert.Equal(t, fieldOf(t, made, "updated_at"), fieldOf(t, made, "state_updated_at"))
			thread := "/threads/" + fieldOf(t, made, "thread_id").(string)
			assert.Equal(t, http.StatusOK, local(t, s, http.MethodPost, thread+"/state", c.update).Code)
			assert.Equal(t, c.want, fieldOf(t, local(t, s, http.MethodGet, thread, ""), "status"))
		})
	}
}

// If a branch rejects the values of a client, the client gets the error.
func TestAnErrorOfABranchInAnUpdateIsTold(t *testing.T) {
	t.Parallel()
	amount := state.Last[string]("amount")
	b := graph.New("pay", amount)
	b.Node("check", func(context.Context, state.View) (state.Update, error) { return nil, nil })
	b.Edge(graph.Start, "check")
	b.Branch("check", func(v state.View) (string, error) {
		if amount.Get(v) == "bad" {
			return "", errors.New("the amount is bad")
		}
		return graph.End, nil
	}, graph.End)
	g, err := b.Compile(graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})})
	require.NoError(t, err)
	_, web := testServer(t, func(o *server.Options) { o.Graphs = map[string]*graph.Graph{"pay": g} })
	thread := "/threads/" + ask(t, web, "ann", http.MethodPost, "/threads", nil).field(t, "thread_id")
	run := map[string]any{"assistant_id": "pay", "input": map[string]any{"amount": "5"}}
	require.Equal(t, http.StatusOK, ask(t, web, "ann", http.MethodPost, thread+"/runs/wait", run).status)
	got := ask(t, web, "ann", http.MethodPost, thread+"/state", map[string]any{"values": map[string]any{"amount": "bad"}, "as_node": "check"})
	assert.Equal(t, http.StatusBadRequest, got.status, got.body)
	assert.Contains(t, got.body, "the amount is bad")
}
