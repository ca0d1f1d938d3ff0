package temporal

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"
	sdk "go.temporal.io/sdk/temporal"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/graph"
)

// runInput is the argument of a run.
type runInput struct {
	Graph            string        `json:"graph"`
	Thread           string        `json:"thread"`
	Base             position      `json:"base"`
	Input            input         `json:"input"`
	HeartbeatTimeout time.Duration `json:"heartbeat_timeout"`
}

// activities are the activities of a worker.
type activities struct {
	graphs    map[string]*graph.Graph
	deadlines map[string]Deadline // by the name of the interrupt
	transient func(error) bool    // may be nil
	runSet    func(ctx context.Context, s graph.TaskSet) error
}

func newActivities(o *WorkerOptions) *activities {
	a := &activities{graphs: map[string]*graph.Graph{}, deadlines: map[string]Deadline{}, transient: o.Transient}
	a.runSet = func(ctx context.Context, s graph.TaskSet) error {
		g, err := a.graph(s.Graph)
		if err != nil {
			return err
		}
		return g.RunTasks(ctx, s)
	}
	return a
}

// graph returns the graph with the name. Another worker may have a graph that this one lacks, so the
// error does not end the activity.
func (a *activities) graph(name string) (*graph.Graph, error) {
	g := a.graphs[name]
	if g == nil {
		return nil, fmt.Errorf("temporal: this worker has no graph %q; add it to WorkerOptions.Graphs", name)
	}
	return g, nil
}

// The time after which a run that waits for its thread looks again. It doubles up to lastPoll.
const (
	firstPoll = 10 * time.Millisecond
	lastPoll  = 500 * time.Millisecond
)

// run runs an input of a thread, or resumes the run of an earlier attempt.
func (a *activities) run(ctx context.Context, in runInput) (outcome, error) {
	g, err := a.graph(in.Graph)
	if err != nil {
		return outcome{}, err
	}
	ctx, stop := keepAlive(ctx, in.HeartbeatTimeout)
	defer stop()
	for poll := firstPoll; ; poll = min(2*poll, lastPoll) {
		snap, err := in.attempt(ctx, g)
		if snap != nil || !errors.Is(err, checkpoint.ErrConflict) || nodeFailures(err) != nil {
			return a.ended(ctx, snap, err)
		}
		// Another run holds the thread. It may be an earlier attempt, which applies the input meanwhile.
		if err := pause(ctx, poll, err); err != nil {
			return outcome{}, err
		}
	}
}

// attempt applies the input and runs the thread. If the input is applied already, it resumes the run. It returns a
// [checkpoint.ErrConflict] and no snapshot if another run holds the thread.
func (in *runInput) attempt(ctx context.Context, g *graph.Graph) (*graph.Snapshot, error) {
	th := g.Thread(in.Thread)
	o := graph.RunOptions{Conflict: graph.ConflictReject, Metadata: map[string]string{}, Hooks: beats()}
	maps.Copy(o.Metadata, in.Input.Metadata)
	if in.Input.Request != "" {
		o.Metadata[requestKey] = in.Input.Request
	}
	applied, err := in.applied(ctx, g.Checkpoints())
	if err != nil {
		return nil, err
	}
	if applied {
		snap, err := th.Snapshot(ctx)
		if err != nil || stopped(snap) { // an earlier attempt ended the run, and Temporal did not learn of it
			return snap, err
		}
		return th.With(o).Invoke(ctx)
	}
	known, err := in.known(ctx, th)
	if err != nil {
		return nil, err
	}
	if known {
		return th.Snapshot(ctx)
	}
	writes, err := decodeWrites(g, in.Input.Writes)
	if err != nil {
		return nil, fmt.Errorf("%w: %s", checkpoint.ErrInvalid, err.Error())
	}
	o.Hooks = o.Hooks.Around(&graph.Hooks{Held: func(ctx context.Context, _ graph.Running) error { return in.missing(ctx, g) }})
	return th.With(o).Invoke(ctx, writes...)
}

// missing returns a [checkpoint.ErrConflict] if an earlier attempt has applied the input after this one had looked. It
// is called when no other run can change the thread.
func (in *runInput) missing(ctx context.Context, g *graph.Graph) error {
	done, err := in.applied(ctx, g.Checkpoints())
	if err == nil && !done {
		done, err = in.known(ctx, g.Thread(in.Thread))
	}
	if done {
		return fmt.Errorf("%w: an earlier attempt has applied the input meanwhile", checkpoint.ErrConflict)
	}
	return err
}

