package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/internal/protocolgraphs"
	"github.com/weft-go/weft/internal/uuid"
	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/server"
	"github.com/weft-go/weft/state"
)

// userHeader authenticates a user by a header, for tests only.
func userHeader(r *http.Request) (server.User, error) {
	id, permissions, _ := strings.Cut(r.Header.Get("X-Test-User"), ":")
	if id == "" {
		return server.User{}, errors.New("no user")
	}
	return server.User{ID: id, Permissions: strings.Fields(permissions)}, nil
}

// testServer starts a server with the recorded graphs, in memory.
func testServer(t *testing.T, change func(*server.Options)) (*server.Server, *httptest.Server) {
	t.Helper()
	return testServerOn(t, "memory", change)
}

// testServerOn starts a server with the recorded graphs on a kind of store.
func testServerOn(t *testing.T, kind string, change func(*server.Options)) (*server.Server, *httptest.Server) {
	t.Helper()
	checkpoints, store := openStores[kind](t)
	graphs, err := protocolgraphs.New(checkpoints)
	require.NoError(t, err)
	m := openMemory[kind](t)
	o := server.Options{
		Graphs: graphs, Runs: store, Values: m.Values(), Memory: m, Auth: userHeader,
		Scopes: func(_ context.Context, u server.User) ([]memory.Scope, error) {
			return []memory.Scope{{User: u.ID}}, nil
		},
	}
	storeFact(t, m, memory.Scope{User: "ann"}, secret)
	if change != nil {
		change(&o)
	}
	s, err := server.New(o)
	require.NoError(t, err)
	web := httptest.NewUnstartedServer(s)
	web.Config.ReadHeaderTimeout = 2 * time.Second
	web.Start()
	t.Cleanup(func() {
		web.CloseClientConnections()
		web.Close()
		assert.NoError(t, s.Close(context.Background()))
	})
	return s, web
}

// A reply is the response to a request of a test.
type reply struct {
	status int
	header http.Header
	body   string
}

// ask sends a request of a user. It reads an event stream for 300 ms.
func ask(t *testing.T, web *httptest.Server, user, method, path string, body any) reply {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	var reader io.Reader
	if body != nil {
		reader = jsonBody(t, body)
	}
	r, err := http.NewRequestWithContext(ctx, method, web.URL+path, reader)
	require.NoError(t, err)
	if user != "" {
		r.Header.Set("X-Test-User", user)
	}
	resp, err := web.Client().Do(r)
	require.NoError(t, err)
	defer func() { assert.NoError(t, resp.Body.Close()) }()
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		time.AfterFunc(300*time.Millisecond, cancel)
	}
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		require.ErrorIs(t, err, context.Canceled)
	}
	return reply{resp.StatusCode, resp.Header, string(data)}
}

func jsonBody(t *testing.T, v any) io.Reader {
	t.Helper()
	data, err := json.Marshal(v)
	require.NoError(t, err)
	return bytes.NewReader(data)
}

func (r reply) field(t *testing.T, name string) string {
	t.Helper()
	var fields map[string]json.RawMessage
	require.NoError(t, json.Unmarshal([]byte(r.body), &fields), r.body)
	var text string
	require.NoError(t, json.Unmarshal(fields[name], &text), r.body)
	return text
}

// owned has the ids of the objects of a user.
type owned struct{ assistant, thread, run, cron, checkpoint string }

func (o owned) in(path string) string {
	return strings.NewReplacer("{assistant}", o.assistant, "{thread}", o.thread, "{run}", o.run, "{cron}", o.cron, "{checkpoint}", o.checkpoint).Replace(path)
}

const secret = "a-secret-of-ann"

