package server_test

import (
	"context"
	"iter"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/internal/protocolgraphs"
	"github.com/weft-go/weft/server"
	"github.com/weft-go/weft/server/runs/memruns"
)

// userStore counts its calls by user and by owner.
type userStore struct {
	*memcheckpoint.Store
	mu     sync.Mutex
	users  map[string]int
	owners map[string]int // by the owner of the thread
	lists  int
}

func (s *userStore) note(ctx context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.users[server.UserID(ctx)]++
	s.owners[server.ThreadOwner(ctx)]++
}

func (s *userStore) Put(ctx context.Context, c checkpoint.Checkpoint, head string) error {
	s.note(ctx)
	return s.Store.Put(ctx, c, head)
}

func (s *userStore) Get(ctx context.Context, k checkpoint.Key) (checkpoint.Checkpoint, error) {
	s.note(ctx)
	return s.Store.Get(ctx, k)
}

func (s *userStore) List(ctx context.Context, q checkpoint.Query) iter.Seq2[checkpoint.Checkpoint, error] {
	s.note(ctx)
	s.mu.Lock()
	s.lists++
	s.mu.Unlock()
	return s.Store.List(ctx, q)
}

func (s *userStore) DeleteThread(ctx context.Context, thread string) error {
	s.note(ctx)
	return s.Store.DeleteThread(ctx, thread)
}

// storeOfUsers serves the graphs of the protocol with a userStore. The key of a request is the id of its user. ask sends
// a request as a user.
func storeOfUsers(t *testing.T, o server.Options) (store *userStore, s *server.Server, ask func(user, method, path, body string) string) {
	t.Helper()
	store = &userStore{Store: memcheckpoint.New(memcheckpoint.Options{}), users: map[string]int{}, owners: map[string]int{}}
	graphs, err := protocolgraphs.New(store)
	require.NoError(t, err)
	o.Graphs, o.Runs = graphs, memruns.New()
	o.Auth = func(r *http.Request) (server.User, error) { return server.User{ID: r.Header.Get("X-Api-Key")}, nil }
	s, err = server.New(o)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.Close(context.Background())) })
	web := httptest.NewServer(s)
	t.Cleanup(web.Close)
	return store, s, func(user, method, path, body string) string {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, web.URL+path, strings.NewReader(body))
		require.NoError(t, err)
		r.Header.Set("X-Api-Key", user)
		status, text := answered(t, r, nil)
		require.Less(t, status, 300, text)
		return text
	}
}

const runOfTools = `{"assistant_id": "tools", "if_not_exists": "create", "input": {"messages": [{"role": "user", "content": "hi"}]}}`

// A checkpoint store gets the user of a thread from the context: for requests, runs, and calls of the server itself.
func TestStoresAreToldTheUser(t *testing.T) {
	t.Parallel()
	store, s, ask := storeOfUsers(t, server.Options{})
	const thread = "11111111-1111-4111-8111-111111111111"
	ask("ann", http.MethodPost, "/threads/"+thread+"/runs/wait", runOfTools)
	ask("ann", http.MethodPost, "/threads/"+thread+"/runs/wait", runOfTools)
	ask("ann", http.MethodGet, "/threads/"+thread+"/state", "")
	ask("ann", http.MethodPost, "/threads/"+thread+"/history", "{}")
	ask("ann", http.MethodDelete, "/threads/"+thread, "")
	ask("ann", http.MethodPost, "/runs/wait", strings.Replace(runOfTools, `"if_not_exists": "create", `, "", 1)) // its thread is deleted by the server
	require.NoError(t, s.Close(t.Context()))
	store.mu.Lock()
	defer store.mu.Unlock()
	assert.Positive(t, store.users["ann"])
	assert.Len(t, store.users, 1, "calls without the user: %v", store.users)
	assert.Equal(t, store.users, store.owners)
}

// If the owner of a thread is not the user of the request, the store gets the same owner for requests, runs and
// deletions, and also the user who acts.
func TestStoresAreToldTheOwnerOfTheThread(t *testing.T) {
	t.Parallel()
	store, s, ask := storeOfUsers(t, server.Options{Authorize: func(context.Context, server.Access) (server.Filter, error) {
		return server.Filter{Owner: "team"}, nil
	}})
	const thread = "11111111-1111-4111-8111-111111111111"
	ask("ann", http.MethodPost, "/threads", `{"thread_id": "`+thread+`"}`)
	ask("ann", http.MethodPost, "/threads/"+thread+"/runs/wait", runOfTools)
	ask("bob", http.MethodPost, "/threads/"+thread+"/runs/wait", runOfTools)
	ask("bob", http.MethodGet, "/threads/"+thread+"/state", "")
	ask("bob", http.MethodPost, "/threads/search", "{}")
	ask("bob", http.MethodPost, "/threads/"+thread+"/commands", `{"id": 1, "method": "run.start", "params": `+runOfTools+`}`)
	ask("ann", http.MethodDelete, "/threads/"+thread, "")
	ask("ann", http.MethodPost, "/runs/wait", strings.Replace(runOfTools, `"if_not_exists": "create", `, "", 1)) // its thread is deleted by the server
	require.NoError(t, s.Close(t.Context()))
	store.mu.Lock()
	defer store.mu.Unlock()
	assert.Positive(t, store.users["ann"])
	assert.Positive(t, store.users["bob"])
	assert.Empty(t, store.users[""], "calls without a user")
	assert.Len(t, store.owners, 1, "calls with another owner: %v", store.owners)
	assert.Positive(t, store.owners["team"])
}

// A run does not list the checkpoints of a thread that has no unfinished superstep.
func TestARunNeedsNoListOfCheckpoints(t *testing.T) {
	t.Parallel()
	store, s, ask := storeOfUsers(t, server.Options{})
	const thread = "11111111-1111-4111-8111-111111111111"
	for range 3 {
		ask("ann", http.MethodPost, "/threads/"+thread+"/runs/wait", strings.Replace(runOfTools, "tools", "echo", 1))
	}
	require.NoError(t, s.Close(t.Context()))
	assert.Zero(t, store.lists)
}

// A cron runs as the user that made it, even if another user owns it. The store gets this user from the context.
func TestACronRunsAsItsUser(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &userStore{Store: memcheckpoint.New(memcheckpoint.Options{}), users: map[string]int{}, owners: map[string]int{}}
		graphs, err := protocolgraphs.New(store)
		require.NoError(t, err)
		s, err := server.New(server.Options{
			Graphs: graphs, Runs: memruns.New(),
			Auth: func(*http.Request) (server.User, error) { return server.User{ID: "ann"}, nil },
			Authorize: func(_ context.Context, a server.Access) (server.Filter, error) {
				assert.Equal(t, "ann", a.User.ID)
				return server.Filter{Owner: "team"}, nil
			},
		})
		require.NoError(t, err)
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/runs/crons", strings.NewReader(
			`{"assistant_id": "echo", "schedule": "* * * * *", "on_run_completed": "keep", "input": {"messages": [{"role": "user", "content": "hi"}]}}`))
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		require.Equal(t, http.StatusOK, w.Code, w.Body)
		time.Sleep(90 * time.Second)
		synctest.Wait()
		require.NoError(t, s.Close(t.Context()))
		assert.Equal(t, []string{"ann"}, slices.Collect(maps.Keys(store.users)))
		assert.Equal(t, []string{"team"}, slices.Collect(maps.Keys(store.owners)))
	})
}
