package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/internal/statecore"
	"github.com/weft-go/weft/internal/uuid"
	"github.com/weft-go/weft/state"
)

// ErrNoInput is returned if a run has no input and its thread has no checkpoint.
var ErrNoInput = errors.New("the run has no input and the thread has no checkpoint to resume; give it input, or graph.Begin()")

// Invoke runs a graph until no task is due, or until it pauses or fails.
// It returns a snapshot of the thread at the end of the run.
// The snapshot includes the writes of finished tasks of a superstep that is not committed.
// With an error, the snapshot may be nil. The argument events may be nil.
func (p *Plan) Invoke(ctx context.Context, o *Options, events *Stream, writes []state.Write) (snap *Snapshot, err error) {
	in, err := readInput(writes)
	if err != nil {
		return nil, err
	}
	r := newRun(p, o)
	r.events = events
	// Release the thread before the last events are delivered.
	// So the reader of the events can start the next run at once.
	defer events.offer(context.Background(), maxAhead)
	r.identify()
	ctx, end := r.begin(ctx)
	err = errExited // for a node that ends this goroutine with runtime.Goexit
	defer func() { end(err) }()
	return r.invokeInside(ctx, in)
}

// invokeInside acquires the thread, if there is one, and executes the run inside its hook.
func (r *run) invokeInside(ctx context.Context, in input) (snap *Snapshot, err error) {
	r.makeContexts(ctx)
	defer r.ctx.close()
	if r.Store == nil {
		in.begin = in.begin || !in.resume
		return r.invoke(in)
	}
	lease, err := r.acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer func() {
		snap, err = r.endSuperseded(&lease, snap, err)
		err = errors.Join(err, lease.release(ctx))
	}()
	if r.Hooks != nil {
		if err := r.Hooks.Held(ctx, r.running()); err != nil {
			return nil, err
		}
	}
	return r.invoke(in)
}

// newRun returns a run of the outermost graph, before its first checkpoint.
func newRun(p *Plan, o *Options) *run {
	own := &struct { // one allocation
		run     run
		session session
	}{}
	own.session.thread, own.session.Options = o.Thread, o
	r := &own.run
	r.scope.session = &own.session
	r.plan, r.wrap, r.limits, r.view, r.step = p, p.Wrap, o, p.empty, -1
	return r
}

// identify gives the run an id and, with a thread, a runLog.
func (r *run) identify() {
	if r.Store == nil {
		r.id = uuid.New()
		return
	}
	r.log = newRunLog(r.Durability)
	r.id = r.log.nextID()
}

// acquire takes the thread for the run.
func (r *run) acquire(ctx context.Context) (threadLease, error) {
	if ctx.Err() != nil {
		return threadLease{}, context.Cause(ctx)
	}
	lease, err := acquireThread(ctx, r.Options, &r.ctx)
	if err != nil {
		return threadLease{}, err
	}
	r.log.setStore(lease.store)
	return lease, nil
}

// makeContexts makes the contexts of the run.
func (r *run) makeContexts(ctx context.Context) {
	r.ctx.begin(ctx, r.Store != nil || r.events != nil)
	r.nodeCtx, r.storeCtx = &r.ctx, &r.ctx.store
}

// invoke executes the run after it has acquired its thread.
func (r *run) invoke(in input) (snap *Snapshot, err error) {
	closed := false
	defer func() {
		if !closed { // start failed, or a node called runtime.Goexit
			err = errors.Join(err, r.closeLog())
		}
	}()
	started := r.event(RunStarted) // it must come before the event of the first checkpoint
	r.emit(&started)
	resumed, err := r.start(in)
	if err != nil {
		r.events.drop()
		return nil, err
	}
	r.resumed = resumed
	started.State, started.Resumed, started.Step = r.view, resumed, r.step
	r.events.replaceFirst(started)
	err = r.loop()
	closed = true
	if cerr := r.closeLog(); cerr != nil {
		return nil, errors.Join(err, cerr)
	}
	if _, superseded := r.ctx.finish(); err == nil {
		err = superseded
	}
	if r.log != nil && r.log.mode == Exit && r.stored.Run == r.id {
		r.emitDetail(Checkpointed, EventDetail{ID: r.stored.ID, Parent: r.stored.Parent})
	}
	snap = r.snapshotOfRun()
	if err != nil {
		return snap, err
	}
	r.warnWaiting()
	if r.pauses != nil {
		r.emitDetail(Paused, EventDetail{Pauses: r.pauses})
	}
	r.emitDetail(RunEnded, EventDetail{Snapshot: snap})
	return snap, nil
}

// closeLog stores the remaining progress and closes the writer.
func (r *run) closeLog() error {
	if r.log == nil {
		return nil
	}
	return r.log.writer.close(r.storeCtx)
}

