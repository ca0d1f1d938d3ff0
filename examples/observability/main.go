// Observability shows the traces and metrics of an agent. Without an endpoint of OpenTelemetry it
// prints the spans; with one it exports them.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"log/slog"
	"os"
	"os/signal"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/sdk/trace"

	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/graph/otelgraph"
	"github.com/weft-go/weft/llm"
)

func main() {
	lasting := flag.Duration("for", 0, "talk again each second for this `time`, so that metrics have rates")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout, os.Getenv, *lasting); err != nil {
		log.Fatal(err)
	}
}

// run holds a conversation with the shop's agent, and records traces and metrics. It repeats the
// conversation each second until the time has passed.
func run(ctx context.Context, out io.Writer, getenv func(string) string, lasting time.Duration) (err error) {
	traces, metrics, err := open(ctx, out, getenv)
	if err != nil {
		return err
	}
	defer func() { // the exporters send the remaining data
		after := context.WithoutCancel(ctx)
		err = errors.Join(err, traces.Shutdown(after), metrics.Shutdown(after))
	}()
	telemetry := otelgraph.New(otelgraph.Options{
		Traces: traces, Metrics: metrics,
		Content: getenv("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT") == "true",
	})
	for end := time.Now().Add(lasting); ; {
		if err := converse(ctx, out, telemetry); err != nil || !time.Now().Before(end) {
			return err
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return nil
		}
	}
}

// open returns providers that export to the endpoints of the environment. Without an endpoint,
// spans are printed and metrics are dropped.
func open(ctx context.Context, out io.Writer, getenv func(string) string) (*trace.TracerProvider, *metric.MeterProvider, error) {
	about, err := resource.New(ctx, resource.WithFromEnv(), resource.WithTelemetrySDK())
	if err != nil {
		return nil, nil, err
	}
	endpoint := getenv("OTEL_EXPORTER_OTLP_ENDPOINT")
	toTraces := trace.WithSyncer(&console{out: out})
	if endpoint != "" || getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") != "" {
		exporter, err := otlptracehttp.New(ctx)
		if err != nil {
			return nil, nil, err
		}
		toTraces = trace.WithBatcher(exporter)
	}
	toMetrics := []metric.Option{metric.WithResource(about)}
	if endpoint != "" || getenv("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT") != "" {
		exporter, err := otlpmetrichttp.New(ctx)
		if err != nil {
			return nil, nil, err
		}
		toMetrics = append(toMetrics, metric.WithReader(metric.NewPeriodicReader(exporter)))
	}
	return trace.NewTracerProvider(trace.WithResource(about), toTraces), metric.NewMeterProvider(toMetrics...), nil
}

// converse asks the agent, and approves the order that it wants to place.
func converse(ctx context.Context, out io.Writer, telemetry *otelgraph.Telemetry) error {
	// docs:begin converse
	logger := slog.New(otelgraph.NewLogHandler(slog.NewTextHandler(out, &slog.HandlerOptions{ReplaceAttr: withoutTime})))
	shop, err := newShop(logger, telemetry.Graph(graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})}))
	if err != nil {
		return err
	}
	// docs:end
	thread := shop.Thread("customer-7")
	snap, err := thread.Invoke(ctx, agent.Messages.Put(llm.User("Order the oak chair that people like best.")))
	if err != nil {
		return err
	}
	open, err := agent.Approval.Open(snap)
	if err != nil {
		return err
	}
	if len(open) != 1 {
		return fmt.Errorf("the agent asks %d questions, and one was expected", len(open))
	}
	fmt.Fprintf(out, "\n%s\napproved\n\n", open[0].Prompt.Text())
	snap, err = thread.Invoke(ctx, agent.Approval.Answer(open[0].ID, open[0].Prompt.Approve()))
	if err != nil {
		return err
	}
	last, _ := agent.Messages.Last(snap)
	used := agent.Usage.Get(snap)
	fmt.Fprintf(out, "\n%s\n%d tokens were read and %d written.\n", last.Text(), used.Input, used.Output)
	return nil
}

func withoutTime(_ []string, a slog.Attr) slog.Attr {
	if a.Key == slog.TimeKey {
		return slog.Attr{}
	}
	return a
}
