package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
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
	"github.com/weft-go/weft/server/ui"
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

// The server checks requests to routes of the application, and sends the errors of the routes like its own.
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

// The server calls no route of the application without a user: not for OPTIONS, which browsers send without credentials
// before a request to another origin, and not below the paths of the pages.
func TestRoutesOfTheApplicationAlwaysHaveAUser(t *testing.T) {
	t.Parallel()
	s, web := application(t, server.Options{Chat: &ui.Chat{}, Origins: []string{"https://app.example"}})
	route := func(_ http.ResponseWriter, r *http.Request) error {
		assert.Equal(t, "ann", server.UserID(r.Context()))
		return nil
	}
	s.Handle("/api/any", route)
	s.Handle("POST /api/files", route)
	s.Handle("POST /chat/files", route)
	for _, c := range []struct {
		method, path, user string
		want               int
	}{
		{"OPTIONS", "/api/any", "", 204},
		{"OPTIONS", "/api/files", "", 204},
		{"POST", "/chat/files", "", 401},
		{"POST", "/chat/files", "ann", 200},
		{"POST", "/api/any", "", 401},
		{"POST", "/api/any", "ann", 200},
		{"GET", "/chat/", "", 200},
	} {
		r, err := http.NewRequestWithContext(t.Context(), c.method, web.URL+c.path, nil)
		require.NoError(t, err)
		r.Header.Set("Origin", "https://app.example")
		r.Header.Set("X-Api-Key", c.user)
		status, text := answered(t, r, err)
		assert.Equal(t, c.want, status, "%s %s as %q: %s", c.method, c.path, c.user, text)
	}
}

// A read-only server calls a route of the application only for methods that read.
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

// The time limit for the body of a request does not limit the time of the response.
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

// A route for files sets its own limits for the body, and gets an error for a thread of another user.
func TestRouteTakesFilesOfAThread(t *testing.T) {
	t.Parallel()
	s, web := application(t, server.Options{MaxBody: 100, Limits: server.Limits{ReadTime: 50 * time.Millisecond}})
	s.Handle("POST /api/files", func(w http.ResponseWriter, r *http.Request) error {
		if err := s.CheckThread(r, r.URL.Query().Get("thread")); err != nil {
			return err
		}
		if err := server.AllowBody(r, 1000, time.Minute); err != nil {
			return err
		}
		file, header, err := r.FormFile("file")
		if err != nil {
			return err
		}
		text, err := io.ReadAll(file)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(w, "%s has %d bytes", header.Filename, len(text))
		return err
	})
	form := func(field string, size int) (string, string) {
		var b bytes.Buffer
		m := multipart.NewWriter(&b)
		part, err := m.CreateFormFile(field, "a.csv")
		require.NoError(t, err)
		_, err = part.Write(bytes.Repeat([]byte("x"), size))
		require.NoError(t, err)
		require.NoError(t, m.Close())
		return b.String(), m.FormDataContentType()
	}
	send := func(t *testing.T, user, path, kind string, body io.Reader) (int, string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, web.URL+path, body)
		require.NoError(t, err)
		r.Header.Set("X-Api-Key", user)
		r.Header.Set("Content-Type", kind)
		return answered(t, r, err)
	}
	_, text := send(t, "ann", "/threads", "application/json", strings.NewReader("{}"))
	var thread struct {
		ID string `json:"thread_id"`
	}
	require.NoError(t, json.Unmarshal([]byte(text), &thread))
	small, _ := form("file", 300)
	for name, c := range map[string]struct {
		user, thread, field string
		size                int
		slow, counted       bool
		status              int
		want                string
	}{
		"a file":                     {"ann", thread.ID, "file", 300, false, true, 200, "a.csv has 300 bytes"},
		"a file that comes slowly":   {"ann", thread.ID, "file", 300, true, false, 200, "a.csv has 300 bytes"},
		"a file that is too large":   {"ann", thread.ID, "file", 2000, false, true, 413, "1000 bytes"},
		"a large file without a sum": {"ann", thread.ID, "file", 2000, false, false, 413, "1000 bytes"},
		"another user's thread":      {"bob", thread.ID, "file", 300, false, true, 404, "thread"},
		"a thread that is not there": {"ann", "d9cbb8a2-21a0-4d8b-9b0e-0d1b5a1b9a10", "file", 300, false, true, 404, "thread"},
		"another field":              {"ann", thread.ID, "other", 300, false, true, 400, "lacks a file"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text, kind := form(c.field, c.size)
			var body io.Reader = strings.NewReader(text)
			if c.slow {
				body = io.MultiReader(strings.NewReader(text[:50]), &waits{time: 200 * time.Millisecond}, strings.NewReader(text[50:]))
			}
			if !c.counted {
				body = io.NopCloser(body)
			}
			status, got := send(t, c.user, "/api/files?thread="+c.thread, kind, body)
			assert.Equal(t, c.status, status, got)
			assert.Contains(t, got, c.want)
		})
	}
	status, got := send(t, "ann", "/api/files?thread="+thread.ID, "text/plain", strings.NewReader(small))
	assert.Equal(t, http.StatusUnsupportedMediaType, status, got)
}

