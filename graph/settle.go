package graph

import (
	"fmt"
	"runtime/debug"
	"slices"

	"github.com/weft-go/weft/state"
)

// settle sorts what the node returned into writes, targets and what is meant
// for the parent, and runs the node's branches if other tasks run beside it.
func (t *task) settle(update state.Update) error {
	writes, err := t.sort(update, t.node.routes)
	if err != nil {
		return err
	}
	t.writes = writes
	if t.run.alone && !t.run.g.exact {
		return nil // its branches see the state as it will be; see route
	}
	if len(t.node.branches) == 0 {
		return nil
	}
	return t.route(t.run.g.schema.Overlay(t.run.view, t.writes))
}

// sort separates signals from writes. Most updates have none and are kept as
// they are.
func (t *task) sort(update state.Update, allowed []string) (state.Update, error) {
	signals := 0
	for i := range update {
		if update[i].Signal() != nil {
			signals++
		}
	}
	if signals == 0 {
		return update, nil
	}
	var writes state.Update
	if signals < len(update) {
		writes = make(state.Update, 0, len(update)-signals)
	} else if x := t.own(); signals > 1 && x.sends == nil {
		x.sends = make([]*send, 0, signals) // most likely
	}
	for _, w := range update {
		s := w.Signal()
		if s == nil {
			writes = append(writes, w)
			continue
		}
		if err := t.signal(s, allowed); err != nil {
			return nil, err
		}
	}
	return writes, nil
}

func (t *task) signal(s state.Signal, allowed []string) error {
	switch s := s.(type) {
	case gotoSignal:
		return t.leadTo(s.node, allowed)
	case sendSignal:
		if err := t.allowed(s.send.node, allowed); err != nil {
			return err
		}
		if s.send.node == End {
			return fmt.Errorf("%s: %w", s.Signal(), ErrSignal)
		}
		t.own().sends = append(t.own().sends, s.send)
	case parentSignal:
		if t.run.parent == nil {
			return fmt.Errorf("%s: %w: the graph has no parent", s.Signal(), ErrSignal)
		}
		t.own().toParent = append(t.own().toParent, s.write)
	default:
		return fmt.Errorf("%s: %w: a node returned it", s.Signal(), ErrSignal)
	}
	return nil
}

// leadTo makes a node due after the task.
func (t *task) leadTo(name string, allowed []string) error {
	if err := t.allowed(name, allowed); err != nil || name == End {
		return err
	}
	t.leadToNode(t.run.g.byName[name])
	return nil
}

func (t *task) leadToNode(n *node) {
	if t.lead == nil {
		t.lead = n
		return
	}
	x := t.own()
	x.leads = append(x.leads, n)
}

func (t *task) allowed(target string, declared []string) error {
	if slices.Contains(declared, target) {
		return nil
	}
	if target != End && t.run.g.byName[target] == nil {
		return fmt.Errorf("target %q: %w", target, ErrUnknownNode)
	}
	return fmt.Errorf("target %q: %w (%q)", target, ErrRoute, declared)
}

// route runs the node's branches on a state that has its update.
func (t *task) route(view state.View) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("branch: %w", &PanicError{Value: v, Stack: debug.Stack()})
		}
	}()
	for i := range t.node.branches {
		b := &t.node.branches[i]
		if b.choose != nil {
			name := b.choose(view)
			at := slices.Index(b.targets, name)
			if at < 0 {
				return fmt.Errorf("branch: %w", t.allowed(name, b.targets))
			}
			if to := b.leads[at]; to != nil {
				t.leadToNode(to)
			}
			continue
		}
		writes, err := t.sort(b.route(view), b.targets)
		if err == nil && len(writes) > 0 {
			err = fmt.Errorf("%s: %w: a branch returned it", writes[0], ErrSignal)
		}
		if err != nil {
			return fmt.Errorf("branch: %w", err)
		}
	}
	return nil
}
