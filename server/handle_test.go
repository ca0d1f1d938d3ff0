package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/internal/protocolgraphs"
	"github.com/weft-go/weft/server"
	"github.com/weft-go/weft/server/runs/memruns"
)

// application returns a server with users "ann" and "bob", to which routes are added.
func application(t *testing.T, o server.Options) (*server.Server, *httptest.Server) {
	t.Helper()
	graphs, err := protocolgraphs.New(memcheckpoint.New(memcheckpoint.Options{}))
	require.NoError(t, err)
	o.Graphs, o.Runs, o.Hosts = graphs, memruns.New(), []string{"127.0.0.1"}
	o.Auth = func(r *http.Request) (server.User, error) {
		id := r.Header.Get("X-Api-Key")
		if id == "" {
			return server.User{}, errors.New("no key")
		}
		return server.User{ID: id}, nil
	}
	s, err := server.New(o)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.Close(context.Background())) })
	web := httptest.NewServer(s)
	t.Cleanup(web.Close)
	return s, web
}

// answered sends a request and returns the status and the body of the response.
func answered(t *testing.T, r *http.Request, err error) (int, string) {
	t.Helper()
	require.NoError(t, err)
	resp, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp.StatusCode, string(text)
}

// Routes of the application are under the checks of the server, and their errors are sent like its own.
func TestRoutesOfTheApplicationAreChecked(t *testing.T) {
	t.Parallel()
	s, web := application(t, server.Options{MaxBody: 100})
	s.Handle("POST /api/echo", func(w http.ResponseWriter, r *http.Request) error {
		text, err := io.ReadAll(r.Body)
		if err != nil {
			return err
		}
		_, err = io.WriteString(w, server.UserID(r.Context())+" says "+string(text))
		return err
	})
	s.Handle("GET /api/refused", func(http.ResponseWriter, *http.Request) error {
		return &server.Refusal{Status: http.StatusGone, Detail: "It was deleted."}
	})
	s.Handle("GET /api/broken", func(http.ResponseWriter, *http.Request) error {
		return errors.New("a secret")
	})
	s.Handle("GET /api/begun", func(w http.ResponseWriter, _ *http.Request) error {
		_, _ = io.WriteString(w, "begun")
		return errors.New("a secret")
	})
	for name, c := range map[string]struct {
		method, path, body string
		header             map[string]string
		status             int
		want               string
	}{
		"the user is known":             {"POST", "/api/echo", "hello", nil, 200, "ann says hello"},
		"without credentials":           {"POST", "/api/echo", "hello", map[string]string{"X-Api-Key": ""}, 401, "no valid credentials"},
		"another host":                  {"POST", "/api/echo", "hello", map[string]string{"Host": "evil.example"}, 403, "evil.example"},
		"another origin":                {"POST", "/api/echo", "hello", map[string]string{"Origin": "https://evil.example"}, 403, "evil.example"},
		"a body that is too large":      {"POST", "/api/echo", strings.Repeat("x", 101), nil, 413, "100 bytes"},
		"a refusal":                     {"GET", "/api/refused", "", nil, 410, `{"detail":"It was deleted."}`},
		"an error":                      {"GET", "/api/broken", "", nil, 500, "The log of the server says why"},
		"an error after the first byte": {"GET", "/api/begun", "", nil, 200, "begun"},
		"another method":                {"DELETE", "/api/echo", "", nil, 404, "no path"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, err := http.NewRequestWithContext(t.Context(), c.method, web.URL+c.path, strings.NewReader(c.body))
			require.NoError(t, err)
			r.Header.Set("X-Api-Key", "ann")
			for k, v := range c.header {
				r.Header.Set(k, v)
			}
			if host := c.header["Host"]; host != "" {
				r.Host = host
			}
			status, text := answered(t, r, err)
			assert.Equal(t, c.status, status)
			assert.Contains(t, text, c.want)
			assert.NotContains(t, text, "secret")
		})
	}
}

// A server that is read-only calls no route that may change something.
func TestRoutesOfTheApplicationAreReadOnlyToo(t *testing.T) {
	t.Parallel()
	s, web := application(t, server.Options{ReadOnly: true})
	s.Handle("/api/thing", func(w http.ResponseWriter, _ *http.Request) error {
		_, err := io.WriteString(w, "here")
		return err
	})
	for method, want := range map[string]int{"GET": 200, "HEAD": 200, "POST": 403, "DELETE": 403, "PURGE": 403} {
		r, err := http.NewRequestWithContext(t.Context(), method, web.URL+"/api/thing", nil)
		require.NoError(t, err)
		r.Header.Set("X-Api-Key", "ann")
		status, _ := answered(t, r, err)
		assert.Equal(t, want, status, method)
	}
}

// The time in which a body has to come is not the time of the response.
func TestRouteAnswersForLongerThanItsBodyMayTake(t *testing.T) {
	t.Parallel()
	s, web := application(t, server.Options{Limits: server.Limits{ReadTime: 50 * time.Millisecond}})
	s.Handle("POST /api/slow", func(w http.ResponseWriter, r *http.Request) error {
		if _, err := io.ReadAll(r.Body); err != nil {
			return err
		}
		select {
		case <-r.Context().Done():
			return context.Cause(r.Context())
		case <-time.After(200 * time.Millisecond):
		}
		_, err := io.WriteString(w, "done")
		return err
	})
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, web.URL+"/api/slow", strings.NewReader("hello"))
	require.NoError(t, err)
	r.Header.Set("X-Api-Key", "ann")
	status, text := answered(t, r, err)
	assert.Equal(t, http.StatusOK, status)
	assert.Equal(t, "done", text)
}

// The application is told of a thread that is deleted, and of its owner. Its error keeps the thread.
func TestApplicationIsToldOfDeletedThreads(t *testing.T) {
	t.Parallel()
	var told []string
	var failure error
	_, web := application(t, server.Options{OnDelete: func(ctx context.Context, thread string) error {
		told = append(told, server.UserID(ctx)+" "+thread)
		return failure
	}})
	do := func(method, path string) (int, string) {
		r, err := http.NewRequestWithContext(t.Context(), method, web.URL+path, strings.NewReader("{}"))
		require.NoError(t, err)
		r.Header.Set("X-Api-Key", "ann")
		r.Header.Set("Content-Type", "application/json")
		return answered(t, r, err)
	}
	_, text := do(http.MethodPost, "/threads")
	var thread struct {
		ID string `json:"thread_id"`
	}
	require.NoError(t, json.Unmarshal([]byte(text), &thread))
	failure = errors.New("the files are in use")
	status, _ := do(http.MethodDelete, "/threads/"+thread.ID)
	assert.Equal(t, http.StatusInternalServerError, status)
	status, _ = do(http.MethodGet, "/threads/"+thread.ID)
	assert.Equal(t, http.StatusOK, status)
	failure = nil
	status, _ = do(http.MethodDelete, "/threads/"+thread.ID)
	assert.Equal(t, http.StatusNoContent, status)
	status, _ = do(http.MethodGet, "/threads/"+thread.ID)
	assert.Equal(t, http.StatusNotFound, status)
	assert.Equal(t, []string{"ann " + thread.ID, "ann " + thread.ID}, told)
}