// waits is a reader that returns io.EOF after a time.
type waits struct{ time time.Duration }

func (w *waits) Read([]byte) (int, error) {
	<-time.After(w.time)
	return 0, io.EOF
}

// The server calls OnDelete with a thread that is deleted, and with its owner in the context. If OnDelete returns an
// error, the thread is kept.
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

// A refusal may have a body in the application's own form, also a refusal of Options.Auth.
func TestRefusalWithABody(t *testing.T) {
	t.Parallel()
	body := map[string]any{"error": "no", "details": []string{"a <b>"}}
	graphs, err := protocolgraphs.New(memcheckpoint.New(memcheckpoint.Options{}))
	require.NoError(t, err)
	s, err := server.New(server.Options{Graphs: graphs, Runs: memruns.New(), Auth: func(r *http.Request) (server.User, error) {
		if r.Header.Get("X-Api-Key") == "" {
			return server.User{}, &server.Refusal{Status: http.StatusUnauthorized, Body: body}
		}
		return server.User{ID: "ann"}, nil
	}})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.Close(context.Background())) })
	s.Handle("GET /api/refused", func(http.ResponseWriter, *http.Request) error {
		return &server.Refusal{Status: http.StatusGone, Detail: "not sent", Body: body}
	})
	s.Handle("GET /api/broken", func(http.ResponseWriter, *http.Request) error {
		return &server.Refusal{Status: http.StatusGone, Body: func() {}}
	})
	web := httptest.NewServer(s)
	t.Cleanup(web.Close)
	for _, test := range []struct {
		path, key, want string
		status          int
	}{
		{"/api/refused", "", `{"details":["a <b>"],"error":"no"}`, http.StatusUnauthorized},
		{"/api/refused", "x", `{"details":["a <b>"],"error":"no"}`, http.StatusGone},
		{"/api/broken", "x", "", http.StatusGone},
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, web.URL+test.path, nil)
		require.NoError(t, err)
		if test.key != "" {
			r.Header.Set("X-Api-Key", test.key)
		}
		status, text := answered(t, r, nil)
		assert.Equal(t, test.status, status, test.path)
		assert.Equal(t, test.want, strings.TrimSpace(text), test.path)
	}
}

// A thread that is being deleted gets no new run, because the application has already removed its own data of the thread.
func TestAThreadThatIsBeingDeletedGetsNoRun(t *testing.T) {
	t.Parallel()
	told, goOn := make(chan struct{}), make(chan struct{})
	_, web := application(t, server.Options{OnDelete: func(context.Context, string) error {
		close(told)
		<-goOn
		return nil
	}})
	do := func(method, path, body string) (int, string) {
		r, err := http.NewRequestWithContext(t.Context(), method, web.URL+path, strings.NewReader(body))
		require.NoError(t, err)
		r.Header.Set("X-Api-Key", "ann")
		r.Header.Set("Content-Type", "application/json")
		return answered(t, r, err)
	}
	const thread = "11111111-1111-4111-8111-111111111111"
	status, text := do(http.MethodPost, "/threads", `{"thread_id": "`+thread+`"}`)
	require.Equal(t, http.StatusOK, status, text)
	deleted := make(chan int, 1)
	go func() {
		status, _ := do(http.MethodDelete, "/threads/"+thread, "")
		deleted <- status
	}()
	<-told
	for _, body := range []string{runOfTools, strings.Replace(runOfTools, "{", `{"after_seconds": 60, `, 1)} {
		status, text = do(http.MethodPost, "/threads/"+thread+"/runs", body)
		assert.Equal(t, http.StatusConflict, status, text)
	}
	status, _ = do(http.MethodDelete, "/threads/"+thread, "")
	assert.Equal(t, http.StatusConflict, status, "another deletion at the same time")
	close(goOn)
	assert.Equal(t, http.StatusNoContent, <-deleted)
	status, text = do(http.MethodPost, "/threads/"+thread+"/runs/wait", runOfTools)
	assert.Equal(t, http.StatusOK, status, text)
}
