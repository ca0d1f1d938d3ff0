package server_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/internal/protocolgraphs"
	"github.com/weft-go/weft/server"
	"github.com/weft-go/weft/server/runs/memruns"
)

// serveHTTP serves a server at a free loopback address until stop is called.
func serveHTTP(t *testing.T, o server.Options) (address string, stop func() error) {
	t.Helper()
	graphs, err := protocolgraphs.New(memcheckpoint.New(memcheckpoint.Options{}))
	require.NoError(t, err)
	o.Graphs = graphs
	if o.Runs == nil {
		o.Runs = memruns.New()
	}
	s, err := server.New(o)
	require.NoError(t, err)
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, l, nil) }()
	var once error
	stopped := false
	stop = func() error {
		if !stopped {
			cancel()
			once, stopped = <-ended, true
		}
		return once
	}
	t.Cleanup(func() { assert.NoError(t, stop()) })
	return l.Addr().String(), stop
}

// Connections that send nothing, or never end their header, do not block other clients. The server closes the oldest of
// them.
func TestAFloodOfSilentConnectionsKeepsNobodyOut(t *testing.T) {
	t.Parallel()
	address, _ := serveHTTP(t, server.Options{})
	var conns []net.Conn
	for i := range 1300 {
		c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
		require.NoError(t, err)
		defer func() { _ = c.Close() }()
		if i%2 == 0 {
			_, err = io.WriteString(c, "GET /ok HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ")
			require.NoError(t, err)
		}
		conns = append(conns, c)
	}
	client := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	for range 20 {
		resp, err := client.Get("http://" + address + "/ok")
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		assert.Equal(t, http.StatusOK, resp.StatusCode)
	}
	for _, c := range conns[:200] {
		require.NoError(t, c.SetReadDeadline(time.Now().Add(5*time.Second)))
		_, err := io.Copy(io.Discard, c)
		if err != nil {
			netErr, ok := err.(net.Error) //nolint:errorlint // a test
			require.False(t, ok && netErr.Timeout(), "an old silent connection is open")
		}
	}
}

// A server that shuts down ends its streams, and the next server with the same stores continues the run.
func TestServeDrains(t *testing.T) {
	t.Parallel()
	store := memruns.New()
	address, stop := serveHTTP(t, server.Options{Runs: store})
	resp, err := http.Post("http://"+address+"/runs/stream", "application/json",
		jsonBody(t, map[string]any{"assistant_id": "slow", "input": map[string]any{"tag": "t", "n": 5}, "stream_mode": "custom", "stream_resumable": true}))
	require.NoError(t, err)
	defer func() { _ = resp.Body.Close() }()
	buf := make([]byte, 1)
	_, err = resp.Body.Read(buf) // the run has begun
	require.NoError(t, err)
	require.NoError(t, stop())
	rest, err := io.ReadAll(resp.Body)
	require.NoError(t, err, "the stream ends as a whole")
	assert.NotContains(t, string(rest), "event: error")
	_, err = http.Get("http://" + address + "/ok") //nolint:bodyclose // it fails
	require.Error(t, err, "the server takes no more connections")
}