// fill creates an object of each kind.
func fill(t *testing.T, web *httptest.Server, user string) owned {
	t.Helper()
	meta := map[string]any{"note": secret}
	var o owned
	o.assistant = ask(t, web, user, http.MethodPost, "/assistants", map[string]any{"graph_id": "echo", "name": secret, "metadata": meta}).field(t, "assistant_id")
	o.thread = ask(t, web, user, http.MethodPost, "/threads", map[string]any{"metadata": meta}).field(t, "thread_id")
	input := map[string]any{"messages": []any{map[string]any{"role": "user", "content": secret}}}
	run := map[string]any{"assistant_id": o.assistant, "input": input, "metadata": meta, "stream_resumable": true}
	o.run = ask(t, web, user, http.MethodPost, "/threads/"+o.thread+"/runs", run).field(t, "run_id")
	require.Contains(t, ask(t, web, user, http.MethodGet, "/threads/"+o.thread+"/runs/"+o.run+"/join", nil).body, secret)
	o.checkpoint = ask(t, web, user, http.MethodGet, "/threads/"+o.thread+"/state", nil).field(t, "checkpoint_id")
	cron := map[string]any{"assistant_id": o.assistant, "schedule": "0 0 1 1 *", "input": input, "metadata": meta}
	o.cron = ask(t, web, user, http.MethodPost, "/threads/"+o.thread+"/runs/crons", cron).field(t, "cron_id")
	item := map[string]any{"namespace": []string{"notes"}, "key": "k", "value": map[string]any{"note": secret}}
	require.Equal(t, http.StatusNoContent, ask(t, web, user, http.MethodPut, "/store/items", item).status)
	return o
}

// bodyFor returns a valid body for a request, or nil for a GET request.
func bodyFor(method, path string, o owned) any {
	if method == http.MethodGet {
		return nil
	}
	input := map[string]any{"messages": []any{map[string]any{"role": "user", "content": "hi"}}}
	assistant := "echo"
	if !strings.Contains(path, "{thread}") {
		assistant = o.assistant
	}
	switch {
	case strings.HasSuffix(path, "/commands"):
		return map[string]any{"id": 1, "method": "run.start", "params": map[string]any{"assistant_id": "echo", "input": input}}
	case strings.HasSuffix(path, "/stream/events"):
		return map[string]any{"channels": []string{"values", "messages", "lifecycle", "input"}}
	case strings.HasSuffix(path, "/crons"):
		return map[string]any{"assistant_id": assistant, "schedule": "0 0 1 1 *", "input": input}
	case strings.HasSuffix(path, "/runs"), strings.HasSuffix(path, "/runs/wait"), strings.HasSuffix(path, "/runs/stream"):
		return map[string]any{"assistant_id": assistant, "input": input}
	case strings.HasSuffix(path, "/runs/batch"):
		return []any{map[string]any{"assistant_id": o.assistant, "input": input}}
	case strings.HasSuffix(path, "/runs/cancel"):
		return map[string]any{"thread_id": o.thread, "run_ids": []string{o.run}}
	case strings.HasSuffix(path, "/latest"):
		return map[string]any{"version": 1}
	case strings.HasSuffix(path, "/state/checkpoint"):
		return map[string]any{"checkpoint": map[string]any{"checkpoint_id": o.checkpoint}}
	case strings.HasSuffix(path, "/state"):
		return map[string]any{"values": input}
	case strings.HasSuffix(path, "/prune"):
		return map[string]any{"thread_ids": []string{o.thread}}
	case path == "/weft/memory/facts":
		return map[string]any{"scope": map[string]any{"user": "ann"}, "text": secret}
	case path == "/assistants":
		return map[string]any{"graph_id": "echo"}
	case strings.HasPrefix(path, "/store/"):
		return map[string]any{"namespace": []string{"notes"}, "namespace_prefix": []string{"notes"}, "key": "k", "value": map[string]any{}}
	}
	return map[string]any{"metadata": map[string]any{}}
}

// allRoutes lists the routes with a method, in order.
func allRoutes() [][2]string {
	var out [][2]string
	for path, methods := range server.Routes() {
		for _, method := range methods {
			out = append(out, [2]string{method, path})
		}
	}
	slices.SortFunc(out, func(a, b [2]string) int { return strings.Compare(a[1]+a[0], b[1]+b[0]) })
	return out
}

// For the objects of another user, each route gives the same answer as for objects that do not exist.
func TestObjectsOfAnotherUserDoNotExist(t *testing.T) {
	t.Parallel()
	for kind := range openStores {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			_, web := testServerOn(t, kind, nil)
			ann := fill(t, web, "ann")
			t.Run("routes", func(t *testing.T) {
				for _, route := range allRoutes() {
					for _, action := range []string{"stream", "cancel"} {
						if method, path := route[0], strings.ReplaceAll(route[1], "{action}", action); path != route[1] || action == "stream" {
							t.Run(method+" "+path, func(t *testing.T) {
								t.Parallel()
								hidden(t, web, method, path, ann)
							})
						}
					}
				}
			})
			unchanged(t, web, ann)
		})
	}
}

