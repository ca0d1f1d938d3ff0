package server_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/server"
)

// dial opens a connection and sends text.
func dial(t *testing.T, web *httptest.Server, text string) net.Conn {
	t.Helper()
	c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", web.Listener.Addr().String())
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	_, err = io.WriteString(c, text)
	require.NoError(t, err)
	return c
}

// closed waits until the server has closed a connection, and returns the data that it sent.
func closed(t *testing.T, c net.Conn, within time.Duration) string {
	t.Helper()
	require.NoError(t, c.SetReadDeadline(time.Now().Add(within)))
	data, err := io.ReadAll(c)
	if netErr, ok := err.(net.Error); ok && netErr.Timeout() { //nolint:errorlint // a test
		assert.Fail(t, "the connection is still open", "after %v; got %q", within, data)
	}
	return string(data)
}

func head(method, path, user string, more ...string) string {
	lines := append([]string{method + " " + path + " HTTP/1.1", "Host: 127.0.0.1", "X-Test-User: " + user}, more...)
	return strings.Join(lines, "\r\n") + "\r\n\r\n"
}

func TestASlowBodyIsCut(t *testing.T) {
	t.Parallel()
	_, web := testServer(t, func(o *server.Options) { o.Limits.ReadTime = 200 * time.Millisecond })
	c := dial(t, web, head("POST", "/threads", "ann", "Content-Length: 100")+`{"metadata":`)
	got := closed(t, c, 10*time.Second)
	assert.Contains(t, got, "408 Request Timeout")
	c = dial(t, web, head("POST", "/threads", "", "Content-Length: 100"))
	assert.Contains(t, closed(t, c, 10*time.Second), "401 Unauthorized", "a body of nobody is not awaited")
	c = dial(t, web, head("GET", "/ok", "", "Content-Length: 100"))
	closed(t, c, 10*time.Second)
}

// The time limit for the body of a request does not end the stream of its response.
func TestAStreamOutlivesTheTimeOfItsBody(t *testing.T) {
	t.Parallel()
	_, web := testServer(t, func(o *server.Options) {
		o.Limits.ReadTime, o.Heartbeat = 100*time.Millisecond, 50*time.Millisecond
	})
	thread := ask(t, web, "ann", http.MethodPost, "/threads", nil).field(t, "thread_id")
	body := `{"channels":["values"]}`
	c := dial(t, web, head("POST", "/threads/"+thread+"/stream/events", "ann", fmt.Sprint("Content-Length: ", len(body)))+body)
	require.NoError(t, c.SetReadDeadline(time.Now().Add(20*time.Second)))
	beats := 0
	for lines := bufio.NewScanner(c); beats < 8 && lines.Scan(); {
		if strings.Contains(lines.Text(), "heartbeat") {
			beats++
		}
	}
	assert.Equal(t, 8, beats)
}

// If a client does not read its events, the server closes the connection, and the stream ends.
func TestAStreamThatNobodyReadsIsCut(t *testing.T) {
	t.Parallel()
	s, web := testServer(t, func(o *server.Options) {
		o.Limits.WriteTime, o.Heartbeat = time.Second, 20*time.Millisecond
	})
	thread := ask(t, web, "ann", http.MethodPost, "/threads", nil).field(t, "thread_id")
	c := dial(t, web, head("GET", "/threads/"+thread+"/stream", "ann"))
	require.NoError(t, c.(*net.TCPConn).SetReadBuffer(4096)) //nolint:forcetypeassert // dial returns it
	large := strings.Repeat("x", 1<<20)
	require.Eventually(t, func() bool { return server.OpenStreams(s) > 0 }, 10*time.Second, time.Millisecond)
	for i := 0; server.OpenStreams(s) > 0; i++ {
		require.Less(t, i, 60, "the stream is still open")
		input := map[string]any{"messages": []any{map[string]any{"id": "m", "role": "user", "content": large}}}
		run := map[string]any{"assistant_id": "echo", "input": input, "stream_mode": "values"}
		require.Equal(t, http.StatusOK, ask(t, web, "ann", http.MethodPost, "/threads/"+thread+"/runs", run).status)
		<-time.After(100 * time.Millisecond)
	}
}

