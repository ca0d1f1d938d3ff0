package server_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/otelgraph"
	"github.com/weft-go/weft/server"
	"github.com/weft-go/weft/server/runs/memruns"
	"github.com/weft-go/weft/state"
)

// TestRunContinuesTheTraceOfItsRequest proves that a run belongs to the trace of the request that created it, with the
// time for which it waited, even when another server executes it. It also proves that the run that answers its question,
// in another trace, is linked to it.
func TestRunContinuesTheTraceOfItsRequest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		spans := tracetest.NewInMemoryExporter()
		telemetry := otelgraph.New(otelgraph.Options{Traces: trace.NewTracerProvider(trace.WithSyncer(spans)), Metrics: noop.NewMeterProvider()})
		text := state.LastWins[string]("text")
		ask := graph.NewInterrupt[string, string]("ask")
		b := graph.New("g", text)
		b.Node("n", func(ctx context.Context, _ state.View) (state.Update, error) {
			answer, err := ask.Wait(ctx, "?")
			return state.Update{text.Put(answer)}, err
		})
		b.Edge(graph.Start, "n")
		g, err := b.Compile(telemetry.Graph(graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})}))
		require.NoError(t, err)
		o := server.Options{
			Graphs: map[string]*graph.Graph{"g": g}, Runs: memruns.New(),
			SaveTrace: telemetry.SaveTrace, RunContext: telemetry.RunContext,
		}
		const thread = "7b4ad1ad-16ea-4a8a-8a0b-9d6e7b0c0f11"
		create := func(s *server.Server, traceparent, body string) {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/threads/"+thread+"/runs", strings.NewReader(body))
			r.Host, r.RemoteAddr = "localhost", "127.0.0.1:1"
			r.Header.Set("Traceparent", traceparent)
			w := httptest.NewRecorder()
			s.ServeHTTP(w, r)
			require.Equal(t, http.StatusOK, w.Code, w.Body.String())
		}
		root := func() tracetest.SpanStub {
			t.Helper()
			defer spans.Reset()
			for _, s := range spans.GetSpans() {
				if s.Name == "invoke_workflow g" {
					return s
				}
			}
			require.Fail(t, "no run was traced")
			return tracetest.SpanStub{}
		}

		first, err := server.New(o)
		require.NoError(t, err)
		create(first, "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
			`{"assistant_id":"g","input":{"text":"in"},"if_not_exists":"create","after_seconds":60}`)
		time.Sleep(time.Second)
		require.NoError(t, first.Close(t.Context()))
		second := newServer(t, o)
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		asked := root()
		assert.Equal(t, "0af7651916cd43dd8448eb211c80319c", asked.Parent.TraceID().String())
		assert.Equal(t, "b7ad6b7169203331", asked.Parent.SpanID().String())
		paused, err := second.PausedThreads(t.Context())
		require.NoError(t, err)
		assert.EqualValues(t, 1, paused)

		create(second, "00-1af7651916cd43dd8448eb211c80319c-c7ad6b7169203331-01", `{"assistant_id":"g","command":{"resume":"yes"}}`)
		synctest.Wait()
		answered := root()
		assert.Equal(t, "c7ad6b7169203331", answered.Parent.SpanID().String())
		require.Len(t, answered.Links, 1)
		assert.Equal(t, asked.SpanContext.SpanID(), answered.Links[0].SpanContext.SpanID())
		paused, err = second.PausedThreads(t.Context())
		require.NoError(t, err)
		assert.Zero(t, paused)
	})
}
