package server_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/internal/uuid"
	"github.com/weft-go/weft/server"
)

// An attack is a request that the server must refuse.
type attack struct {
	method, path, body string
	header             map[string]string
	want               int // 0 accepts any status of 4xx
}

// send sends a raw request as ann, and returns the status and the body.
func (a *attack) send(t *testing.T, base string, client *http.Client) (int, string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, a.method, base+a.path, strings.NewReader(a.body))
	require.NoError(t, err, a.path)
	r.Header.Set("X-Test-User", "ann")
	for k, v := range a.header {
		if k == "Host" {
			r.Host = v
			continue
		}
		r.Header.Set(k, v)
	}
	resp, err := client.Do(r)
	require.NoError(t, err)
	defer func() { assert.NoError(t, resp.Body.Close()) }()
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		return resp.StatusCode, ""
	}
	data, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp.StatusCode, string(data)
}

// named returns attacks for which the status of the response is known.
func named(thread string) []attack {
	deep := strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000)
	long := strings.Repeat("x", 5000)
	json := map[string]string{"Content-Type": "application/json"}
	return []attack{
		{"GET", "/info", "", map[string]string{"Host": "evil.example"}, 403},
		{"GET", "/info", "", map[string]string{"Host": "127.0.0.1.evil.example"}, 403},
		{"GET", "/ok", "", map[string]string{"Host": "evil.example:8123"}, 403},
		{"GET", "/info", "", map[string]string{"Origin": "https://evil.example"}, 403},
		{"POST", "/threads/search", "{}", map[string]string{"Origin": "null"}, 403},
		{"POST", "/threads/search", "{}", map[string]string{"Origin": "http://127.0.0.1.evil.example"}, 403},
		{"GET", "/info", "", map[string]string{"X-Test-User": ""}, 401},
		{"GET", "/metrics", "", nil, 403},
		{"GET", "/info?" + strings.Repeat("q", 9000), "", nil, 414},
		{"GET", "/info", "", map[string]string{"X-Large": strings.Repeat("x", 70_000)}, 431},
		{"POST", "/threads", `{"metadata":{"x":"` + strings.Repeat("x", 2<<20) + `"}}`, json, 413},
		{"POST", "/runs/batch", `["` + strings.Repeat("x", 2<<20) + `"]`, json, 413},
		{"POST", "/threads/search", `{"metadata":` + deep + `}`, json, 422},
		{"POST", "/threads", `{"metadata":` + strings.Repeat(`{"a":`, 20_000) + "1" + strings.Repeat("}", 20_000) + `}`, json, 422},
		{"POST", "/threads", `{"thread_id":"../../etc/passwd"}`, json, 422},
		{"POST", "/threads", `{"thread_id":"` + long + `"}`, json, 422},
		{"POST", "/threads/search", `{"limit":1e400}`, json, 422},
		{"POST", "/threads/search", `{"limit":-1}`, json, 422},
		{"POST", "/threads/search", `{"limit":99999999999999999999}`, json, 422},
		{"POST", "/threads/search", `{"offset":-5}`, json, 422},
		{"POST", "/threads/search", `{"sort_by":"metadata; drop table"}`, json, 422},
		{"POST", "/threads/search", `{"status":"'"}`, json, 422},
		{"POST", "/assistants", `{"graph_id":"nope"}`, json, 404},
		{"POST", "/assistants", `{"graph_id":"echo","name":"` + long + `"}`, json, 422},
		{"POST", "/assistants", `{"graph_id":"echo","name":"a\u0000b"}`, json, 422},
		{"POST", "/runs/wait", `{"assistant_id":"echo","webhook":"http://169.254.169.254/latest"}`, json, 422},
		{"POST", "/runs/wait", `{"assistant_id":"echo","webhook":"/threads"}`, json, 422},
		{"POST", "/runs/crons", `{"assistant_id":"echo","schedule":"* * * * *","webhook":"http://127.0.0.1/"}`, json, 422},
		{"POST", "/runs/crons", `{"assistant_id":"echo","schedule":"TZ=0","input":{}}`, json, 422},
		{"POST", "/runs/crons", `{"assistant_id":"echo","schedule":"* * * * *","timezone":"../../etc/passwd","input":{}}`, json, 422},
		{"POST", "/runs/wait", `{"assistant_id":"echo","after_seconds":1e300}`, json, 422},
		{"POST", "/runs/wait", `{"assistant_id":"echo","after_seconds":-1}`, json, 422},
		{"POST", "/runs/wait", `{"assistant_id":"echo","config":{"recursion_limit":-1}}`, json, 422},
		{"POST", "/runs/wait", `{"assistant_id":"echo","stream_mode":["evil"]}`, json, 422},
		{"POST", "/runs/wait", `{"assistant_id":"echo","multitask_strategy":"evil"}`, json, 422},
		{"PUT", "/store/items", `{"namespace":[],"key":"k","value":{}}`, json, 422},
		{"PUT", "/store/items", `{"namespace":["n"],"key":"k","value":[]}`, json, 422},
		{"POST", "/store/items/search", `{"namespace_prefix":["n"],"filter":{"a":{"$where":"1"}}}`, json, 422},
		{"POST", "/store/items/search", `{"limit":1000000}`, json, 422},
		{"POST", "/store/namespaces", `{"limit":-1}`, json, 422},
		{"GET", "/threads/" + thread + "/runs?limit=-1", "", nil, 422},
		{"GET", "/threads/" + thread + "/runs?limit=99999999999999999999", "", nil, 422},
		{"GET", "/threads/" + thread + "/history?limit=100000", "", nil, 422},
		{"GET", "/threads/" + thread + "/stream", "", map[string]string{"Last-Event-ID": "evil"}, 422},
		{"GET", "/threads/" + thread + "/stream", "", map[string]string{"Last-Event-ID": "-99"}, 422},
		{"GET", "/threads/../metrics", "", nil, 404},
		{"GET", "/chat/../threads", "", nil, 404},
		{"GET", "//threads/" + thread, "", nil, 404},
		{"GET", "/threads/" + thread + "/../../metrics", "", nil, 404},
		{"GET", "/.git/config", "", nil, 404},
		{"TRACE", "/info", "", nil, 405},
		{"PROPFIND", "/threads", "", nil, 405},
		{"POST", "/threads/" + thread + "/commands", `{"id":1}`, json, 400},
		{"POST", "/threads/" + thread + "/commands", `[]`, json, 400},
		{"GET", "/threads/" + thread + "/stream/events", "", nil, 426},
	}
}

