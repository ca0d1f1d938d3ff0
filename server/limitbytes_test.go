package server_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/server"
)

// A largeClient starts runs with large requests, and cancels them in the end.
type largeClient struct {
	t    *testing.T
	web  *httptest.Server
	runs [][2]string // the user and the path of each run
}

// run returns the request for a run, with a body of about size bytes. The record of the run has twice the size.
func (*largeClient) run(size, ticks int) map[string]any {
	pad := map[string]any{"configurable": map[string]any{"pad": strings.Repeat("a", size)}}
	return map[string]any{"assistant_id": "slow", "input": map[string]any{"tag": "a", "n": ticks}, "config": pad}
}

// start starts a run on a new thread, and returns its path.
func (l *largeClient) start(user string, run map[string]any) string {
	l.t.Helper()
	thread := ask(l.t, l.web, user, http.MethodPost, "/threads", nil).field(l.t, "thread_id")
	r := ask(l.t, l.web, user, http.MethodPost, "/threads/"+thread+"/runs", run)
	require.Equal(l.t, http.StatusOK, r.status, r.body)
	path := "/threads/" + thread + "/runs/" + r.field(l.t, "run_id")
	l.runs = append(l.runs, [2]string{user, path})
	return path
}

func (l *largeClient) cancel(user, path string) {
	l.t.Helper()
	r := ask(l.t, l.web, user, http.MethodPost, path+"/cancel?wait=true", nil)
	require.Less(l.t, r.status, 300, r.body)
}

// close cancels the started runs, so that the server can be closed.
func (l *largeClient) close() {
	for _, r := range l.runs {
		ask(l.t, l.web, r[0], http.MethodPost, r[1]+"/cancel?wait=true", nil)
	}
}

func TestLargeRunsOfAUserAndOfAllAreLimited(t *testing.T) {
	t.Parallel()
	_, web := testServer(t, func(o *server.Options) { o.Limits.UserBytes, o.Limits.Bytes = 300<<10, 900<<10 })
	l := &largeClient{t: t, web: web}
	defer l.close()
	run := l.run(200<<10, 10_000)
	first := l.start("ann", run)
	r := ask(t, web, "ann", http.MethodPost, "/runs", run)
	assert.Equal(t, http.StatusTooManyRequests, r.status, r.body)
	assert.Equal(t, "1", r.header.Get("Retry-After"))
	assert.Contains(t, r.body, "The user has other large requests and runs of")
	l.start("ann", l.run(1000, 10_000)) // a small run does not count

	chunked, err := http.NewRequestWithContext(t.Context(), http.MethodPost, web.URL+"/runs", io.MultiReader(jsonBody(t, run)))
	require.NoError(t, err)
	chunked.Header.Set("X-Test-User", "ann")
	resp, err := web.Client().Do(chunked)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	assert.Equal(t, http.StatusTooManyRequests, resp.StatusCode, "a body of unknown length counts, too")

	l.start("bob", run)
	r = ask(t, web, "kim", http.MethodPost, "/runs", run)
	assert.Equal(t, http.StatusServiceUnavailable, r.status, r.body)
	assert.Equal(t, "1", r.header.Get("Retry-After"))

	l.cancel("ann", first)
	l.start("ann", run)
}

func TestALargeBodyCountsUntilItIsAnswered(t *testing.T) {
	t.Parallel()
	_, web := testServer(t, func(o *server.Options) { o.Limits.UserBytes, o.Limits.Bytes = 100<<10, 150<<10 })
	body := `{"metadata": {"a": "` + strings.Repeat("a", 80<<10) + `"}}`
	created := func(user string) int {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, web.URL+"/threads", strings.NewReader(body))
		require.NoError(t, err)
		r.Header.Set("X-Test-User", user)
		resp, err := web.Client().Do(r)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		return resp.StatusCode
	}
	// refuses begins a slow request, and reports whether other requests were refused until it was answered. The server
	// refuses the slow request itself if it has counted another one first.
	refuses := func() bool {
		slow := dial(t, web, head("POST", "/threads", "ann", fmt.Sprint("Content-Length: ", len(body)), "Connection: close")+body[:len(body)-100])
		defer func() { _ = slow.Close() }()
		for range 100 {
			if created("ann") != http.StatusTooManyRequests {
				continue
			}
			bob := created("bob")
			if _, err := io.WriteString(slow, body[len(body)-100:]); err != nil {
				return false
			}
			answer, err := io.ReadAll(slow)
			return err == nil && strings.Contains(string(answer), "200 OK") && bob == http.StatusServiceUnavailable
		}
		return false
	}
	require.Eventually(t, refuses, 20*time.Second, 10*time.Millisecond)
	require.Eventually(t, func() bool { return created("ann") == http.StatusOK }, 10*time.Second, 10*time.Millisecond)
	for range 5 { // the server may count a request until shortly after its answer
		require.Eventually(t, func() bool { return created("ann") == http.StatusOK }, 10*time.Second, 10*time.Millisecond)
	}
}

// The announced length of a body does not count. A body may exceed the limits if it is the only one.
func TestOnlyBytesThatCameCount(t *testing.T) {
	t.Parallel()
	_, web := testServer(t, func(o *server.Options) { o.Limits.UserBytes, o.Limits.Bytes = 100<<10, 150<<10 })
	for range 2 {
		dial(t, web, head("POST", "/threads", "ann", "Content-Length: 16000000", "Connection: close"))
	}
	body := `{"metadata": {"a": "` + strings.Repeat("a", 300<<10) + `"}}`
	for name, reader := range map[string]io.Reader{"with a length": strings.NewReader(body), "chunked": io.MultiReader(strings.NewReader(body))} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, web.URL+"/threads", reader)
		require.NoError(t, err)
		r.Header.Set("X-Test-User", "ann")
		require.Eventually(t, func() bool { // the server may count the previous request until shortly after its answer
			r := r.Clone(t.Context())
			r.Body = io.NopCloser(strings.NewReader(body))
			resp, err := web.Client().Do(r)
			require.NoError(t, err)
			require.NoError(t, resp.Body.Close())
			return resp.StatusCode == http.StatusOK
		}, 10*time.Second, 10*time.Millisecond, name)
	}
}

func TestLargeRunsAreExecutedOneAfterTheOther(t *testing.T) {
	t.Parallel()
	_, web := testServer(t, func(o *server.Options) { o.Limits.Bytes = 1000 << 10 })
	l := &largeClient{t: t, web: web}
	defer l.close()
	reaches := func(path, status string) {
		t.Helper()
		require.Eventually(t, func() bool { return ask(t, web, "ann", http.MethodGet, path, nil).field(t, "status") == status }, 10*time.Second, 10*time.Millisecond)
	}
	first := l.start("ann", l.run(200<<10, 10_000))
	reaches(first, "running")
	second := l.start("ann", l.run(200<<10, 10_000))
	reaches(l.start("ann", l.run(1000, 0)), "success")
	reaches(second, "pending") // the small run did not wait for this one
	l.cancel("ann", first)
	reaches(second, "running")
}