// start prepares the first superstep of the run.
// It reports whether the run resumes the current turn of the thread.
func (r *run) start(in input) (resumed bool, err error) {
	found := false
	if r.log != nil {
		if found, err = r.findCheckpoint(&in); err != nil {
			return false, err
		}
	}
	if in.begin {
		return false, r.beginTurn(in)
	}
	if !found {
		if len(in.answers) > 0 {
			a := in.answers[0]
			return false, fmt.Errorf("question %s of interrupt %q: %w; the run resumes no checkpoint", a.ID, a.Interrupt, ErrNoQuestion)
		}
		if !in.hasTargets() && len(in.writes) == 0 {
			return false, ErrNoInput
		}
		return false, r.beginTurn(in)
	}
	r.resuming = in.resume || r.At != "" || r.stored.Source == checkpoint.Edited || r.stored.Source == checkpoint.Fork || r.pending.begun()
	if r.At != "" && len(in.answers) == 0 {
		if err := r.fork(); err != nil {
			return false, err
		}
	}
	return true, r.applyEdits(in)
}

// findCheckpoint restores the newest checkpoint of the thread, or the checkpoint r.At.
// It returns false if the thread has no checkpoint, or if r.At is [Start].
func (r *run) findCheckpoint(in *input) (bool, error) {
	c, err := r.log.store.Get(&r.ctx, checkpoint.Key{Thread: r.thread})
	if errors.Is(err, checkpoint.ErrNotFound) && (r.At == "" || r.At == Start) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	r.head = c.ID
	if r.At == Start {
		return false, nil
	}
	return true, r.loadNewest(c, in)
}

// loadNewest restores the newest checkpoint c of the thread, or the checkpoint r.At.
func (r *run) loadNewest(c checkpoint.Checkpoint, in *input) (err error) {
	r.log.keepWrites(&c)
	r.recordAnswers(in)
	if r.At != "" && (r.At != c.ID || len(in.answers) == 0) {
		if len(in.answers) > 0 {
			return fmt.Errorf("checkpoint %s is not the thread's newest, and a run from it asks its questions again: %w", r.At, ErrNoQuestion)
		}
		if c.ID != r.At {
			if c, err = r.log.store.Get(&r.ctx, checkpoint.Key{Thread: r.thread, ID: r.At}); err != nil {
				return err
			}
		}
		c.Writes = nil // a fork runs all tasks of the superstep again
	}
	r.previous = c.Run
	err = r.load(&c)
	if err == nil && len(r.pending.stops) > 0 {
		r.stoppedBy = r.pending.stops[0].Mark
	}
	return err
}

// newOrigin sets a new origin for a branch or turn; see [Task.IdempotencyKey].
func (r *run) newOrigin() {
	origin := r.head
	if r.checkpoint != origin {
		origin += "<" + r.checkpoint
	}
	r.origin = &origin
}

// beginTurn applies the input and commits it as a checkpoint.
// The nodes after Start are then due, or the targets that the caller names.
func (r *run) beginTurn(in input) error {
	tx := r.transaction()
	if err := statecore.Apply(tx, 0, in.writes); err != nil {
		return err
	}
	view, err := tx.Finish(true)
	if err != nil {
		return err
	}
	r.view = view
	// Targets that callers added belong to the unfinished superstep, which the new turn drops.
	before := frontier{arrived: r.front.arrived, persistent: r.front.persistent}
	if r.restored != nil {
		before.waiting = r.restored.waiting
	}
	var front frontier
	if in.hasTargets() {
		to, terr := in.targets(&r.scope)
		if terr != nil {
			return terr
		}
		to.node = callerNode
		front = nextFrontier(r.plan, &before, []routed{to})
	} else if front, err = r.entryFrontier(&before); err != nil {
		return err
	}
	if r.log != nil {
		r.newOrigin()
	}
	r.step++
	r.pending, r.answers = nil, nil
	if err := r.commit(tx, view, nil, &front, checkpoint.Input); err != nil {
		return err
	}
	r.front = front
	return nil
}

// callerNode stands for the caller as the source of targets.
var callerNode = &Node{Name: Start, names: []string{Start}}

// entryFrontier returns the frontier after Start.
func (r *run) entryFrontier(before *frontier) (frontier, error) {
	entry := &Task{scope: &r.scope, node: r.plan.Start}
	if err := entry.branch(r.view); err != nil {
		return frontier{}, err
	}
	return nextFrontier(r.plan, before, []routed{entry.routed()}), nil
}

// fork begins a new branch of the thread at the restored checkpoint.
func (r *run) fork() error {
	if err := r.checkNodes(); err != nil { // the fork would lose a node
		return err
	}
	r.newOrigin()
	r.step++
	return r.commit(nil, r.view, nil, &r.front, checkpoint.Fork)
}
