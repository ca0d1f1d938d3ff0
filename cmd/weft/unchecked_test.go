package main

import (
	"context"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/server"
	"github.com/weft-go/weft/server/runs/memruns"
	"github.com/weft-go/weft/state"
)

// unchecked returns a graph that asks a question without a schema.
func unchecked(t *testing.T, store checkpoint.Store) *graph.Graph {
	t.Helper()
	type decision struct {
		Approved bool `json:"approved"`
	}
	ask := graph.NewInterrupt[string, decision]("approve")
	b := graph.New("unchecked", state.Last[string]("order"))
	b.Node("ask", func(ctx context.Context, _ state.View) (state.Update, error) {
		_, err := ask.Wait(ctx, "approve?")
		return nil, err
	})
	b.Edge(graph.Start, "ask")
	g, err := b.Compile(graph.Options{Checkpoints: store})
	require.NoError(t, err)
	return g
}

// With a server, the command reports how the run with the answer has ended. If the node cannot read the answer, the command
// fails, and the list shows the thread as paused.
func TestTheCommandSaysThatAnAnswerCannotBeRead(t *testing.T) {
	t.Parallel()
	g := unchecked(t, memcheckpoint.New(memcheckpoint.Options{}))
	s, err := server.New(server.Options{Graphs: map[string]*graph.Graph{"unchecked": g}, Runs: memruns.New()})
	require.NoError(t, err)
	web := httptest.NewServer(s)
	t.Cleanup(func() {
		web.Close()
		assert.NoError(t, s.Close(context.Background()))
	})
	const thread = "01990000-0000-7000-8000-000000000001"
	m := newTerminal(t, nil)
	ctx := t.Context()
	c := &client{base: web.URL, http: web.Client()}
	require.NoError(t, c.call(ctx, "POST", "/threads/"+thread+"/runs/wait", map[string]any{"assistant_id": "unchecked", "if_not_exists": "create", "input": map[string]any{"order": "A"}}, nil))

	code, out, errs := m.call("threads", "answer", thread, "true", "-server", web.URL)
	assert.Equal(t, exitFailed, code)
	assert.Empty(t, out)
	assert.Contains(t, errs, "want a main.decision, got a bool; the thread is paused; weft threads show "+thread+" prints the open question")
	code, out, errs = m.call("threads", "list", "-status", "paused", "-server", web.URL)
	assert.Equal(t, exitDone, code, errs)
	assert.Contains(t, out, thread)
	code, out, errs = m.call("threads", "answer", thread, `{"approved":true}`, "-server", web.URL)
	assert.Equal(t, exitDone, code, errs)
	assert.Equal(t, "The answer is stored, and the server has run the thread on. The thread is done.\n", out)
}

// With a database, the command says that nothing has checked the answer.
func TestTheCommandSaysThatAnAnswerIsUnchecked(t *testing.T) {
	t.Parallel()
	for name, p := range places(t) {
		t.Run(name, func(t *testing.T) {
			th := unchecked(t, p.store).Thread("t")
			_, err := th.Invoke(t.Context(), graph.Begin())
			require.NoError(t, err)
			m := newTerminal(t, nil)
			m.place = &p
			code, out, errs := m.call("threads", "answer", "t", "true", "-db", "threads.db")
			assert.Equal(t, exitDone, code, errs)
			assert.Contains(t, out, "stored unchecked, because the question has no schema")
			_, err = th.Invoke(t.Context())
			require.ErrorContains(t, err, "want a main.decision, got a bool")
			code, out, errs = m.call("threads", "list", "-status", "paused", "-db", "threads.db")
			assert.Equal(t, exitDone, code, errs)
			assert.Contains(t, out, "ask")
		})
	}
}

// An operator can replace a wrong answer before the thread runs, with the id of its question. After a finished task has used
// an answer, nobody can replace it.
func TestAStoredAnswerCanBeReplaced(t *testing.T) {
	t.Parallel()
	for name, p := range places(t) {
		t.Run(name, func(t *testing.T) {
			th := unchecked(t, p.store).Thread("t")
			snap, err := th.Invoke(t.Context(), graph.Begin())
			require.NoError(t, err)
			question := snap.Pauses[0].ID
			m := newTerminal(t, nil)
			m.place = &p
			answer := func(args ...string) (code int, text string) {
				code, out, errs := m.call(append([]string{"threads", "answer", "t", "-db", "threads.db"}, args...)...)
				return code, out + errs
			}
			code, text := answer("true")
			require.Equal(t, exitDone, code, text)
			for _, args := range [][]string{{`{"approved":true}`}, {question[:31] + "x", `{"approved":true}`}} {
				code, text = answer(args...)
				assert.Equal(t, exitFailed, code)
				assert.Contains(t, text, `thread "t" has no open question`)
				assert.Contains(t, text, "the question "+question+" has an answer that no finished task has used; weft threads answer t "+question+" ANSWER replaces it")
			}
			code, text = answer(question, `{"approved":true}`)
			assert.Equal(t, exitDone, code, text)
			assert.Contains(t, text, "fails if the node cannot read it.\nIt replaces the earlier answer, unless a run that was drained, cancelled or killed has used that one.\n")
			snap, err = th.Invoke(t.Context())
			require.NoError(t, err)
			assert.True(t, snap.Done())
			code, text = answer(question, `{"approved":false}`)
			assert.Equal(t, exitFailed, code)
			assert.Equal(t, "weft threads answer: thread \"t\" has no open question\n", text)
		})
	}
}
