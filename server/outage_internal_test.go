//go:build unix

package server

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint/pgcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/internal/fault"
	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/pgmemory"
	"github.com/weft-go/weft/server/runs/pgruns"
	"github.com/weft-go/weft/server/runs/riverqueue"
	"github.com/weft-go/weft/state"
)

const (
	outageThread = "11111111-1111-4111-8111-111111111111"
	dueThread    = "22222222-2222-4222-8222-222222222222"
	outageRun    = `{"assistant_id":"words","if_not_exists":"create","input":{"words":"hello"}}`
)

// outageBodies maps routes to the bodies that their requests need.
var outageBodies = map[string]string{
	"POST /assistants":                        `{"graph_id":"words"}`,
	"POST /assistants/{assistant}/latest":     `{"version":1}`,
	"POST /threads/prune":                     `{"thread_ids":["` + outageThread + `"]}`,
	"POST /threads/{thread}/state":            `{"values":{"words":"x"}}`,
	"POST /threads/{thread}/commands":         `{"id":1,"method":"run.start","params":{"assistant_id":"words","input":{"words":"x"}}}`,
	"POST /threads/{thread}/stream/events":    `{"channels":["values"]}`,
	"POST /threads/{thread}/runs/crons":       `{"assistant_id":"words","schedule":"0 0 1 1 *","input":{}}`,
	"POST /runs/crons":                        `{"assistant_id":"words","schedule":"0 0 1 1 *","input":{}}`,
	"POST /runs/batch":                        `[` + outageRun + `]`,
	"POST /runs/cancel":                       `{"thread_id":"` + outageThread + `","status":"all"}`,
	"POST /ag-ui/{assistant}":                 `{"threadId":"` + outageThread + `","runId":"r","messages":[{"id":"m","role":"user","content":"x"}],"tools":[],"context":[]}`,
	"POST /v1/chat/completions":               `{"model":"words","messages":[{"role":"user","content":"x"}]}`,
	"PUT /store/items":                        `{"namespace":["a"],"key":"k","value":{}}`,
	"DELETE /store/items":                     `{"namespace":["a"],"key":"k"}`,
	"POST /store/items/search":                `{"namespace_prefix":["a"]}`,
	"POST /store/namespaces":                  `{"prefix":["a"]}`,
	"POST /weft/memory/facts":                 `{"scope":{"User":"u"}}`,
	"POST /threads/{thread}/state/checkpoint": `{"checkpoint":{"checkpoint_id":"` + outageThread + `"}}`,
}

// outagePath replaces the wildcards of a pattern, and adds the query that the route needs.
func outagePath(pattern, assistant string) string {
	path := strings.NewReplacer("{assistant}", assistant, "{thread}", outageThread, "{run}", outageThread, "{cron}", outageThread,
		"{checkpoint}", outageThread, "{namespace}", "a", "{model}", "words", "{action}", "stream").Replace(pattern)
	if pattern == "/store/items" {
		path += "?namespace=a&key=k"
	}
	return path
}

// An outageServer is a server on a database that a test may stop.
type outageServer struct {
	*Server
	assistant string
}

func (s *outageServer) ask(t *testing.T, method, pattern string) *httptest.ResponseRecorder {
	t.Helper()
	body := outageBodies[method+" "+pattern]
	if body == "" && (method == http.MethodPost || method == http.MethodPatch) {
		if body = "{}"; strings.Contains(pattern, "/runs") && !strings.Contains(pattern, "search") && !strings.Contains(pattern, "count") && !strings.Contains(pattern, "{cron}") && !strings.Contains(pattern, "{run}") {
			body = outageRun
		}
	}
	path := outagePath(pattern, s.assistant)
	if method == http.MethodPost {
		path = strings.Replace(path, "/runs/"+outageThread+"/stream", "/runs/"+outageThread+"/cancel", 1)
	}
	r := httptest.NewRequestWithContext(t.Context(), method, "http://127.0.0.1"+path, strings.NewReader(body))
	r.RemoteAddr = "127.0.0.1:1"
	if method == http.MethodGet && strings.HasSuffix(path, "/stream/events") { // the route of the WebSocket
		r.Header.Set("Connection", "Upgrade")
		r.Header.Set("Upgrade", "websocket")
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

func (s *outageServer) post(t *testing.T, path, body string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://127.0.0.1"+path, strings.NewReader(body))
	r.RemoteAddr = "127.0.0.1:1"
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

// newOutageServer starts a server whose stores retry their calls for 100 ms only.
func newOutageServer(t *testing.T, url, schema string, shared bool) *outageServer {
	t.Helper()
	const patience = 100 * time.Millisecond
	config, err := pgcheckpoint.PoolConfig(url, pgcheckpoint.Direct)
	require.NoError(t, err)
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	require.NoError(t, pgcheckpoint.Migrate(t.Context(), pool, pgcheckpoint.Options{Schema: schema}))
	require.NoError(t, pgruns.Migrate(t.Context(), pool, pgruns.Options{Schema: schema}))
	require.NoError(t, pgmemory.Migrate(t.Context(), pool, pgmemory.Options{Schema: schema}))
	checkpoints, err := pgcheckpoint.New(t.Context(), pool, pgcheckpoint.Options{Schema: schema, Patience: patience})
	require.NoError(t, err)
	records, err := pgruns.New(t.Context(), pool, pgruns.Options{Schema: schema, Patience: patience})
	require.NoError(t, err)
	db, err := pgmemory.New(t.Context(), pool, pgmemory.Options{Schema: schema, Patience: patience})
	require.NoError(t, err)
	m, err := memory.New(db, memory.Options{})
	require.NoError(t, err)
	b := graph.New("words", words)
	b.Node("node", func(context.Context, state.View) (state.Update, error) { return state.Update{words.Put("done")}, nil })
	b.Edge(graph.Start, "node")
	g, err := b.Compile(graph.Options{Checkpoints: checkpoints})
	require.NoError(t, err)
	o := Options{Graphs: map[string]*graph.Graph{"words": g}, Runs: records, Values: m.Values(), Memory: m}
	if shared {
		o.Queue = riverqueue.New(pool, riverqueue.Options{Schema: schema, Lease: time.Second})
	}
	s, err := New(o)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.Close(context.WithoutCancel(t.Context()))) })
	return &outageServer{s, s.graphs["words"].assistant}
}