// generated returns attacks on each route: hostile ids, and bodies that are not the JSON of a request.
func generated(thread string) []attack {
	ids := []string{"x", "%00", "..%2f..%2fetc", "%27%20or%201=1", "00000000-0000-0000-0000-00000000000g", strings.Repeat("a", 3000), "%F0%9F%92%A3", "1%0d%0aX-Evil:%201"}
	bodies := []string{"{", "null", `"text"`, "1e999", `{"metadata":}`, "\xff\xfe", `{"metadata":[],"values":3,"ids":"x","limit":"x","params":1,"id":"x","namespace":1,"config":7,"thread_ids":1,"version":"x","channels":1,"checkpoint":1,"scope":1}`}
	var out []attack
	for _, route := range allRoutes() {
		method, path := route[0], strings.ReplaceAll(route[1], "{action}", "stream")
		if strings.Contains(path, "{") {
			for _, id := range ids {
				hostile := path
				for strings.Contains(hostile, "{") {
					i, j := strings.Index(hostile, "{"), strings.Index(hostile, "}")
					hostile = hostile[:i] + id + hostile[j+1:]
				}
				out = append(out, attack{method: method, path: hostile, body: "{}"})
			}
		}
		if slices.Contains([]string{http.MethodGet, http.MethodDelete}, method) && path != "/store/items" || method == http.MethodGet || strings.HasSuffix(path, "/cancel") && path != "/runs/cancel" {
			continue
		}
		path = strings.NewReplacer("{thread}", thread, "{assistant}", uuid.New(), "{run}", uuid.New(), "{cron}", uuid.New(), "{checkpoint}", uuid.New()).Replace(path)
		if strings.HasSuffix(path, "/copy") || strings.HasSuffix(path, "/stream") && strings.HasPrefix(path, "/runs/") && path != "/runs/stream" {
			continue // these routes read no body
		}
		for _, body := range bodies {
			out = append(out, attack{method: method, path: path, body: body})
		}
	}
	return out
}

