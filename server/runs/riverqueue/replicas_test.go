package riverqueue_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint/pgcheckpoint"
	"github.com/weft-go/weft/internal/pgtest"
	"github.com/weft-go/weft/internal/protocolgraphs"
	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/inmemory"
	"github.com/weft-go/weft/server"
	"github.com/weft-go/weft/server/internal/replaytest"
	"github.com/weft-go/weft/server/runs/pgruns"
	"github.com/weft-go/weft/server/runs/riverqueue"
)

// newPool opens a pool and closes it at the end of the test.
func newPool(t *testing.T, address string) *pgxpool.Pool {
	t.Helper()
	config, err := pgcheckpoint.PoolConfig(address, pgcheckpoint.Detect)
	require.NoError(t, err)
	config.MaxConns = 16
	pool, err := pgxpool.NewWithConfig(context.Background(), config)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	return pool
}

// startReplica starts a server on a schema. change changes its options.
func startReplica(t *testing.T, address, schema string, q riverqueue.Options, change func(*server.Options, *pgcheckpoint.Store)) string {
	t.Helper()
	_, base := startServer(t, address, schema, q, change)
	return base
}

// startServer is like startReplica, and also returns the server.
func startServer(t *testing.T, address, schema string, q riverqueue.Options, change func(*server.Options, *pgcheckpoint.Store)) (*server.Server, string) {
	t.Helper()
	pool := newPool(t, address)
	require.NoError(t, pgcheckpoint.Migrate(t.Context(), pool, pgcheckpoint.Options{Schema: schema}))
	checkpoints, err := pgcheckpoint.New(t.Context(), pool, pgcheckpoint.Options{Schema: schema, LeaseTime: time.Second})
	require.NoError(t, err)
	require.NoError(t, pgruns.Migrate(t.Context(), pool, pgruns.Options{Schema: schema}))
	store, err := pgruns.New(t.Context(), pool, pgruns.Options{Schema: schema})
	require.NoError(t, err)
	q.Schema = schema
	o := server.Options{Runs: store, Queue: riverqueue.New(pool, q)}
	change(&o, checkpoints)
	s, err := server.New(o)
	require.NoError(t, err)
	web := httptest.NewServer(s)
	t.Cleanup(func() {
		web.CloseClientConnections()
		web.Close()
		assert.NoError(t, s.Close(context.Background()))
	})
	return s, web.URL
}

// alternate returns the address of a proxy that sends each request to the next replica.
func alternate(t *testing.T, replicas ...string) string {
	t.Helper()
	proxies := make([]*httputil.ReverseProxy, len(replicas))
	for i, r := range replicas {
		to, err := url.Parse(r)
		require.NoError(t, err)
		proxies[i] = &httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(p *httputil.ProxyRequest) { p.SetURL(to) }}
	}
	var n atomic.Int64
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// Read the body before it is passed on. The transport reads a body once more after its last byte. If the answer
		// has begun by then, net/http has closed the body, and the transport would close the connection.
		body, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		proxies[int(n.Add(1))%len(proxies)].ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		web.CloseClientConnections()
		web.Close()
	})
	return web.URL
}

// The server answers clients by the recorded protocol, even if each of their requests goes to another replica than the
// one before.
func TestProtocolOverReplicas(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		address  func(testing.TB) string
		replicas int
	}{
		"two": {pgtest.DirectURL, 2}, "four": {pgtest.DirectURL, 4}, "two behind PgBouncer": {pgtest.PooledURL, 2},
	} {
		t.Run(name, func(t *testing.T) { // not in parallel, because some cases depend on time
			m, err := memory.New(inmemory.New(inmemory.Options{}), memory.Options{}) // one for all replicas
			require.NoError(t, err)
			schema := pgtest.Schema(t)
			gate := replaytest.NewGate()
			var replicas []string
			for range c.replicas {
				replicas = append(replicas, startReplica(t, c.address(t), schema, riverqueue.Options{}, func(o *server.Options, checkpoints *pgcheckpoint.Store) {
					var err error
					o.Graphs, err = protocolgraphs.NewHeld(checkpoints, gate.Pass)
					require.NoError(t, err)
					o.Values = m.Values()
					o.Webhooks = server.Webhooks{Hosts: []string{"127.0.0.1"}, Networks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, HTTP: true}
				}))
			}
			passed, scenarios := replay(t, alternate(t, replicas...), gate), 0
			scenarios = len(readScenarios(t))
			assert.Equal(t, scenarios, passed)
			t.Logf("protocol over %d replicas: %d cases, %d passed", c.replicas, scenarios, passed)
		})
	}
}

// replay runs the recorded cases and returns the number of cases that passed. It runs few at the same time, because the
// replicas share a database.
func replay(t *testing.T, base string, gate *replaytest.Gate) (passed int) {
	t.Helper()
	hooks := replaytest.NewHooks()
	t.Cleanup(hooks.Close)
	scenarios := readScenarios(t)
	results := make([][]string, len(scenarios))
	slots := make(chan struct{}, 4)
	for i := range scenarios {
		slots <- struct{}{}
		go func() {
			defer func() { <-slots }()
			results[i] = scenarios[i].Run(t.Context(), base, hooks, gate)
		}()
	}
	for range cap(slots) {
		slots <- struct{}{}
	}
	for i, diffs := range results {
		if assert.Empty(t, diffs, scenarios[i].Name) {
			passed++
		}
	}
	return passed
}

func readScenarios(t *testing.T) (list []replaytest.Scenario) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", "testdata", "protocol", "*.json"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, f := range files {
		data, err := os.ReadFile(f)
		require.NoError(t, err)
		more, err := replaytest.Read(data)
		require.NoError(t, err, f)
		list = append(list, more...)
	}
	return list
}
