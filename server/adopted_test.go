package server_test

import (
	"context"
	"errors"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/internal/uuid"
	"github.com/weft-go/weft/server"
	"github.com/weft-go/weft/server/runs"
	"github.com/weft-go/weft/server/runs/memruns"
	"github.com/weft-go/weft/state"
)

// If Go code has run a thread, the thread has its status as soon as it is created on the server, so that inboxes find its
// questions.
func TestAThreadThatGoCodeHasRunHasItsStatusWhenItIsCreated(t *testing.T) {
	t.Parallel()
	ask := graph.NewInterrupt[string, string]("ok")
	answer := state.LastWins[string]("answer")
	broken := errors.New("the printer is broken")
	for name, c := range map[string]struct {
		node      graph.NodeFunc
		pause     []string // nodes before which the run pauses
		err       error    // of the run
		status    string
		questions int
	}{
		"it asks a question": {func(ctx context.Context, _ state.View) (state.Update, error) {
			text, err := ask.Wait(ctx, "Print it?")
			return state.Update{answer.Put(text)}, err
		}, nil, nil, "interrupted", 1},
		"it pauses before a node": {func(context.Context, state.View) (state.Update, error) { return nil, nil }, []string{"print"}, nil, "interrupted", 0},
		"it has failed":           {func(context.Context, state.View) (state.Update, error) { return nil, broken }, nil, broken, "error", 0},
		"it is done":              {func(context.Context, state.View) (state.Update, error) { return nil, nil }, nil, nil, "idle", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := graph.New("printer", answer)
			b.Node("print", c.node)
			b.Edge(graph.Start, "print")
			b.Edge("print", graph.End)
			g, err := b.Compile(graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{}), PauseBefore: c.pause})
			require.NoError(t, err)
			id := uuid.New()
			_, err = g.Thread(id).Invoke(t.Context(), answer.Put(""))
			require.ErrorIs(t, err, c.err)
			w := newWire(t, func(o *server.Options) { o.Graphs, o.Runs = map[string]*graph.Graph{"printer": g}, memruns.New() })
			thread := w.json(http.MethodPost, "/threads", map[string]any{"thread_id": id, "graph_id": "printer"})
			assert.Equal(t, c.status, thread["status"])
			assert.Len(t, thread["interrupts"], c.questions)
			assert.Equal(t, thread, w.json(http.MethodGet, "/threads/"+id, nil))
		})
	}
}

// A corruptStore has a damaged state for each thread.
type corruptStore struct{ checkpoint.Store }

func (corruptStore) Get(context.Context, checkpoint.Key) (checkpoint.Checkpoint, error) {
	return checkpoint.Checkpoint{}, checkpoint.ErrCorrupt
}

// A thread whose state is damaged can be created, and gets the status error. If the thread exists, its stored status
// stays.
func TestAThreadWhoseStateIsDamagedIsCreatedWithTheStatusError(t *testing.T) {
	t.Parallel()
	b := graph.New("printer", state.LastWins[string]("answer"))
	b.Node("print", func(context.Context, state.View) (state.Update, error) { return nil, nil })
	b.Edge(graph.Start, "print")
	g, err := b.Compile(graph.Options{Checkpoints: corruptStore{memcheckpoint.New(memcheckpoint.Options{})}})
	require.NoError(t, err)
	store, damaged, known := memruns.New(), uuid.New(), uuid.New()
	s := newServer(t, server.Options{Graphs: map[string]*graph.Graph{"printer": g}, Runs: store})
	send(t, s, http.MethodPost, "/threads", `{"thread_id":"`+damaged+`","graph_id":"printer"}`)
	r, err := store.Get(t.Context(), runs.Thread, damaged)
	require.NoError(t, err)
	assert.Equal(t, "error", r.Status)

	code, _ := send(t, s, http.MethodPost, "/threads", `{"thread_id":"`+known+`"}`)
	require.Equal(t, http.StatusOK, code)
	code, thread := send(t, s, http.MethodPost, "/threads", `{"thread_id":"`+known+`","graph_id":"printer","if_exists":"do_nothing"}`)
	require.Equal(t, http.StatusOK, code, thread)
	assert.Equal(t, "idle", field(thread, "status"))
}

// One thread whose state is damaged does not hide the others: it is read and listed with the status error.
func TestAThreadWhoseStateIsDamagedIsListedBesideTheOthers(t *testing.T) {
	t.Parallel()
	b := graph.New("printer", state.LastWins[string]("answer"))
	b.Node("print", func(context.Context, state.View) (state.Update, error) { return nil, nil })
	b.Edge(graph.Start, "print")
	damaged := uuid.New()
	g, err := b.Compile(graph.Options{Checkpoints: oneCorrupt{memcheckpoint.New(memcheckpoint.Options{}), damaged}})
	require.NoError(t, err)
	s := newServer(t, server.Options{Graphs: map[string]*graph.Graph{"printer": g}, Runs: memruns.New()})
	for _, id := range []string{damaged, uuid.New()} {
		code, answer := send(t, s, http.MethodPost, "/threads", `{"thread_id":"`+id+`","graph_id":"printer"}`)
		require.Equal(t, http.StatusOK, code, answer)
	}

	code, thread := send(t, s, http.MethodGet, "/threads/"+damaged, "")
	require.Equal(t, http.StatusOK, code, thread)
	assert.Equal(t, "error", field(thread, "status"))
	assert.Equal(t, map[string]any{"error": "Error", "message": "the state of the thread cannot be read; the log of the server has the reason"}, field(thread, "error"))

	code, found := send(t, s, http.MethodPost, "/threads/search", `{}`)
	require.Equal(t, http.StatusOK, code, found)
	assert.Len(t, found, 2)
	code, found = send(t, s, http.MethodPost, "/threads/search", `{"values":{"answer":"x"}}`)
	require.Equal(t, http.StatusOK, code, found)
	assert.Empty(t, found)
}

// A oneCorrupt store has a damaged state for one thread.
type oneCorrupt struct {
	checkpoint.Store
	thread string
}

func (s oneCorrupt) Get(ctx context.Context, key checkpoint.Key) (checkpoint.Checkpoint, error) {
	if key.Thread == s.thread {
		return checkpoint.Checkpoint{}, checkpoint.ErrCorrupt
	}
	return s.Store.Get(ctx, key)
}
