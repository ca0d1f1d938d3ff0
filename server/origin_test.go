package server_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/internal/protocolgraphs"
	"github.com/weft-go/weft/server"
	"github.com/weft-go/weft/server/runs/memruns"
)

// A page of another origin can read only the response headers that the server names. A client needs Retry-After to know
// when to repeat a request.
func TestPagesOfOtherOriginsReadTheHeadersThatClientsNeed(t *testing.T) {
	t.Parallel()
	s, _ := application(t, server.Options{Origins: []string{"https://app.example"}, Limits: server.Limits{Requests: 1}})
	var last *httptest.ResponseRecorder
	for last == nil || last.Code != http.StatusTooManyRequests {
		last = fromOrigin(t, s, "https://app.example")
	}
	assert.NotEmpty(t, last.Header().Get("Retry-After"))
	shown := strings.Split(last.Header().Get("Access-Control-Expose-Headers"), ", ")
	assert.Subset(t, shown, []string{"Retry-After", "Content-Location", "Location", "X-Pagination-Total", "X-Pagination-Next"})
}

// The browser does not tell a page why its request failed. The server logs the reason once for each origin, up to a
// limit, so that clients cannot fill the log with origins.
func TestLogNamesAnOriginThatIsRefusedOnce(t *testing.T) {
	t.Parallel()
	var logged bytes.Buffer
	s, _ := application(t, server.Options{Logger: slog.New(slog.NewTextHandler(&logged, nil))})
	for range 3 {
		assert.Equal(t, http.StatusForbidden, fromOrigin(t, s, "https://app.example").Code)
	}
	assert.Equal(t, 1, strings.Count(logged.String(), "origin=https://app.example"), logged.String())
	assert.Contains(t, logged.String(), "Add the origin to Options.Origins")
	for i := range 1000 {
		fromOrigin(t, s, fmt.Sprintf("https://%d.example", i))
	}
	assert.Equal(t, 32, strings.Count(logged.String(), "Options.Origins"))
}

// New logs that a server has no authentication, and what to do.
func TestLogSaysThatThereIsNoAuthentication(t *testing.T) {
	t.Parallel()
	var logged bytes.Buffer
	_, _ = application(t, server.Options{Logger: slog.New(slog.NewTextHandler(&logged, nil))})
	assert.NotContains(t, logged.String(), "no authentication")
	graphs, err := protocolgraphs.New(memcheckpoint.New(memcheckpoint.Options{}))
	require.NoError(t, err)
	s, err := server.New(server.Options{Graphs: graphs, Runs: memruns.New(), Logger: slog.New(slog.NewTextHandler(&logged, nil))})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.Close(context.Background())) })
	assert.Regexp(t, `level=WARN msg="server: there is no authentication.*cure="set Options.Auth`, logged.String())
}

func fromOrigin(t *testing.T, s http.Handler, origin string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://127.0.0.1/info", nil)
	r.Header.Set("Origin", origin)
	r.Header.Set("X-Api-Key", "ann")
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

// If a proxy drops the port from Host, the pages of the server count as pages of another origin.
func TestRefusedOriginOfTheServersOwnNameNamesTheProxy(t *testing.T) {
	t.Parallel()
	const cure = "If it is the address of this server itself, let the proxy pass the header Host with the port."
	for origin, named := range map[string]bool{"https://127.0.0.1:8443": true, "https://127.0.0.1": false, "https://app.example:8443": false} {
		var logged bytes.Buffer
		s, _ := application(t, server.Options{Logger: slog.New(slog.NewTextHandler(&logged, nil))})
		got := fromOrigin(t, s, origin)
		if got.Code != http.StatusOK { // without its port, the origin is the server's own
			assert.Equal(t, http.StatusForbidden, got.Code)
			assert.Equal(t, named, strings.Contains(got.Body.String(), cure), origin)
		}
		assert.Equal(t, named, strings.Contains(logged.String(), cure), origin)
	}
}
