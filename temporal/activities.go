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
	"github.com/weft-go/weft/state"
)

// A position is the state of a thread before an input. It is in the history of the workflow before
// the run begins, so a repeated run finds out whether an earlier attempt has stored the input.
type position struct {
	// Head is the id of the newest checkpoint; empty for a new thread.
	Head string `json:"head,omitempty"`
	// Inputs counts the pending writes of callers: edits, targets and answers.
	Inputs int `json:"inputs,omitempty"`
	// Version is the version of the graph that began the unfinished turn, or else that of the worker.
	Version string `json:"version,omitempty"`
}

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

// look returns the position of a thread.
func (a *activities) look(ctx context.Context, name, thread string) (position, error) {
	g, err := a.graph(name)
	if err != nil {
		return position{}, err
	}
	c, err := g.Checkpoints().Get(ctx, checkpoint.Key{Thread: thread})
	if errors.Is(err, checkpoint.ErrNotFound) {
		return position{Version: g.Version()}, nil
	}
	if err != nil {
		return position{}, err
	}
	p := position{Head: c.ID, Inputs: callerWrites(&c), Version: g.Version()}
	snap, err := g.Thread(thread).Snapshot(ctx)
	if err != nil || !snap.Done() { // a state that this version cannot read belongs to another one
		p.Version = c.Version
	}
	return p, nil
}

// callerWrites counts the pending writes that callers of runs added to a checkpoint.
func callerWrites(c *checkpoint.Checkpoint) int {
	n := 0
	for _, w := range c.Writes {
		if w.Task == "" || w.Channel == "$answer" {
			n++
		}
	}
	return n
}

// run runs an input of a thread, or resumes the run of an earlier attempt.
func (a *activities) run(ctx context.Context, in runInput) (outcome, error) {
	g, err := a.graph(in.Graph)
	if err != nil {
		return outcome{}, err
	}
	ctx, stop := keepAlive(ctx, in.HeartbeatTimeout)
	defer stop()
	th := g.Thread(in.Thread)
	var writes []state.Write
	applied, err := in.applied(ctx, g.Checkpoints())
	switch {
	case err != nil:
		return outcome{}, err
	case !applied:
		known, err := in.known(ctx, th)
		if err != nil {
			return outcome{}, err
		}
		if known {
			snap, err := th.Snapshot(ctx)
			return a.outcome(snap), err
		}
		if writes, err = decodeWrites(g, in.Input.Writes); err != nil {
			return outcome{Failure: &failure{Kind: "invalid", Text: err.Error()}}, nil
		}
	default:
		snap, err := th.Snapshot(ctx)
		if err != nil {
			return outcome{}, err
		}
		if stopped(snap) { // an earlier attempt ended the run, and Temporal did not learn of it
			return a.outcome(snap), nil
		}
	}
	metadata := map[string]string{}
	maps.Copy(metadata, in.Input.Metadata)
	if in.Input.Request != "" {
		metadata[requestKey] = in.Input.Request
	}
	snap, err := th.With(graph.RunOptions{Conflict: graph.ConflictWait, Metadata: metadata, Hooks: beats()}).Invoke(ctx, writes...)
	return a.ended(ctx, snap, err)
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

// requestKey is the key of the id of a request in the metadata of checkpoints.
const requestKey = "weft.request"

// known reports whether an earlier execution of the workflow has run the request.
func (in *runInput) known(ctx context.Context, th *graph.Thread) (bool, error) {
	if !in.Input.Repeated {
		return false, nil
	}
	for _, err := range th.History(ctx, graph.HistoryQuery{Metadata: map[string]string{requestKey: in.Input.Request}, Limit: 1}) {
		return err == nil, err
	}
	return false, nil
}

// applied reports whether an earlier attempt has stored the input.
func (in *runInput) applied(ctx context.Context, store checkpoint.Store) (bool, error) {
	c, err := store.Get(ctx, checkpoint.Key{Thread: in.Thread})
	if errors.Is(err, checkpoint.ErrNotFound) {
		return false, nil
	}
	return err == nil && (c.ID != in.Base.Head || callerWrites(&c) > in.Base.Inputs), err
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

// outcome returns the outcome of a run that ended with the snapshot, which may be nil.
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
		if after, value, ok := d.of(p); ok {
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
	return graph.NewHooks(graph.HookFuncs{Step: func(ctx context.Context, r graph.Running) (context.Context, func(graph.StepResult)) {
		return ctx, func(graph.StepResult) { activity.RecordHeartbeat(ctx, r.Step) }
	}})
}
