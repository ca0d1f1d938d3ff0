// Package seam gives the tests with a server access to the executor of package temporal, which sets the variables.
package seam

import (
	"context"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"

	"github.com/weft-go/weft/graph"
)

// Executor returns the functions of an executor on a task queue, and a worker that calls run for each set of tasks.
var Executor func(c client.Client, queue string, batch int, run func(context.Context, graph.TaskSet) error) (graph.Executor, worker.Worker)