// hidden sends a request of bob for the objects of ann, and compares the answer with that for objects that do not exist.
func hidden(t *testing.T, web *httptest.Server, method, path string, ann owned) {
	t.Helper()
	nobody := owned{uuid.New(), uuid.New(), uuid.New(), uuid.New(), uuid.New()}
	got := ask(t, web, "bob", method, ann.in(path)+"?namespace=notes&key=k", bodyFor(method, path, ann))
	want := ask(t, web, "bob", method, nobody.in(path)+"?namespace=notes&key=k", bodyFor(method, path, nobody))
	assert.Equal(t, want.status, got.status, got.body)
	assert.Less(t, got.status, 500, got.body)
	assert.NotContains(t, got.body, secret)
	assert.Equal(t, withoutIDs(want, nobody), withoutIDs(got, ann))
}

// unchanged proves that ann still has the objects that fill created.
func unchanged(t *testing.T, web *httptest.Server, ann owned) {
	t.Helper()
	state := ask(t, web, "ann", http.MethodGet, "/threads/"+ann.thread+"/state", nil)
	assert.Equal(t, ann.checkpoint, state.field(t, "checkpoint_id"))
	assert.Equal(t, http.StatusOK, ask(t, web, "ann", http.MethodGet, "/assistants/"+ann.assistant, nil).status)
	assert.Contains(t, ask(t, web, "ann", http.MethodGet, "/store/items?namespace=notes&key=k", nil).body, secret)
	assert.Equal(t, "1", strings.TrimSpace(ask(t, web, "ann", http.MethodPost, "/runs/crons/count", map[string]any{}).body))
}

// withoutIDs returns a body with the ids of the request replaced. If the request succeeded, it returns "".
func withoutIDs(r reply, o owned) string {
	if r.status == http.StatusOK {
		return "" // bob got objects of his own
	}
	return strings.NewReplacer(o.assistant, "ID", o.thread, "ID", o.run, "ID", o.cron, "ID", o.checkpoint, "ID").Replace(r.body)
}

// team allows the members of a team to use the objects of the team. Only admins delete.
func team(_ context.Context, a server.Access) (server.Filter, error) {
	if a.Action == server.ActionDelete && !slices.Contains(a.User.Permissions, "admin") {
		return server.Filter{}, &server.Refusal{Status: http.StatusForbidden, Detail: "Only admins delete."}
	}
	if a.Resource == server.ResourceStore {
		return server.Filter{Owner: a.User.Permissions[0]}, nil
	}
	meta, err := json.Marshal(map[string]string{"team": a.User.Permissions[0]})
	return server.Filter{Metadata: meta}, err
}

func TestAuthorizeFiltersAndStamps(t *testing.T) {
	t.Parallel()
	_, web := testServer(t, func(o *server.Options) { o.Authorize = team })
	ann, bob, eve := "ann:red", "bob:red", "eve:blue"
	o := fill(t, web, ann)
	for _, path := range []string{
		"/assistants/" + o.assistant, "/threads/" + o.thread, "/threads/" + o.thread + "/runs/" + o.run, "/threads/" + o.thread + "/history",
		"/threads/" + o.thread + "/runs", "/store/items?namespace=notes&key=k",
	} {
		assert.Contains(t, ask(t, web, bob, http.MethodGet, path, nil).body, secret, "of the same team: %s", path)
		assert.NotContains(t, ask(t, web, eve, http.MethodGet, path, nil).body, secret, "of another team: %s", path)
	}
	for path, total := range map[string]string{"/threads/count": "1", "/runs/crons/count": "1"} {
		assert.Equal(t, total, strings.TrimSpace(ask(t, web, bob, http.MethodPost, path, map[string]any{}).body), path)
		assert.Equal(t, "0", strings.TrimSpace(ask(t, web, eve, http.MethodPost, path, map[string]any{}).body), path)
		asRed := map[string]any{"metadata": map[string]any{"team": "red"}}
		assert.Equal(t, "0", strings.TrimSpace(ask(t, web, eve, http.MethodPost, path, asRed).body), "a search adds to the filter: %s", path)
	}
	toBlue := map[string]any{"metadata": map[string]any{"team": "blue"}}
	assert.Equal(t, http.StatusOK, ask(t, web, bob, http.MethodPatch, "/threads/"+o.thread, toBlue).status)
	assert.Equal(t, http.StatusNotFound, ask(t, web, eve, http.MethodGet, "/threads/"+o.thread, nil).status, "nobody gives an object to another team")
	mine := ask(t, web, eve, http.MethodPost, "/threads", map[string]any{"metadata": map[string]any{"team": "red"}}).field(t, "thread_id")
	assert.Equal(t, http.StatusNotFound, ask(t, web, bob, http.MethodGet, "/threads/"+mine, nil).status)
	assert.Equal(t, http.StatusForbidden, ask(t, web, bob, http.MethodDelete, "/threads/"+o.thread, nil).status)
	assert.Equal(t, http.StatusForbidden, ask(t, web, bob, http.MethodDelete, "/threads/"+uuid.New(), nil).status, "the hook does not tell what exists")
	assert.Equal(t, http.StatusNoContent, ask(t, web, "kim:red admin", http.MethodDelete, "/threads/"+o.thread, nil).status)
}