func TestQuotasAnswerWith429(t *testing.T) {
	t.Parallel()
	_, web := testServer(t, func(o *server.Options) {
		o.Limits = server.Limits{UserRuns: 2, UserThreads: 3, UserStreams: 1, Requests: -1}
	})
	run := map[string]any{"assistant_id": "slow", "input": map[string]any{"tag": "t", "n": 50}}
	var wg sync.WaitGroup
	statuses := make([]reply, 8)
	for i := range statuses {
		wg.Go(func() { statuses[i] = ask(t, web, "ann", http.MethodPost, "/runs", run) })
	}
	wg.Wait()
	accepted := 0
	for _, r := range statuses {
		if r.status == http.StatusOK {
			accepted++
			continue
		}
		assert.Equal(t, http.StatusTooManyRequests, r.status, r.body)
		assert.Equal(t, "1", r.header.Get("Retry-After"))
	}
	assert.Equal(t, 2, accepted)
	assert.Equal(t, http.StatusTooManyRequests, ask(t, web, "ann", http.MethodPost, "/runs/batch", []any{run}).status)
	assert.Equal(t, http.StatusOK, ask(t, web, "bob", http.MethodPost, "/runs", run).status, "another user has its own quota")

	for i := range statuses {
		wg.Go(func() { statuses[i] = ask(t, web, "kim", http.MethodPost, "/threads", nil) })
	}
	wg.Wait()
	for range 3 { // each of several simultaneous requests may cause the refusal of another
		ask(t, web, "kim", http.MethodPost, "/threads", nil)
	}
	assert.Equal(t, http.StatusTooManyRequests, ask(t, web, "kim", http.MethodPost, "/threads", nil).status)
	assert.Equal(t, "3", strings.TrimSpace(ask(t, web, "kim", http.MethodPost, "/threads/count", map[string]any{}).body))

	thread := ask(t, web, "bob", http.MethodPost, "/threads", nil).field(t, "thread_id")
	first := dial(t, web, head("GET", "/threads/"+thread+"/stream", "bob"))
	line, err := bufio.NewReader(first).ReadString('\n')
	require.NoError(t, err)
	require.Contains(t, line, "200")
	assert.Equal(t, http.StatusTooManyRequests, ask(t, web, "bob", http.MethodGet, "/threads/"+thread+"/stream", nil).status)
	messages := []any{map[string]any{"id": "m", "role": "user", "content": "hi"}}
	for path, body := range map[string]map[string]any{
		"/runs/wait":           {"assistant_id": "echo", "input": map[string]any{}},
		"/v1/chat/completions": {"model": "echo", "messages": messages},
		"/ag-ui/echo":          {"threadId": "t", "runId": "r", "messages": messages},
	} {
		refused := ask(t, web, "bob", http.MethodPost, path, body)
		assert.Equal(t, http.StatusTooManyRequests, refused.status, path)
		assert.Contains(t, refused.body, "open streams", path)
	}
}

func TestRequestsOfAUserAnswerWith429(t *testing.T) {
	t.Parallel()
	_, web := testServer(t, func(o *server.Options) { o.Limits.Requests = 0.5 })
	assert.Equal(t, http.StatusOK, ask(t, web, "ann", http.MethodGet, "/info", nil).status)
	r := ask(t, web, "ann", http.MethodGet, "/info", nil)
	assert.Equal(t, http.StatusTooManyRequests, r.status)
	assert.Contains(t, []string{"1", "2"}, r.header.Get("Retry-After"))
	assert.Equal(t, http.StatusOK, ask(t, web, "bob", http.MethodGet, "/info", nil).status)
}

func TestMetricsAndReadiness(t *testing.T) {
	t.Parallel()
	s, web := testServer(t, nil)
	input := map[string]any{"messages": []any{map[string]any{"role": "user", "content": "hi"}}}
	run := map[string]any{"assistant_id": "echo", "input": input}
	require.Equal(t, http.StatusOK, ask(t, web, "ann", http.MethodPost, "/runs/wait", run).status)
	require.Equal(t, http.StatusOK, ask(t, web, "ann", http.MethodPost, "/runs/wait", map[string]any{"assistant_id": "fail", "input": input}).status)
	assert.Equal(t, http.StatusForbidden, ask(t, web, "ann", http.MethodGet, "/metrics", nil).status)
	assert.Equal(t, http.StatusUnauthorized, ask(t, web, "", http.MethodGet, "/metrics", nil).status)
	got := ask(t, web, "prometheus:metrics", http.MethodGet, "/metrics", nil)
	assert.Equal(t, http.StatusOK, got.status)
	assert.Equal(t, "text/plain; version=0.0.4; charset=utf-8", got.header.Get("Content-Type"))
	for _, line := range []string{
		`weft_runs_total{graph="echo",status="success"} 1`, `weft_runs_total{graph="fail",status="error"} 1`, "weft_runs_active 0", "weft_runs_queued 0",
		"weft_streams 0", `weft_http_requests_total{method="POST",route="/runs/wait",status="200"} 2`,
		`weft_run_duration_seconds_count{graph="echo"} 1`, `weft_run_wait_seconds_bucket{graph="echo",le="+Inf"} 1`, "weft_errors_total 0",
	} {
		assert.Contains(t, got.body, line+"\n")
	}
	assert.NotContains(t, got.body, "weft_events_total 0\n")

	assert.Equal(t, http.StatusOK, ask(t, web, "", http.MethodGet, "/readyz", nil).status)
	require.NoError(t, s.Close(context.Background()))
	assert.Equal(t, http.StatusServiceUnavailable, ask(t, web, "", http.MethodGet, "/readyz", nil).status)
	assert.Equal(t, http.StatusOK, ask(t, web, "", http.MethodGet, "/healthz", nil).status)
	refused := ask(t, web, "ann", http.MethodPost, "/runs", run)
	assert.Equal(t, http.StatusServiceUnavailable, refused.status)
	assert.Equal(t, "1", refused.header.Get("Retry-After"))
}
