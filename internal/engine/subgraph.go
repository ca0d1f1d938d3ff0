package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/internal/statecore"
	"github.com/weft-go/weft/state"
)

var errForeignContext = errors.New("the subgraph was called with a foreign context; middleware must derive the context for next from the context that it receives")

// RunSubgraph runs the subgraph of the node to which ctx belongs.
// It resumes the call if an earlier run of the task has begun it.
// It returns the writes of the subgraph for its parent.
// If the subgraph pauses, RunSubgraph returns nil, and the task gets the pauses of the subgraph.
func RunSubgraph(ctx context.Context) (update state.Update, err error) {
	t := TaskOf(ctx)
	if t == nil || t.node.Subgraph == nil {
		return nil, errForeignContext
	}
	sub := t.node.Subgraph
	release, err := t.scope.claim(sub.Persist)
	if err != nil {
		return nil, err
	}
	defer release()
	r := t.subgraphRun(ctx)
	var end func(error)
	r.nodeCtx, end = r.begin(ctx)
	err = errExited // for a node that ends this goroutine with runtime.Goexit
	defer func() { end(err) }()
	return r.runCall()
}

// runCall begins or resumes the call of a subgraph and runs it.
func (r *run) runCall() (update state.Update, err error) {
	if r.resumed, err = r.resumeCall(); err == nil && !r.resumed {
		err = r.beginCall()
	}
	if err != nil {
		return nil, err
	}
	e := r.event(RunStarted)
	e.State, e.Resumed = r.view, r.resumed
	r.emit(&e)
	if !r.resumed {
		r.emitCheckpointed()
	}
	if err := r.loop(); err != nil {
		return nil, err
	}
	if r.pauses != nil {
		r.askParent()
		return nil, nil
	}
	return r.endCall()
}

// subgraphRun returns a run of the subgraph that the task calls.
func (t *Task) subgraphRun(ctx context.Context) *run {
	sub, outer, wrap := t.node.Subgraph, t.scope, t.scope.wrap
	if t.node.outer != nil { // flow.Call: the graph runs as if it were invoked
		wrap = sub.Plan.Wrap
	}
	return &run{scope: scope{
		session: outer.session, plan: sub.Plan, wrap: wrap, limits: sub.Options, parent: t, nodeCtx: ctx,
		ns: t.namespace(), path: joinPath(outer.path, t.ID()), view: sub.Plan.empty,
	}}
}

// callID returns the id of the call of a subgraph by this task.
// The argument is the present id of the task or a former one.
func (t *Task) callID(id string) string { return id + "@" + t.scope.ns + "@" + t.scope.checkpoint }

// allIDs returns the present id of the task and its ids under former node names.
func (t *Task) allIDs() []string {
	return append([]string{t.ID()}, t.formerIDs()...)
}

// claim reserves a persistent subgraph for one task, until the task calls release.
// It returns [ErrPersistentBusy] if another task has reserved the subgraph.
func (s *session) claim(name string) (release func(), err error) {
	if name == "" {
		return func() {}, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.persistent[name] {
		return nil, fmt.Errorf("persistent subgraph %q: %w", name, ErrPersistentBusy)
	}
	if s.persistent == nil {
		s.persistent = map[string]bool{}
	}
	s.persistent[name] = true
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.persistent, name)
	}, nil
}

// resumeCall restores the newest checkpoint of the call.
// It returns false if the call has no checkpoint.
func (r *run) resumeCall() (bool, error) {
	if r.log == nil {
		return false, nil
	}
	t := r.parent
	for _, id := range t.allIDs() {
		r.ns = t.namespaceAs(id)
		if found, err := r.resumeCallIn(t.callID(id)); found || err != nil {
			return found, err
		}
	}
	r.ns = t.namespace()
	return false, nil
}

