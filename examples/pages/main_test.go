package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"mime/multipart"
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
	go func() { ended <- run(ctx, l, 0, []string{"http://page.test"}) }()
	kind := "application/json"
	ask := func(method, path, body string) string {
		r, err := http.NewRequestWithContext(t.Context(), method, "http://"+l.Addr().String()+path, strings.NewReader(body))
		require.NoError(t, err)
		r.Header.Set("Content-Type", kind)
		res, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		defer res.Body.Close()
		data, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, res.StatusCode, string(data))
		return string(data)
	}
	assert.Contains(t, ask(http.MethodGet, "/chat/", ""), "Kontor")
	other, err := http.NewRequestWithContext(t.Context(), http.MethodOptions, "http://"+l.Addr().String()+"/threads", nil)
	require.NoError(t, err)
	other.Header.Set("Origin", "http://page.test")
	other.Header.Set("Access-Control-Request-Method", http.MethodPost)
	allowed, err := http.DefaultClient.Do(other)
	require.NoError(t, err)
	require.NoError(t, allowed.Body.Close())
	assert.Equal(t, "http://page.test", allowed.Header.Get("Access-Control-Allow-Origin"), "a page of another origin may call the server")
	ask(http.MethodGet, "/studio/", "")
	answer := ask(http.MethodPost, "/runs/wait", `{"assistant_id": "shop", "input": {"messages": [{"role": "user", "content": "`+suggestions[0]+`"}]}}`)
	assert.Contains(t, answer, `"type":"tool"`, "the first suggestion uses a tool")
	var thread struct {
		ID string `json:"thread_id"`
	}
	require.NoError(t, json.Unmarshal([]byte(ask(http.MethodPost, "/threads", "{}")), &thread))
	var form bytes.Buffer
	m := multipart.NewWriter(&form)
	part, err := m.CreateFormFile("file", "orders.csv")
	require.NoError(t, err)
	_, err = part.Write([]byte("product,pieces\nLund,4\n"))
	require.NoError(t, err)
	require.NoError(t, m.Close())
	kind = m.FormDataContentType()
	var list struct{ ID, Name, Note string }
	require.NoError(t, json.Unmarshal([]byte(ask(http.MethodPost, "/api/lists?thread="+thread.ID, form.String())), &list))
	assert.Equal(t, "orders.csv: 2 rows", list.Name+": "+list.Note)
	ask(http.MethodDelete, "/api/lists?thread="+thread.ID+"&id="+list.ID, "")
	http.DefaultClient.CloseIdleConnections()
	cancel()
	require.NoError(t, <-ended)
}
