package tracing_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/examples/internal/tracing"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/server"
)

// Without an endpoint nothing is recorded, and the options stay as they are.
func TestTracingIsOffByDefault(t *testing.T) {
	t.Parallel()
	off, err := tracing.Open(t.Context(), func(string) string { return "" })
	require.NoError(t, err)
	assert.Nil(t, off)
	assert.Equal(t, graph.Options{MaxSteps: 1}, off.Graph(graph.Options{MaxSteps: 1}))
	assert.Nil(t, off.Server(server.Options{}).SaveTrace)
	assert.NoError(t, off.Close())
}

// With an endpoint, Close exports a run. The test is not parallel, because the exporter reads the environment of
// the process.
func TestTracingExportsRuns(t *testing.T) {
	var got []byte
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		assert.NoError(t, err)
		got = append(got, body...)
	}))
	defer collector.Close()
	env := map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": collector.URL, "OTEL_EXPORTER_OTLP_COMPRESSION": "none"}
	for name, value := range env {
		t.Setenv(name, value)
	}
	on, err := tracing.Open(t.Context(), func(name string) string { return env[name] })
	require.NoError(t, err)
	b := graph.New("traced")
	b.Edge(graph.Start, graph.End)
	g, err := b.Compile(on.Graph(graph.Options{}))
	require.NoError(t, err)
	_, err = g.Invoke(t.Context())
	require.NoError(t, err)
	require.NoError(t, on.Close())
	assert.Contains(t, string(got), "invoke_workflow traced")
	assert.NotNil(t, on.Server(server.Options{}).RunContext)
}
