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

	"github.com/weft-go/weft/tools"
	"github.com/weft-go/weft/tools/mcptools"
)

// serveHTTP serves a server of the library, behind what a test puts before it.
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

// Some servers say in JSON that they have forgotten a session, as after a
// restart. The library takes that for the answer to one request.
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
	expect(t, ask(t, set, "echo", ""), "success: echo {}")
	if len(sessions) != 2 {
		t.Errorf("there were %d sessions, want 2", len(sessions))
	}
}

// Headers and the context of a call reach the server, and no other host does.
func TestHTTPHeaders(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var got []string
	elsewhere := 0
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		elsewhere++
		if r.Header.Get("Authorization")+r.Header.Get("Key") != "" {
			t.Errorf("another host got %s %v", r.Method, r.Header)
		}
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
		if err != nil || answer.Text() != "echo {}" {
			t.Fatal(answer, err)
		}
		mu.Lock()
		expect(t, got[len(got)-1], "Bearer key "+whom)
		expect(t, got[0], "Bearer key ")
		redirect = whom == "bob"
		mu.Unlock()
	}
	if answer := ask(t, set, "echo", ""); !strings.HasPrefix(answer, "error: ") || !strings.Contains(answer, "refused") || elsewhere != 0 {
		t.Errorf("got %q, and %d requests elsewhere", answer, elsewhere)
	}
	// A client that lets itself be sent elsewhere takes no key along.
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return nil }
	if _, err := newClient(t, mcptools.HTTP{URL: url, Client: client, Header: http.Header{"Key": {"secret"}}}, mcptools.Options{}).Tools(within(t)); err == nil {
		t.Error("another host answered")
	}
	if elsewhere == 0 {
		t.Error("the redirect was not followed")
	}
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// An answer without end is not read to its end.
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
		t.Error("64 MiB of an answer were read")
		return false
	})
	set := setOf(t, newClient(t, mcptools.HTTP{URL: url}, mcptools.Options{}))
	mu.Lock()
	endless = true
	mu.Unlock()
	if got := ask(t, set, "echo", ""); !strings.Contains(got, "may or may not have run") {
		t.Errorf("got %q", got)
	}
	expect(t, ask(t, set, "echo", ""), "success: echo {}")
}
