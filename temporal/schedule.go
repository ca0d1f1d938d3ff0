package temporal

import (
	"context"
	"fmt"
	"time"

	"go.temporal.io/sdk/client"
	sdk "go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

// A Schedule starts runs at set times.
type Schedule struct {
	// Spec says when. It is required: see [client.ScheduleSpec] for intervals, calendars and cron texts.
	Spec client.ScheduleSpec
	// Graph is the graph to run. It is required.
	Graph *graph.Graph
	// Thread is the thread of the runs. Empty means that each run has a new thread, whose id is that of
	// the schedule with the time.
	Thread string
	// Input is the input of each run.
	Input []state.Write
	// Metadata is stored with every checkpoint of the runs.
	Metadata map[string]string
}

// CreateSchedule creates a schedule of Temporal. Temporal keeps it, also while no worker lives; a run
// that was due meanwhile starts when a worker lives again. The handle pauses, changes and deletes it. Runs
// that are still in the queue of the thread do not keep the next one from being added.
func (c *Client) CreateSchedule(ctx context.Context, id string, s Schedule) (client.ScheduleHandle, error) {
	if s.Graph == nil {
		return nil, errNoGraph
	}
	data, err := encodeWrites(s.Input)
	if err != nil {
		return nil, fmt.Errorf("temporal: schedule %q: %w", id, err)
	}
	return c.client.ScheduleClient().Create(ctx, client.ScheduleOptions{
		ID: id, Spec: s.Spec,
		Action: &client.ScheduleWorkflowAction{
			ID: id, Workflow: scheduleWorkflowName, TaskQueue: c.options.TaskQueue,
			Args: []any{scheduleArgs{
				Graph: s.Graph.Name(), Thread: s.Thread, Options: c.options, Input: input{Writes: data, Metadata: s.Metadata},
			}},
		},
	})
}

// scheduleArgs are the arguments of the workflow that a schedule starts.
type scheduleArgs struct {
	Graph   string  `json:"graph"`
	Thread  string  `json:"thread,omitempty"`
	Options Options `json:"options"`
	Input   input   `json:"input"`
}

// startInput is the argument of the activity that starts a run.
type startInput struct {
	scheduleArgs
	Request string `json:"request"`
}

// runSchedule is the workflow that a schedule starts. It passes the input to the workflow of the thread.
func runSchedule(ctx workflow.Context, args scheduleArgs) error {
	info := workflow.GetInfo(ctx).WorkflowExecution
	if args.Thread == "" {
		args.Thread = info.ID + "/run" // the id of this workflow ends with the time
	}
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: time.Minute, RetryPolicy: &sdk.RetryPolicy{MaximumInterval: time.Minute},
	})
	return workflow.ExecuteActivity(ctx, startActivity, startInput{args, info.RunID}).Get(ctx, nil)
}

// A starter starts runs for schedules.
type starter struct{ client client.Client }

func (s *starter) start(ctx context.Context, in startInput) error {
	t := &Thread{c: NewClient(s.client, in.Options), graph: in.Graph, id: in.Thread}
	in.Input.Request, in.Input.Repeated = in.Request, true
	_, err := t.start(ctx, in.Input)
	return err
}
