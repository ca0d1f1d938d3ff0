package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/trace/noop"
	"go.yaml.in/yaml/v3"

	"github.com/weft-go/weft/graph/otelgraph"
)

// TestProgramPrintsTheSpans proves the output without an endpoint: two trees, of which the second
// one is linked to the first one.
func TestProgramPrintsTheSpans(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), &out, func(string) string { return "" }, 0))
	text := regexp.MustCompile(`(id|to) [0-9a-f]{4}`).ReplaceAllString(out.String(), "$1 …")
	text = regexp.MustCompile(`(trace_id|span_id)=[0-9a-f]+`).ReplaceAllString(text, "$1=…")
	assert.Contains(t, text, `level=INFO msg="reviews were read" query="oak chair" trace_id=… span_id=…`+"\n"+`invoke_workflow shop weft.outcome=paused id …
  superstep weft.outcome=done
    task agent weft.outcome=done
      chat gpt-4o gen_ai.usage.input_tokens=210 gen_ai.usage.output_tokens=25 weft.outcome=done
  superstep weft.outcome=done
    task tools weft.outcome=done
      execute_tool transfer_to_researcher weft.outcome=done
  superstep weft.outcome=done
    task researcher weft.outcome=done
      invoke_workflow researcher weft.outcome=done
`)
	assert.Contains(t, text, `
invoke_workflow shop weft.outcome=done linked to … id …
  superstep weft.outcome=done
    task tools weft.outcome=done linked to …
      execute_tool place_order weft.outcome=done
`)
	assert.True(t, strings.HasSuffix(text, "\nYour oak chair Lund is ordered.\n1350 tokens were read and 118 written.\n"), text)
}

// TestProgramTalksAgain proves that the program repeats its conversation for the given time, and
// stops when its context ends.
func TestProgramTalksAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const ordered = "Your oak chair Lund is ordered."
		var out bytes.Buffer
		require.NoError(t, run(t.Context(), &out, func(string) string { return "" }, 2*time.Second))
		assert.Equal(t, 3, strings.Count(out.String(), ordered))
		out.Reset()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second/2)
		defer cancel()
		require.NoError(t, run(ctx, &out, func(string) string { return "" }, time.Hour))
		assert.Equal(t, 1, strings.Count(out.String(), ordered))
	})
}

// TestConfigurationsAreYAML proves that each file for the containers can be read, and that the
// files that it mounts exist.
func TestConfigurationsAreYAML(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*.yaml")
	require.NoError(t, err)
	more, err := filepath.Glob("grafana/*.yaml")
	require.NoError(t, err)
	files = append(files, more...)
	require.Len(t, files, 6)
	for _, name := range files {
		data, err := os.ReadFile(name)
		require.NoError(t, err)
		var v map[string]any
		require.NoError(t, yaml.Unmarshal(data, &v), name)
		for _, mount := range regexp.MustCompile(`\./[^:]+`).FindAllString(string(data), -1) {
			if strings.HasSuffix(name, "compose.yaml") && !strings.Contains(mount, "examples") {
				assert.FileExists(t, mount, name)
			}
		}
	}
}

// TestDashboardAsksForExistingMetrics proves that each metric of the dashboard is one of package
// otelgraph, under the name that the collector gives it.
func TestDashboardAsksForExistingMetrics(t *testing.T) {
	t.Parallel()
	reader := metric.NewManualReader()
	telemetry := otelgraph.New(otelgraph.Options{
		Traces: noop.NewTracerProvider(), Metrics: metric.NewMeterProvider(metric.WithReader(reader)),
	})
	require.NoError(t, telemetry.ObserveOpenPauses(func(context.Context) (int64, error) { return 0, nil }))
	telemetry.RunContext(t.Context(), nil, 0)
	require.NoError(t, converse(t.Context(), &bytes.Buffer{}, telemetry))
	var data metricdata.ResourceMetrics
	require.NoError(t, reader.Collect(t.Context(), &data))
	known := map[string]bool{"weft_tool_errors_total": true, "weft_lease_conflicts_total": true} // nothing fails here; otelgraph tests them
	for _, scope := range data.ScopeMetrics {
		for _, m := range scope.Metrics {
			known[exported(m)] = true
		}
	}
	text, err := os.ReadFile("grafana/weft.json")
	require.NoError(t, err)
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	require.NoError(t, json.Unmarshal(text, &dashboard))
	require.Len(t, dashboard.Panels, 12)
	for _, p := range dashboard.Panels {
		for _, target := range p.Targets {
			expr := regexp.MustCompile(`by \([^)]*\)|\{[^}]*\}`).ReplaceAllString(target.Expr, "") // labels
			name := regexp.MustCompile(`(weft|gen_ai)_[a-z_]+`).FindString(expr)
			name = regexp.MustCompile(`_(bucket|count|sum)$`).ReplaceAllString(name, "")
			assert.True(t, known[name], "%s asks for %q, which is none of %v", p.Title, name, known)
		}
	}
}

// exported returns the name of a metric in Prometheus.
func exported(m metricdata.Metrics) string {
	name := strings.ReplaceAll(m.Name, ".", "_")
	if m.Unit == "s" {
		name += "_seconds"
	}
	if sum, ok := m.Data.(metricdata.Sum[int64]); ok && sum.IsMonotonic {
		name += "_total"
	}
	return name
}
