package otelgraph

import (
	"context"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/semconv/v1.41.0/genaiconv"
)

// Attributes of spans and metrics that the semantic conventions do not have.
const (
	graphKey     = attribute.Key("weft.graph")
	nodeKey      = attribute.Key("weft.node")
	taskKey      = attribute.Key("weft.task")
	stepKey      = attribute.Key("weft.step")
	pathKey      = attribute.Key("weft.path")
	tasksKey     = attribute.Key("weft.tasks")
	stepsKey     = attribute.Key("weft.steps")
	runKey       = attribute.Key("weft.run")
	previousKey  = attribute.Key("weft.run.previous")
	resumedKey   = attribute.Key("weft.resumed")
	pausedKey    = attribute.Key("weft.pause.trace_id")
	outcomeKey   = attribute.Key("weft.outcome")
	attemptKey   = attribute.Key("weft.attempt")
	waitKey      = attribute.Key("weft.queue_wait")
	interruptKey = attribute.Key("weft.interrupt")
	questionKey  = attribute.Key("weft.question")
)

// The kinds of spans by the conventions of OpenInference, for backends such as Phoenix. Such a backend
// derives the kinds of all other spans from gen_ai.operation.name.
var (
	kindAgent = attribute.String("openinference.span.kind", "AGENT")
	kindChain = attribute.String("openinference.span.kind", "CHAIN")
)

// The outcomes of a run, a superstep or a task.
const (
	outcomeDone      = "done"
	outcomePaused    = "paused"
	outcomeFailed    = "failed"
	outcomeCancelled = "cancelled"
)

// instruments are the metrics.
type instruments struct {
	runs      metric.Float64Histogram
	active    metric.Int64UpDownCounter
	wait      metric.Float64Histogram
	steps     metric.Float64Histogram
	pauses    metric.Int64Counter
	conflicts metric.Int64Counter
	toolFails metric.Int64Counter
	tokens    genaiconv.ClientTokenUsage
	requests  genaiconv.ClientOperationDuration
}

// Bounds of histograms, in seconds. A run lasts for minutes, and a superstep without a model for
// microseconds.
var (
	long  = metric.WithExplicitBucketBoundaries(0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800)
	short = metric.WithExplicitBucketBoundaries(0.0001, 0.001, 0.005, 0.025, 0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 300)
)

func newInstruments(m metric.Meter) *instruments {
	i := &instruments{}
	var errs [9]error
	i.runs, errs[0] = m.Float64Histogram("weft.run.duration", metric.WithUnit("s"), metric.WithDescription("Duration of runs. Its count is the number of runs."), long)
	i.active, errs[1] = m.Int64UpDownCounter("weft.run.active", metric.WithUnit("{run}"), metric.WithDescription("Runs that are executed."))
	i.wait, errs[2] = m.Float64Histogram("weft.run.queue.duration", metric.WithUnit("s"), metric.WithDescription("Time for which runs of a server waited for their turn."), long)
	i.steps, errs[3] = m.Float64Histogram("weft.superstep.duration", metric.WithUnit("s"), metric.WithDescription("Duration of supersteps."), short)
	i.pauses, errs[4] = m.Int64Counter("weft.pauses", metric.WithUnit("{pause}"), metric.WithDescription("Questions with which runs ended, and static pauses."))
	i.conflicts, errs[5] = m.Int64Counter("weft.lease.conflicts", metric.WithUnit("{run}"), metric.WithDescription("Runs that did not get their thread or lost it."))
	i.toolFails, errs[6] = m.Int64Counter("weft.tool.errors", metric.WithUnit("{call}"), metric.WithDescription("Tool calls that failed."))
	i.tokens, errs[7] = genaiconv.NewClientTokenUsage(m, metric.WithExplicitBucketBoundaries(1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576))
	i.requests, errs[8] = genaiconv.NewClientOperationDuration(m, metric.WithExplicitBucketBoundaries(0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92))
	for _, err := range errs {
		if err != nil {
			otel.Handle(err)
		}
	}
	return i
}

// ObserveOpenPauses reports the number of paused threads as the metric weft.pauses.open. The
// function count is called for each collection of metrics. It usually asks the store, which knows
// the threads of all processes, so register it in one process only. The error comes from the
// meter.
func (t *Telemetry) ObserveOpenPauses(count func(context.Context) (int64, error)) error {
	_, err := t.meter.Int64ObservableGauge("weft.pauses.open", metric.WithUnit("{pause}"),
		metric.WithDescription("Threads that can be resumed: they wait for an answer, or were stopped."),
		metric.WithInt64Callback(func(ctx context.Context, o metric.Int64Observer) error {
			n, err := count(ctx)
			if err == nil {
				o.Observe(n)
			}
			return err
		}))
	return err
}
