package main

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestPagesAreServedUntilTheContextEnds(t *testing.T) {
	t.Parallel()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, l, 0) }()
	ask := func(method, path, body string) string {
		r, err := http.NewRequestWithContext(t.Context(), method, "http://"+l.Addr().String()+path, strings.NewReader(body))
		require.NoError(t, err)
		res, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		defer res.Body.Close()
		data, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, res.StatusCode, string(data))
		return string(data)
	}
	assert.Contains(t, ask(http.MethodGet, "/chat/", ""), "Kontor")
	ask(http.MethodGet, "/studio/", "")
	answer := ask(http.MethodPost, "/runs/wait", `{"assistant_id": "shop", "input": {"messages": [{"role": "user", "content": "`+suggestions[0]+`"}]}}`)
	assert.Contains(t, answer, `"type":"tool"`, "the first suggestion uses a tool")
	http.DefaultClient.CloseIdleConnections()
	cancel()
	require.NoError(t, <-ended)
}
