package mcptools_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/tools"
	"github.com/weft-go/weft/tools/mcptools"
)

// serveHTTP serves an MCP server over HTTP. The function before sees each request first; if
// it returns false, it has answered the request.
func serveHTTP(t testing.TB, server *mcp.Server, o *mcp.StreamableHTTPOptions, before func(w http.ResponseWriter, r *http.Request) bool) string {
	t.Helper()
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, o)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if before == nil || before(w, r) {
			handler.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// TestForgottenSession proves that a call is repeated with a new session if the server
// reports in a JSON error that it has forgotten the session.
func TestForgottenSession(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	forget, sessions := "", map[string]bool{}
	url := serveHTTP(t, listing(&mcp.Tool{Name: "echo"}), nil, func(w http.ResponseWriter, r *http.Request) bool {
		mu.Lock()
		defer mu.Unlock()
		session := r.Header.Get("Mcp-Session-Id")
		if session == "" || r.Method != http.MethodPost {
			return true
		}
		sessions[session] = true
		if forget == "now" {
			forget = session
		}
		if session != forget {
			return true
		}
		body, _ := io.ReadAll(r.Body)
		var request struct {
			ID json.RawMessage `json:"id"`
		}
		_ = json.Unmarshal(body, &request)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":`+string(request.ID)+`,"error":{"code":-32600,"message":"Session not found"}}`)
		return false
	})
	c := newClient(t, mcptools.HTTP{URL: url}, mcptools.Options{})
	set := setOf(t, c)
	mu.Lock()
	forget = "now"
	mu.Unlock()
	assert.Equal(t, "success: echo {}", ask(t, set, "echo", ""))
	assert.Len(t, sessions, 2)
}

// TestHTTPHeaders proves that the headers and the context of a call reach the server, and
// that no header reaches another host.
func TestHTTPHeaders(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var got []string
	elsewhere := 0
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		elsewhere++
		assert.Empty(t, r.Header.Get("Authorization")+r.Header.Get("Key"), "another host")
	}))
	t.Cleanup(other.Close)
	redirect := false
	url := serveHTTP(t, listing(&mcp.Tool{Name: "echo"}), &mcp.StreamableHTTPOptions{Stateless: true}, func(w http.ResponseWriter, r *http.Request) bool {
		mu.Lock()
		defer mu.Unlock()
		got = append(got, r.Header.Get("Authorization")+" "+r.Header.Get("For"))
		if redirect {
			http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
			return false
		}
		return true
	})
	type forKey struct{}
	client := &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		r = r.Clone(r.Context())
		whom, _ := r.Context().Value(forKey{}).(string)
		r.Header.Set("For", whom)
		return http.DefaultTransport.RoundTrip(r)
	})}
	c := newClient(t, mcptools.HTTP{URL: url, Client: client, Header: http.Header{"authorization": {"Bearer key"}}}, mcptools.Options{})
	set := setOf(t, c)
	for _, whom := range []string{"ada", "bob"} {
		answer, err := set.Call(context.WithValue(within(t), forKey{}, whom), callOf("echo", ""), tools.Options{})
		require.NoError(t, err)
		require.Equal(t, "echo {}", answer.Text())
		mu.Lock()
		assert.Equal(t, "Bearer key "+whom, got[len(got)-1])
		assert.Equal(t, "Bearer key ", got[0])
		redirect = whom == "bob"
		mu.Unlock()
	}
	answer := ask(t, set, "echo", "")
	assert.True(t, strings.HasPrefix(answer, "error: "))
	assert.Contains(t, answer, "refused")
	assert.Zero(t, elsewhere)
	// A client that follows redirects does not send the headers to another host.
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return nil }
	_, err := newClient(t, mcptools.HTTP{URL: url, Client: client, Header: http.Header{"Key": {"secret"}}}, mcptools.Options{}).Tools(within(t))
	assert.Error(t, err, "the other host is no MCP server")
	assert.NotZero(t, elsewhere, "the redirect was not followed")
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestEndlessAnswer proves that the client stops reading an endless answer.
func TestEndlessAnswer(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	endless := false
	url := serveHTTP(t, listing(&mcp.Tool{Name: "echo"}), nil, func(w http.ResponseWriter, r *http.Request) bool {
		mu.Lock()
		defer mu.Unlock()
		if !endless || r.Method != http.MethodPost {
			return true
		}
		endless = false
		w.Header().Set("Content-Type", "application/json")
		some := []byte(strings.Repeat(" ", 1<<20))
		for range 64 {
			if _, err := w.Write(some); err != nil {
				return false
			}
		}
		assert.Fail(t, "the client read an answer of 64 MiB")
		return false
	})
	set := setOf(t, newClient(t, mcptools.HTTP{URL: url}, mcptools.Options{}))
	mu.Lock()
	endless = true
	mu.Unlock()
	assert.Contains(t, ask(t, set, "echo", ""), "may or may not have run")
	assert.Equal(t, "success: echo {}", ask(t, set, "echo", ""))
}