// resumeCallIn restores the newest checkpoint of the namespace r.ns.
// It returns false if there is no checkpoint, or if it belongs to another call.
func (r *run) resumeCallIn(call string) (bool, error) {
	c, err := r.log.get(r.storeCtx, checkpoint.Key{Thread: r.thread, Namespace: r.ns})
	r.head = c.ID
	if errors.Is(err, checkpoint.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, r.failCallers(err)
	}
	ctl, err := readControl(c.Control)
	if err != nil {
		return false, err
	}
	if ctl.Call != call {
		return false, nil
	}
	r.previous = c.Run
	if err := r.restore(&c); err != nil {
		return false, err
	}
	r.log.keepWrites(&c)
	r.resuming = r.pending.begun()
	return true, nil
}

// beginCall begins a new call of the subgraph.
// The state starts with the parent's values of shared channels and the writes of Input.
// In a persistent subgraph, the other channels keep the values of the last call.
func (r *run) beginCall() error {
	var own state.View
	name := r.parent.node.Subgraph.Persist
	if last := r.parent.scope.front.persistent[name]; name != "" && last != "" && r.log != nil {
		c, err := r.log.get(r.storeCtx, checkpoint.Key{Thread: r.thread, Namespace: r.ns, ID: last})
		if err == nil {
			err = r.restore(&c)
		}
		if err != nil {
			return fmt.Errorf("persistent subgraph %q: %w", name, err)
		}
		own = r.view
		r.step++
	}
	persistent := r.front.persistent
	r.pending, r.shared, r.toParent, r.hasPending = nil, nil, nil, false
	r.view = r.plan.Schema.Import(own, r.parent.view, r.parent.node.Subgraph.Private)
	tx, err := r.applyInput()
	if err != nil {
		return err
	}
	front, err := r.entryFrontier(&frontier{persistent: persistent, call: r.parent.callID(r.parent.ID())})
	if err != nil {
		return err
	}
	r.front = front
	return r.commit(tx, r.view, nil, &r.front, checkpoint.Input)
}

// applyInput applies the writes of the function Input to the state of the subgraph.
func (r *run) applyInput() (*statecore.Tx, error) {
	input := r.parent.node.Subgraph.Input
	if input == nil {
		return nil, nil
	}
	update, err := input(r.parent.view)
	if err != nil {
		return nil, fmt.Errorf("input of the subgraph: %w", err)
	}
	for _, w := range update {
		if name := w.Channel(); name == "" || r.shares(name) {
			return nil, fmt.Errorf("input of the subgraph: %s: %w: it must not write shared channels", w, ErrSignal)
		}
	}
	tx := r.transaction()
	if err := statecore.Apply(tx, 0, update); err != nil {
		return nil, fmt.Errorf("input of the subgraph: %w", err)
	}
	view, err := tx.Finish(false)
	if err != nil {
		return nil, fmt.Errorf("input of the subgraph: %w", err)
	}
	r.view = view
	return tx, nil
}

// askParent gives the pauses of the subgraph to the task that called it: open questions and static pauses.
func (r *run) askParent() {
	t := r.parent
	for i := range r.pauses {
		r.pauses[i].Node = t.node.Name
	}
	t.mu.Lock()
	t.ensureExtras().asked = r.pauses
	t.mu.Unlock()
	r.emitDetail(Paused, EventDetail{Pauses: r.pauses})
}

// endCall ends the call and returns the writes of the subgraph for its parent.
func (r *run) endCall() (state.Update, error) {
	r.warnWaiting()
	r.emitDetail(RunEnded, EventDetail{})
	t := r.parent
	t.mu.Lock()
	if name := t.node.Subgraph.Persist; name != "" && r.log != nil {
		t.ensureExtras().persistent = map[string]string{name: r.checkpoint}
	} else if r.log != nil {
		t.ensureExtras().ended = r.ns
	}
	t.mu.Unlock()
	update := append(state.Update{}, r.shared...)
	update = append(update, r.toParent...)
	if output := t.node.Subgraph.Output; output != nil {
		more, err := output(t.view, r.view)
		if err != nil {
			return nil, fmt.Errorf("output of the subgraph: %w", err)
		}
		update = append(update, more...)
	}
	return update, nil
}
