package otelgraph_test

import (
	"context"
	"fmt"
	"log"
	"log/slog"
	"os"
	"slices"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/graph/otelgraph"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/llmtest"
	"github.com/weft-go/weft/tools"
)

// A program sets up an exporter of OpenTelemetry and gives each outermost graph the options of a
// telemetry. Here the exporter keeps the spans in memory.
func Example() {
	exporter := tracetest.NewInMemoryExporter()
	traces := sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter))
	defer func() { _ = traces.Shutdown(context.Background()) }()
	telemetry := otelgraph.New(otelgraph.Options{Traces: traces})

	set, err := tools.NewSet(tools.New("weather", "Looks the weather up.", func(context.Context, struct {
		City string `json:"city"`
	},
	) (string, error) {
		return "sunny", nil
	}))
	if err != nil {
		log.Fatal(err)
	}
	script := llmtest.NewScript(llmtest.Call("weather", `{"city":"Athens"}`), llmtest.Say("It is sunny."))
	model := llm.Named(script, llm.ModelName{Provider: "test", Model: "script"}) // real models have a name
	g, err := agent.New("helper", model, set, agent.Options{Graph: telemetry.Graph(graph.Options{})})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := g.Invoke(context.Background(), agent.Messages.Put(llm.User("Is it sunny in Athens?"))); err != nil {
		log.Fatal(err)
	}
	spans := exporter.GetSpans()
	slices.Reverse(spans) // a span is exported when it ends
	for _, s := range spans {
		fmt.Println(s.Name)
	}
	// Output:
	// invoke_workflow helper
	// superstep
	// task agent
	// chat script
	// superstep
	// task tools
	// execute_tool weather
	// superstep
	// task agent
	// chat script
}

// The logs of a node have the ids of its task's span if they are written with its context.
func ExampleNewLogHandler() {
	logger := slog.New(otelgraph.NewLogHandler(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		},
	})))
	logger.InfoContext(context.Background(), "outside of a span")
	// Output: level=INFO msg="outside of a span"
}