// A user that reads the stream of a thread that does not exist yet gets no events if another user creates the thread.
func TestStreamOfAThreadThatAnotherUserCreates(t *testing.T) {
	t.Parallel()
	_, web := testServer(t, nil)
	thread := uuid.New()
	read := func(user string) <-chan string {
		out := make(chan string, 1)
		body := strings.NewReader(`{"channels": ["values", "lifecycle"]}`)
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, web.URL+"/threads/"+thread+"/stream/events", body)
		require.NoError(t, err)
		r.Header.Set("X-Test-User", user)
		resp, err := web.Client().Do(r)
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, resp.StatusCode)
		go func() {
			defer func() { _ = resp.Body.Close() }()
			buf := make([]byte, 64<<10)
			n, _ := io.ReadAtLeast(resp.Body, buf, 1)
			out <- string(buf[:n])
		}()
		return out
	}
	bob, ann := read("bob"), read("ann")
	run := map[string]any{"assistant_id": "echo", "input": map[string]any{"messages": []any{}}, "if_not_exists": "create"}
	require.Equal(t, http.StatusOK, ask(t, web, "ann", http.MethodPost, "/threads/"+thread+"/runs/wait", run).status)
	assert.Contains(t, <-ann, "lifecycle")
	select {
	case got := <-bob:
		assert.Fail(t, "bob saw an event", got)
	case <-time.After(200 * time.Millisecond):
	}
}

// A user without an id is refused: its filter would select the objects of all users.
func TestAuthMustNameTheUser(t *testing.T) {
	t.Parallel()
	_, web := testServer(t, func(o *server.Options) {
		o.Auth = func(*http.Request) (server.User, error) { return server.User{}, nil }
	})
	assert.Equal(t, http.StatusUnauthorized, ask(t, web, "", http.MethodPost, "/threads/search", map[string]any{}).status)
}

// Threads that Go code runs have no owner: a user who knows the id of such a thread does not get its states.
func TestThreadsOfGoCodeAreNotTaken(t *testing.T) {
	t.Parallel()
	var graphs map[string]*graph.Graph
	_, web := testServer(t, func(o *server.Options) { graphs = o.Graphs })
	id := uuid.New()
	_, err := graphs["fanout"].Thread(id).Invoke(t.Context(), state.Update{graph.Begin()}...)
	require.NoError(t, err)
	run := map[string]any{"assistant_id": "fanout", "input": map[string]any{}, "if_not_exists": "create"}
	for path, c := range map[string]struct {
		body   any
		status int
	}{
		"/threads":                        {map[string]string{"thread_id": id}, http.StatusConflict},
		"/threads?":                       {map[string]string{"thread_id": id, "if_exists": "do_nothing"}, http.StatusNotFound},
		"/threads/" + id + "/runs/wait":   {run, http.StatusNotFound},
		"/threads/" + id + "/runs/stream": {run, http.StatusNotFound},
	} {
		assert.Equal(t, c.status, ask(t, web, "ann", "POST", path, c.body).status, path)
	}
	assert.Equal(t, http.StatusNotFound, ask(t, web, "ann", "GET", "/threads/"+id+"/state", nil).status)
}
