package otelgraph_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/weft-go/weft/graph/otelgraph"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/llmtest"
)

// TestMeasurementsHaveExemplars proves that the durations of a sampled run, of its superstep and of its model request
// have exemplars, each with the ids of the span of the run, the superstep or the request.
func TestMeasurementsHaveExemplars(t *testing.T) {
	t.Parallel()
	r := record(otelgraph.Options{})
	model := llm.Named(llmtest.Echo{}, llm.ModelName{Provider: "googleai", Model: "m"})
	_, err := asking(t, r, model, llm.Request{Messages: []llm.Message{llm.User("hi")}}).Invoke(t.Context())
	require.NoError(t, err)
	spans := r.take()
	var data metricdata.ResourceMetrics
	require.NoError(t, r.reader.Collect(t.Context(), &data))
	found := map[string][]metricdata.Exemplar[float64]{}
	for _, scope := range data.ScopeMetrics {
		for _, m := range scope.Metrics {
			if h, ok := m.Data.(metricdata.Histogram[float64]); ok {
				for _, p := range h.DataPoints {
					found[m.Name] = append(found[m.Name], p.Exemplars...)
				}
			}
		}
	}
	for name, span := range map[string]string{
		"weft.run.duration": "invoke_workflow g", "weft.superstep.duration": "superstep", "gen_ai.client.operation.duration": "chat m",
	} {
		want := only(t, spans, span).SpanContext
		trace, id := want.TraceID(), want.SpanID()
		require.Len(t, found[name], 1, name)
		assert.Equal(t, trace[:], found[name][0].TraceID, name)
		assert.Equal(t, id[:], found[name][0].SpanID, name)
	}
}
