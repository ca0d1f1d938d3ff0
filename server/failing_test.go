package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"regexp"
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
	"github.com/weft-go/weft/server"
	"github.com/weft-go/weft/server/runs"
	"github.com/weft-go/weft/server/runs/memruns"
	"github.com/weft-go/weft/state"
)

// A failingStore fails the given number of calls of Append, from the second call on.
type failingStore struct {
	runs.Store
	fail  func(context.Context) error
	calls atomic.Int32
	times int32
}

func (s *failingStore) Append(ctx context.Context, thread string, events []runs.Event, replaced ...runs.Record) error {
	if n := s.calls.Add(1); n > 1 && n <= 1+s.times {
		return s.fail(ctx)
	}
	return s.Store.Append(ctx, thread, events, replaced...)
}

// A spoiled value cannot be encoded.
type spoiled struct{}

func (spoiled) MarshalJSON() ([]byte, error) { panic("no JSON") }

// stepsGraph has three supersteps. It emits a spoiled value if its input says so.
func stepsGraph(t *testing.T) *graph.Graph {
	t.Helper()
	lines, text := state.Append[string]("log"), state.LastWins[string]("text")
	b := graph.New("steps", lines, text)
	from := graph.Start
	for _, name := range []string{"a", "b", "c"} {
		b.Node(name, func(ctx context.Context, v state.View) (state.Update, error) {
			if text.Get(v) == "spoiled" {
				graph.Emit(ctx, spoiled{})
			}
			<-time.After(time.Second) // so that its events are stored before those of the next superstep
			return state.Update{lines.Put(name)}, nil
		})
		b.Edge(from, name)
		from = name
	}
	b.Edge(from, graph.End)
	g, err := b.Compile(graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})})
	require.NoError(t, err)
	return g
}

// local answers a request of this machine without a network.
func local(t *testing.T, s *server.Server, method, path, body string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, "http://127.0.0.1"+path, strings.NewReader(body))
	r.RemoteAddr = "127.0.0.1:1"
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

func fieldOf(t *testing.T, w *httptest.ResponseRecorder, name string) any {
	t.Helper()
	var out map[string]any
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &out), w.Body)
	return out[name]
}

var eventID = regexp.MustCompile(`(?m)^id: (\d+)-`)

// If a store fails, panics or does not answer, the run ends with an error, and the process continues. No reader gets an
// event that was not stored. The server stores the end of the run as soon as the store works again, and then the thread
// can be used.
func TestFailingStoreEndsItsRunWithAnError(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fail  func(context.Context) error
		times int32
		input string
	}{
		"fails once":           {func(context.Context) error { return errors.New("disk full") }, 1, "fine"},
		"fails for some time":  {func(context.Context) error { return errors.New("disk full") }, 5, "fine"},
		"panics":               {func(context.Context) error { panic("bug of a store") }, 3, "fine"},
		"does not answer":      {func(ctx context.Context) error { <-ctx.Done(); return context.Cause(ctx) }, 2, "fine"},
		"value that panics":    {nil, 0, "spoiled"},
		"conflicts of no sort": {func(context.Context) error { return runs.ErrConflict }, 1, "fine"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store := &failingStore{Store: memruns.New(), fail: c.fail, times: c.times}
				s, err := server.New(server.Options{Graphs: map[string]*graph.Graph{"steps": stepsGraph(t)}, Runs: store})
				require.NoError(t, err)
				defer func() { assert.NoError(t, s.Close(context.Background())) }()
				thread := uuid.New()
				body := `{"assistant_id":"steps","if_not_exists":"create","stream_resumable":true,"stream_mode":["values","tasks","custom"],"input":{"text":"` + c.input + `"}}`
				stream := local(t, s, http.MethodPost, "/threads/"+thread+"/runs/stream", body)
				run := stream.Header().Get("Content-Location")

				assert.Contains(t, stream.Body.String(), "event: error\n", "the reader learns of the failure")
				assert.NotContains(t, stream.Body.String(), "disk full", "and of no details")
				stored, err := store.Events(t.Context(), thread, 0, 0)
				require.NoError(t, err)
				kept := map[string]bool{}
				for _, e := range stored {
					kept[itoa(int(e.Seq))] = true
				}
				for _, id := range eventID.FindAllStringSubmatch(stream.Body.String(), -1) {
					assert.True(t, kept[id[1]], "event %s was shown and is not stored", id[1])
				}
				assert.Equal(t, "end", stored[len(stored)-1].Kind)
				assert.Equal(t, "error", fieldOf(t, local(t, s, http.MethodGet, run, ""), "status"))
				assert.Equal(t, "error", fieldOf(t, local(t, s, http.MethodGet, "/threads/"+thread, ""), "status"))

				again := local(t, s, http.MethodPost, "/threads/"+thread+"/runs/wait", `{"assistant_id":"steps","input":{"text":"fine"}}`)
				assert.Contains(t, again.Body.String(), `"c"`, "the thread can be used")
			})
		})
	}
}

// A fullDisk fails each call of Append after the first one, until there is room.
type fullDisk struct {
	runs.Store
	calls atomic.Int32
	room  atomic.Bool
}

func (s *fullDisk) Append(ctx context.Context, thread string, events []runs.Event, replaced ...runs.Record) error {
	if s.calls.Add(1) > 1 && !s.room.Load() {
		return errors.New("the disk is full")
	}
	return s.Store.Append(ctx, thread, events, replaced...)
}

// On a full disk, the end of a run cannot be stored. The readers of the run are aborted and do not wait forever, and
// the end is stored later.
func TestReadersOfARunWhoseEndCannotBeStoredAreAborted(t *testing.T) {
	t.Parallel()
	for _, suffix := range []string{"wait", "stream"} {
		synctest.Test(t, func(t *testing.T) {
			store := &fullDisk{Store: memruns.New()}
			s, err := server.New(server.Options{Graphs: map[string]*graph.Graph{"steps": stepsGraph(t)}, Runs: store})
			require.NoError(t, err)
			defer func() { assert.NoError(t, s.Close(context.Background())) }()
			const thread = "/threads/11111111-1111-4111-8111-111111111111"
			began := time.Now()
			assert.PanicsWithValue(t, http.ErrAbortHandler, func() {
				local(t, s, http.MethodPost, thread+"/runs/"+suffix, `{"assistant_id": "steps", "if_not_exists": "create", "input": {}}`)
			}, suffix)
			assert.Less(t, time.Since(began), time.Minute, suffix)
			store.room.Store(true)
			time.Sleep(10 * time.Second)
			assert.Contains(t, local(t, s, http.MethodGet, thread, "").Body.String(), `"status":"error"`, suffix)
		})
	}
}