// storeless are the routes that need no store.
var storeless = []string{"GET /ok", "GET /healthz", "GET /metrics", "GET /info", "GET /weft/info"}

// During an outage of the database, each request that needs the database is answered with 503 and Retry-After. After the
// outage, requests and runs work again without a restart.
func TestAnOutageOfTheDatabaseIsToldToClientsAndEnds(t *testing.T) {
	t.Parallel()
	programs, err := fault.Programs(t.Context(), filepath.Join("..", "scripts", "postgres"))
	require.NoError(t, err)
	database, err := fault.NewServer(t.Context(), os.TempDir(), programs)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, database.Close()) })
	require.NoError(t, database.Start(t.Context()))
	servers := map[string]*outageServer{
		"alone": newOutageServer(t, database.URL(), "alone", false), "shared queue": newOutageServer(t, database.URL(), "shared", true),
	}
	for name, s := range servers {
		w := s.ask(t, http.MethodPost, "/threads/{thread}/runs/wait")
		require.Equal(t, http.StatusOK, w.Code, "%s: %s", name, w.Body)
		require.Contains(t, w.Body.String(), "done", name)
	}
	for name, s := range servers {
		w := s.post(t, "/threads/"+dueThread+"/runs", `{"assistant_id":"words","if_not_exists":"create","after_seconds":1,"input":{"words":"due in the outage"}}`)
		require.Equal(t, http.StatusOK, w.Code, "%s: %s", name, w.Body)
	}
	require.NoError(t, database.Stop(fault.Immediate))
	var asked sync.WaitGroup
	for name, s := range servers {
		for pattern, methods := range endpoints() {
			for method := range methods {
				if slices.Contains(storeless, method+" "+pattern) {
					continue
				}
				asked.Go(func() {
					w := s.ask(t, method, pattern)
					assert.Equal(t, http.StatusServiceUnavailable, w.Code, "%s: %s %s: %s", name, method, pattern, w.Body)
					assert.NotEmpty(t, w.Header().Get("Retry-After"), "%s: %s %s", name, method, pattern)
					assert.Contains(t, w.Body.String(), unavailableText, "%s: %s %s", name, method, pattern)
				})
			}
		}
	}
	asked.Wait()
	for name, s := range servers {
		for _, route := range storeless {
			w := s.ask(t, http.MethodGet, strings.TrimPrefix(route, "GET "))
			assert.Equal(t, http.StatusOK, w.Code, "%s: %s", name, route)
		}
	}
	require.NoError(t, database.Start(t.Context()))
	for name, s := range servers {
		require.Eventually(t, func() bool { return s.ask(t, http.MethodGet, "/readyz").Code == http.StatusOK }, 30*time.Second, 50*time.Millisecond, name)
		w := s.ask(t, http.MethodGet, "/threads/{thread}/state")
		assert.Equal(t, http.StatusOK, w.Code, "%s: %s", name, w.Body)
		w = s.ask(t, http.MethodPost, "/threads/{thread}/runs/wait")
		assert.Equal(t, http.StatusOK, w.Code, "%s: %s", name, w.Body)
		assert.Contains(t, w.Body.String(), `"done","hello","done"`, name)
		require.EventuallyWithT(t, func(c *assert.CollectT) {
			w := s.ask(t, http.MethodGet, "/threads/"+dueThread+"/state")
			assert.Contains(c, w.Body.String(), `["due in the outage","done"]`, name)
		}, 30*time.Second, 50*time.Millisecond)
	}
}