// ended returns the outcome of a run, or an error if the run has to be repeated.
func (a *activities) ended(ctx context.Context, snap *graph.Snapshot, err error) (outcome, error) {
	switch {
	case err == nil:
		return a.outcome(snap), nil
	case ctx.Err() != nil, errors.Is(err, graph.ErrDrained), a.transient != nil && a.transient(err):
		return outcome{}, err
	}
	f := newFailure(err)
	if f == nil {
		return outcome{}, err
	}
	out := a.outcome(snap)
	out.Failure = f
	return out, nil
}

// stopped reports whether a run of the thread would not get further: the thread is done, or each
// unfinished task waits for an answer.
func stopped(snap *graph.Snapshot) bool {
	asks := map[string]bool{}
	for _, p := range snap.Pauses {
		if p.Kind != graph.Question {
			return true
		}
		asks[rootTask(p.Path)] = true
	}
	for _, t := range snap.Tasks {
		if !t.Finished && !asks[t.ID] {
			return false
		}
	}
	return snap.Done() || len(snap.Pauses) > 0
}

// rootTask returns the id of the outermost task of a path, without the task of a flow inside of it.
func rootTask(path string) string {
	root, _, _ := strings.Cut(path, "/")
	root, _, _ = strings.Cut(root, "~")
	return root
}

// outcome returns the outcome of a run that ended with the snapshot, which may be nil. It is a failure if the
// deadline of a question cannot be found out.
func (a *activities) outcome(snap *graph.Snapshot) outcome {
	if snap == nil {
		return outcome{}
	}
	out := outcome{Checkpoint: snap.ID}
	for _, p := range snap.Pauses {
		d, ok := a.deadlines[p.Interrupt]
		if p.Kind != graph.Question || !ok {
			continue
		}
		after, value, err := d.of(p)
		switch {
		case err != nil:
			out.Failure = &failure{Kind: "invalid", Text: fmt.Sprintf("the deadline of question %s of interrupt %q: %v", p.ID, p.Interrupt, err)}
		case after > 0:
			out.Deadlines = append(out.Deadlines, questionDeadline{wireAnswer{Interrupt: p.Interrupt, ID: p.ID, Value: value}, after})
		}
	}
	return out
}

// runTasks runs tasks that a run passed on.
func (a *activities) runTasks(ctx context.Context, in tasksInput) error {
	ctx, stop := keepAlive(ctx, in.HeartbeatTimeout)
	defer stop()
	err := a.runSet(ctx, in.Set)
	if _, node := errors.AsType[*graph.NodeError](err); node { // the worker was drained, or another delivery was faster, in a subgraph of the task
		return err
	}
	if errors.Is(err, checkpoint.ErrConflict) || errors.Is(err, checkpoint.ErrInvalid) {
		return sdk.NewNonRetryableApplicationError(err.Error(), "weft.stale", err)
	}
	return err
}

// keepAlive records heartbeats until stop is called. The returned context also ends, with the cause
// [graph.ErrDrained], when the worker stops.
func keepAlive(ctx context.Context, timeout time.Duration) (_ context.Context, stop func()) {
	info, stopping := activity.GetInfo(ctx), activity.GetWorkerStopChannel(ctx)
	drained, cancel := context.WithCancelCause(ctx)
	ended := make(chan struct{})
	var beats sync.WaitGroup
	beats.Go(func() {
		ticker := time.NewTicker(timeout / 3)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				activity.RecordHeartbeat(ctx, info.Attempt)
			case <-stopping:
				cancel(graph.ErrDrained)
				stopping = nil
			case <-ended:
				return
			}
		}
	})
	return drained, func() {
		close(ended)
		beats.Wait()
		cancel(nil)
	}
}

// beats returns hooks that record a heartbeat at the end of each superstep.
func beats() *graph.Hooks {
	return &graph.Hooks{Step: func(ctx context.Context, r graph.Running) (context.Context, func(graph.Outcome)) {
		return ctx, func(graph.Outcome) { activity.RecordHeartbeat(ctx, r.Step) }
	}}
}
