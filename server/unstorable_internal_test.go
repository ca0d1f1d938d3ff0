package server

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/internal/uuid"
	"github.com/weft-go/weft/server/runs"
	"github.com/weft-go/weft/server/runs/memruns"
	"github.com/weft-go/weft/state"
)

// A panickingStore panics in each update of a run.
type panickingStore struct{ runs.Store }

func (s panickingStore) Update(ctx context.Context, r runs.Record) (int64, error) {
	if r.Kind == runs.Run {
		panic("bug of a store")
	}
	return s.Store.Update(ctx, r)
}

func (s panickingStore) Append(ctx context.Context, thread string, events []runs.Event, replaced ...runs.Record) error {
	if len(replaced) > 0 {
		panic("bug of a store")
	}
	return s.Store.Append(ctx, thread, events, replaced...)
}

// A failingUpdate fails each update of a run.
type failingUpdate struct{ runs.Store }

func (s failingUpdate) Update(ctx context.Context, r runs.Record) (int64, error) {
	if r.Kind == runs.Run {
		return 0, context.DeadlineExceeded
	}
	return s.Store.Update(ctx, r)
}

func unstorableServer(t *testing.T, store runs.Store) *Server {
	t.Helper()
	b := graph.New("g", state.LastWins[string]("text"))
	b.Node("n", func(context.Context, state.View) (state.Update, error) { return nil, nil })
	b.Edge(graph.Start, "n")
	g, err := b.Compile(graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})})
	require.NoError(t, err)
	s, err := New(Options{Graphs: map[string]*graph.Graph{"g": g}, Runs: store})
	require.NoError(t, err)
	return s
}

func ask(t *testing.T, s *Server, method, path, body string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, "http://127.0.0.1"+path, strings.NewReader(body))
	r.RemoteAddr = "127.0.0.1:1"
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

// queuedRun stores a run and queues it. If valid is not set, the data of the run cannot be encoded when the server
// stores the run again.
func queuedRun(t *testing.T, s *Server, thread string, valid bool) *activeRun {
	t.Helper()
	d := runData{Assistant: s.graphs["g"].assistant, Request: runRequest{Assistant: "g", Input: json.RawMessage(`{"text":"a"}`)}}
	data, err := d.encoded()
	require.NoError(t, err)
	r := runs.Record{Kind: runs.Run, ID: uuid.New(), Parent: thread, Graph: "g", Status: runPending, Created: now(), Data: data}
	a, err := newActiveRun(r, s.graphs["g"])
	require.NoError(t, err)
	if !valid {
		a.data.Request.Metadata = json.RawMessage(`"a"b`)
	}
	require.NoError(t, s.enqueue(t.Context(), a, &r))
	return a
}

// A run whose record cannot be stored ends with an error. Afterwards its thread can be used and deleted.
func TestRunThatCannotBeStoredBlocksNothing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		store runs.Store
		valid bool
		later string // the stored status of the run afterwards
	}{
		"has no JSON":      {memruns.New(), false, runError},
		"the store panics": {panickingStore{memruns.New()}, true, runPending},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s, thread := unstorableServer(t, c.store), uuid.New()
				defer func() { assert.NoError(t, s.Close(context.Background())) }()
				require.Equal(t, http.StatusOK, ask(t, s, http.MethodPost, "/threads", `{"thread_id":"`+thread+`"}`).Code)
				begun := time.Now()
				a := queuedRun(t, s, thread, c.valid)
				next := queuedRun(t, s, thread, true)

				<-a.done
				<-next.done
				assert.Less(t, time.Since(begun), time.Minute)
				r, err := s.o.Runs.Get(t.Context(), runs.Run, a.id)
				require.NoError(t, err)
				assert.Equal(t, c.later, r.Status)
				assert.Empty(t, s.lanes, "the thread is free")
				assert.Equal(t, http.StatusNoContent, ask(t, s, http.MethodDelete, "/threads/"+thread, "").Code)
			})
		})
	}
}

func TestRequestForARunThatCannotBeStoredIsRefused(t *testing.T) {
	t.Parallel()
	s := unstorableServer(t, memruns.New())
	defer func() { assert.NoError(t, s.Close(context.Background())) }()
	deep := strings.Repeat("[", 9999) + strings.Repeat("]", 9999) // JSON that can be read, but not inside other JSON
	w := ask(t, s, http.MethodPost, "/runs/wait", `{"assistant_id":"g","input":`+deep+`}`)
	assert.Equal(t, http.StatusUnprocessableEntity, w.Code, w.Body)
	assert.Contains(t, w.Body.String(), "cannot be stored")
	_, n, err := s.o.Runs.Search(t.Context(), runs.Query{Kind: runs.Thread})
	require.NoError(t, err)
	assert.Zero(t, n, "the thread that was made for the run")
}

// A server that shuts down does not wait for runs that it has not begun.
func TestCloseDoesNotWaitForRunsThatHaveNotBegun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := memruns.New()
		s, thread := unstorableServer(t, failingUpdate{store}), uuid.New()
		require.Equal(t, http.StatusOK, ask(t, s, http.MethodPost, "/threads", `{"thread_id":"`+thread+`"}`).Code)
		first, second := queuedRun(t, s, thread, true), queuedRun(t, s, thread, true)
		synctest.Wait()
		begun := time.Now()
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		assert.NoError(t, s.Close(ctx))
		assert.Less(t, time.Since(begun), time.Second)

		s = unstorableServer(t, store) // the next server executes the runs
		for _, a := range []*activeRun{first, second} {
			<-s.endOf(a.id)
			r, err := store.Get(t.Context(), runs.Run, a.id)
			require.NoError(t, err)
			assert.Equal(t, runSuccess, r.Status)
		}
		assert.NoError(t, s.Close(context.Background()))
	})
}

// A refusingStore refuses the record once when a run ends.
type refusingStore struct {
	runs.Store
	refused atomic.Bool
}

func (s *refusingStore) Append(ctx context.Context, thread string, events []runs.Event, replaced ...runs.Record) error {
	if len(replaced) > 0 && !s.refused.Swap(true) {
		return runs.ErrInvalid
	}
	return s.Store.Append(ctx, thread, events, replaced...)
}

// A slowWriter delays the header of a response.
type slowWriter struct {
	*httptest.ResponseRecorder
	wait func()
}

func (w slowWriter) Header() http.Header {
	w.wait()
	return w.ResponseRecorder.Header()
}

// A run may end and replace its data by the stored data before the server answers its request. The race detector fails if
// the answer reads this data.
func TestARunMayEndBeforeItsRequestIsAnswered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &refusingStore{Store: memruns.New()}
		s := unstorableServer(t, store)
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://127.0.0.1/threads/"+uuid.New()+"/runs",
			strings.NewReader(`{"assistant_id":"g","if_not_exists":"create","input":{"text":"a"}}`))
		r.RemoteAddr = "127.0.0.1:1"
		w := httptest.NewRecorder()
		s.ServeHTTP(slowWriter{w, func() { time.Sleep(time.Hour) }}, r)
		require.Equal(t, http.StatusOK, w.Code, w.Body)
		assert.True(t, store.refused.Load())
		var got run
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &got))
		assert.Equal(t, runPending, got.Status)
		var asked runRequest
		require.NoError(t, json.Unmarshal(got.Kwargs, &asked))
		assert.JSONEq(t, `{"text":"a"}`, string(asked.Input))
		require.NoError(t, s.Close(t.Context()))
	})
}
