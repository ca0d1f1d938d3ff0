package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// through passes the requests of a terminal to handle, which can forward them to the server of the terminal.
func (m *terminal) through(handle func(w http.ResponseWriter, r *http.Request, server http.Handler)) {
	m.t.Helper()
	u, err := url.Parse(m.words["http://127.0.0.1:8123"])
	require.NoError(m.t, err)
	server := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(u) }} // sends no X-Forwarded headers
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { handle(w, r, server) }))
	m.t.Cleanup(h.Close)
	m.env = map[string]string{"WEFT_SERVER": h.URL}
}

func isStart(r *http.Request) bool {
	return r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/runs")
}

// The server starts a run, and its response is lost. The command repeats the request, and the server starts no second run.
func TestALostAnswerStartsNoSecondRun(t *testing.T) {
	t.Parallel()
	m := serve(t)
	id := m.thread(-1)
	var lost atomic.Bool
	m.through(func(w http.ResponseWriter, r *http.Request, server http.Handler) {
		if !isStart(r) || lost.Swap(true) {
			server.ServeHTTP(w, r)
			return
		}
		answer := httptest.NewRecorder()
		server.ServeHTTP(answer, r)
		var started struct {
			ID string `json:"run_id"`
		}
		assert.NoError(t, json.Unmarshal(answer.Body.Bytes(), &started), answer.Body)
		ended := httptest.NewRequestWithContext(r.Context(), http.MethodGet, path(id)+"/runs/"+started.ID+"/join", nil)
		server.ServeHTTP(httptest.NewRecorder(), ended)
		w.WriteHeader(http.StatusBadGateway)
	})
	code, out, errs := m.call("threads", "resume", "-all")
	assert.Equal(t, exitFailed, code, out)
	assert.Contains(t, errs, "1 thread of 1 did not succeed")
	_, out, _ = m.call("runs", "list", "-thread", id, "-json")
	assert.Equal(t, 2, strings.Count(out, `"run_id"`), "the first run of the thread, and the one that continues it: %s", out)
}

func TestTheServerSaysWhyAThreadIsBusy(t *testing.T) {
	t.Parallel()
	m := serve(t)
	m.thread(-1)
	m.through(func(w http.ResponseWriter, r *http.Request, server http.Handler) {
		if isStart(r) {
			w.WriteHeader(http.StatusConflict)
			_, _ = fmt.Fprint(w, `{"detail":"The thread is being deleted."}`)
			return
		}
		server.ServeHTTP(w, r)
	})
	_, out, errs := m.call("threads", "resume", "-all")
	assert.Contains(t, out, "busy: the server refuses: The thread is being deleted.", errs)
}

// When all runs have ended, the command lists the threads again, to find threads that the first list missed. If the server
// does not answer this request, the command repeats it.
func TestTheLastListIsAskedForAgain(t *testing.T) {
	t.Parallel()
	m := serve(t)
	m.thread(-1)
	var lists atomic.Int32
	m.through(func(w http.ResponseWriter, r *http.Request, server http.Handler) {
		if r.URL.Path == "/threads/search" && lists.Add(1) == 2 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		server.ServeHTTP(w, r)
	})
	_, out, errs := m.call("threads", "resume", "-all")
	assert.Contains(t, errs, "1 thread of 1 did not succeed", out)
	assert.EqualValues(t, 3, lists.Load())
}

func TestAnAnswerDoesNotHideAFaultOfTheServer(t *testing.T) {
	t.Parallel()
	for status, code := range map[int]int{http.StatusInternalServerError: exitFailed, http.StatusForbidden: exitDone} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			t.Parallel()
			m := serve(t)
			id := m.thread(12)
			m.through(func(w http.ResponseWriter, r *http.Request, server http.Handler) {
				if strings.HasPrefix(r.URL.Path, "/weft/runs") {
					w.WriteHeader(status)
					return
				}
				server.ServeHTTP(w, r)
			})
			got, out, errs := m.call("threads", "answer", id, `{"approved":true}`)
			assert.Equal(t, code, got, errs)
			assert.Contains(t, out+errs, "he answer is stored, and")
		})
	}
}

func TestADeletedThreadEndsNoList(t *testing.T) {
	t.Parallel()
	m := serve(t)
	first, deleted, last := m.thread(12), m.thread(12), m.thread(12)
	m.through(func(w http.ResponseWriter, r *http.Request, server http.Handler) {
		if r.URL.Path == path(deleted)+"/state" {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		server.ServeHTTP(w, r)
	})
	code, out, errs := m.call("threads", "list", "-node", "check")
	assert.Equal(t, exitDone, code, errs)
	assert.Contains(t, out, first)
	assert.Contains(t, out, last)
	assert.NotContains(t, out, deleted)
}

func TestACommandDoesNotWaitForLong(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		status int
		args   []string
	}{
		{http.StatusTooManyRequests, []string{"threads", "list"}},
		{http.StatusTooManyRequests, []string{"threads", "resume", "-all"}},
		{http.StatusServiceUnavailable, []string{"threads", "resume", "-all"}},
	} {
		t.Run(fmt.Sprint(tt.status, tt.args), func(t *testing.T) {
			t.Parallel()
			m := serve(t)
			m.thread(-1)
			m.through(func(w http.ResponseWriter, r *http.Request, server http.Handler) {
				if isStart(r) || tt.args[1] == "list" {
					w.Header().Set("Retry-After", "3600")
					w.WriteHeader(tt.status)
					_, _ = fmt.Fprint(w, `{"detail":"Come back in an hour."}`)
					return
				}
				server.ServeHTTP(w, r)
			})
			code, _, errs := m.call(tt.args...)
			assert.Equal(t, exitFailed, code)
			assert.Contains(t, errs, "Come back in an hour.")
		})
	}
}

func TestAPauseBeforeARequestIsSentAgainEndsWithTheCommand(t *testing.T) {
	t.Parallel()
	interrupted := errors.New("interrupted")
	ctx, cancel := context.WithCancelCause(t.Context())
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "30")
		w.WriteHeader(http.StatusTooManyRequests)
		time.AfterFunc(50*time.Millisecond, func() { cancel(interrupted) })
	}))
	defer h.Close()
	c := client{base: h.URL, http: h.Client()}
	require.ErrorIs(t, c.call(ctx, http.MethodGet, "/", nil, nil), interrupted)
}
