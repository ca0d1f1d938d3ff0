package engine

import (
	"fmt"
	"slices"

	"github.com/weft-go/weft/internal/statecore"
	"github.com/weft-go/weft/state"
)

// split separates the update of the node into writes, targets and writes for the parent.
// It then runs the branches of the node.
//
// If branchesReadCommit returns true, commitStep runs the branches instead.
// They then read the state after the superstep, and no overlay is needed.
func (t *Task) split(update state.Update) error {
	writes, err := t.splitUpdate(update, t.node.Destinations)
	if err != nil {
		return err
	}
	t.writes = writes
	if len(t.node.Branches) == 0 || t.scope.branchesReadCommit() {
		return nil
	}
	// A branch reads the state of the superstep with the writes of the task.
	// So does a branch after a sent task, although the task sees only the sent writes.
	return t.branch(t.scope.after(t.writes))
}

// branchesReadCommit reports whether branches read the state after the superstep.
// They do if the superstep has a single task and the graph has no ephemeral channel.
func (s *scope) branchesReadCommit() bool { return s.single && !s.plan.branchNeedsOverlay }

// splitUpdate returns the writes of an update and applies its signals to the task.
// The argument allowed lists the nodes that Goto and Send may name.
func (t *Task) splitUpdate(update state.Update, allowed []string) (state.Update, error) {
	if !slices.ContainsFunc(update, func(w state.Write) bool { return w.Signal() != nil }) {
		return update, nil
	}
	var (
		writes state.Update
		tx     *statecore.Tx
	)
	for i, w := range update {
		switch s := w.Signal().(type) {
		case nil:
			writes = append(writes, w)
		case *Send:
			if tx == nil {
				tx = t.scope.plan.Schema.NewTx()
				x := t.ensureExtras()
				x.sends = slices.Grow(x.sends, len(update)-i)
			}
			if err := t.addSend(tx, s, allowed); err != nil {
				return nil, err
			}
		default:
			if err := t.follow(s, allowed); err != nil {
				return nil, err
			}
		}
	}
	return writes, nil
}

// follow applies a signal that is not a Send to the task.
func (t *Task) follow(s statecore.Signal, allowed []string) error {
	switch s := s.(type) {
	case Goto:
		if s.Node == End { // it needs no declaration
			return nil
		}
		return t.addTarget(s.Node, allowed)
	case ToParent:
		if t.scope.parent == nil {
			return fmt.Errorf("%s: %w: the graph has no parent; make it a node of another graph", s.Signal(), ErrSignal)
		}
		t.ensureExtras().toParent = append(t.ensureExtras().toParent, s.Write)
		return nil
	}
	return fmt.Errorf("%s: %w: a node returned it", s.Signal(), ErrSignal)
}

// addSend schedules a sent task.
// It applies the sent writes now, so that an error becomes the error of the sender.
func (t *Task) addSend(tx *statecore.Tx, s *Send, allowed []string) error {
	if err := t.allow(s.Node, allowed); err != nil {
		return err
	}
	if s.Node == End {
		return fmt.Errorf("%s: %w", s.Signal(), ErrSignal)
	}
	sent := newSentTask(tx, t.scope.plan.byName[s.Node], s.Writes, s.Over)
	if sent.err != nil {
		return fmt.Errorf("%s: %w", s.Signal(), sent.err)
	}
	t.ensureExtras().sends = append(t.ensureExtras().sends, sent)
	return nil
}

// addTarget schedules a node after the task.
func (t *Task) addTarget(name string, allowed []string) error {
	if err := t.allow(name, allowed); err != nil || name == End {
		return err
	}
	n := t.scope.plan.Node(name)
	if t.targets == nil {
		t.targets = n.self[:1:1] // a single target needs no allocation
		return nil
	}
	t.targets = append(t.targets, n)
	return nil
}

// allow returns an error if the list declared does not contain target.
func (t *Task) allow(target string, declared []string) error {
	if slices.Contains(declared, target) {
		return nil
	}
	if target != End && t.scope.plan.byName[target] == nil {
		return fmt.Errorf("target %q: %w%s", target, ErrUnknownNode, suggestNode(t.scope.plan, target))
	}
	return fmt.Errorf("target %q: %w: %s", target, ErrRoute, declaredTargets(t.node.Name, target, declared))
}

// declaredTargets returns the end of an error text about an undeclared target.
func declaredTargets(node, target string, declared []string) string {
	if len(declared) > 0 {
		return fmt.Sprintf("%q are; add %q to them", declared, target)
	}
	return fmt.Sprintf("none are; declare it with Destinations(%q, %q)", node, target)
}

// A BranchError is the error of a branch. The values of the state may have caused it.
type BranchError struct{ err error }

// Error returns the text of the error of the branch.
func (e *BranchError) Error() string { return "branch: " + e.err.Error() }

// Unwrap returns the error of the branch.
func (e *BranchError) Unwrap() error { return e.err }

// branch runs the node's branches. The state v includes the writes of the task.
func (t *Task) branch(v state.View) error {
	for i := range t.node.Branches {
		b := &t.node.Branches[i]
		if b.One != nil {
			name, err := b.One(v)
			if err == nil {
				err = t.addTarget(name, b.Targets)
			}
			if err != nil {
				return &BranchError{err}
			}
			continue
		}
		update, err := b.Many(v)
		var writes state.Update
		if err == nil {
			writes, err = t.splitUpdate(update, b.Targets)
		}
		if err == nil && len(writes) > 0 {
			err = fmt.Errorf("%s: %w: a branch returned it; it may return Goto and Send", writes[0], ErrSignal)
		}
		if err != nil {
			return &BranchError{err}
		}
	}
	return nil
}