// The server refuses each hostile request with a status of 4xx and a text without internals. Afterwards it holds no more
// goroutines than before, and little more memory.
func TestAttacksAreRefused(t *testing.T) { //nolint:paralleltest // it counts the goroutines of the process
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	var logged bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&logged, &slog.HandlerOptions{Level: slog.LevelError}))
	servers, threads := map[string]*httptest.Server{}, map[string]string{}
	for kind := range openStores {
		_, web := testServerOn(t, kind, func(o *server.Options) {
			o.Hosts, o.MaxBody, o.Limits.Requests = []string{"127.0.0.1"}, 1<<20, -1
			o.Limits.ReadTime, o.Heartbeat = time.Second, 50*time.Millisecond
			o.Logger = logger
		})
		servers[kind], threads[kind] = web, ask(t, web, "ann", http.MethodPost, "/threads", nil).field(t, "thread_id")
		refused(t, web, client, named(threads[kind])) // before the count, so that the server and its store have opened their connections
	}
	before := use(client, servers)
	t.Run("stores", func(t *testing.T) {
		for kind, web := range servers {
			t.Run(kind, func(t *testing.T) {
				t.Parallel()
				attacks := append(named(threads[kind]), generated(threads[kind])...)
				assert.GreaterOrEqual(t, len(attacks), 200)
				t.Logf("%d attacks", len(attacks))
				refused(t, web, client, attacks)
			})
		}
	})
	abandoned(t, servers, threads)
	assert.Empty(t, logged.String(), "no attack is a failure of a server")
	assert.Eventually(t, func() bool { return use(client, servers).goroutines <= before.goroutines }, 10*time.Second, 50*time.Millisecond,
		"there were %d goroutines before", before.goroutines)
	after := use(client, servers)
	assert.Less(t, after.heap, before.heap+32<<20)
	t.Logf("goroutines: %d before, %d after; heap: %d KiB before, %d KiB after", before.goroutines, after.goroutines, before.heap>>10, after.heap>>10)
}

// refused sends attacks one after the other, and checks that each is refused.
func refused(t *testing.T, web *httptest.Server, client *http.Client, attacks []attack) {
	t.Helper()
	for _, a := range attacks {
		status, body := a.send(t, web.URL, client)
		what := fmt.Sprintf("%s %.100s %.80q: %d %.200s", a.method, a.path, a.body, status, body)
		if a.want != 0 {
			assert.Equal(t, a.want, status, what)
		}
		assert.True(t, status >= 400 && status < 500, what)
		for _, leak := range []string{".go:", "goroutine", "panic", "runtime", "/work", "sql"} {
			assert.NotContains(t, strings.ToLower(body), leak, what)
		}
		assert.Less(t, len(body), 2000, what)
	}
}

// abandoned opens connections with requests that never end. The servers close each connection.
func abandoned(t *testing.T, servers map[string]*httptest.Server, threads map[string]string) {
	t.Helper()
	var ends sync.WaitGroup
	for kind, web := range servers {
		for _, text := range silent(threads[kind]) {
			c := dial(t, web, text)
			ends.Go(func() { closed(t, c, 20*time.Second) })
		}
	}
	ends.Wait()
}

// silent returns the beginnings of requests that never end.
func silent(thread string) []string {
	upgrade := []string{"Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="}
	events := "/threads/" + thread + "/stream/events"
	return []string{
		"GET /info HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ", // half a header
		head("POST", "/threads", "ann", "Content-Length: 100") + `{"metadata":`,
		head("POST", "/threads", "", "Content-Length: 100"),
		head("POST", "/runs/stream", "ann", "Transfer-Encoding: chunked") + "5\r\n{\"ass",
		head("POST", events, "ann", "Content-Length: 100") + "{",
		head("GET", events, "ann", upgrade...),                              // a client that answers no ping
		head("GET", events, "ann", upgrade...) + "\x81\xfe\x40\x00mask{",    // half a message
		head("GET", events, "ann", upgrade...) + "\x81\x05hello",            // a message without a mask
		head("GET", events, "ann", upgrade...) + "\xff\xff\xff\xff\xff\xff", // bytes that are no frame
	}
}

// used is the use of resources by the process.
type used struct {
	goroutines int
	heap       uint64
}

// use closes the idle connections of the clients and returns the resources that are still in use.
func use(client *http.Client, servers map[string]*httptest.Server) used {
	client.CloseIdleConnections()
	for _, web := range servers {
		web.Client().CloseIdleConnections()
	}
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return used{runtime.NumGoroutine(), m.HeapAlloc}
}
