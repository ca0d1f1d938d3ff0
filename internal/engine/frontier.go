package engine

import (
	"slices"

	"github.com/weft-go/weft/state"
)

// A frontier is the work that is due after a superstep. The data to which its fields refer is immutable.
type frontier struct {
	next  []*Node    // the nodes of the plain tasks, sorted by name
	sends []sentTask // the sent tasks, in the order of the sends
	by    []string   // the nodes of the superstep or update before this frontier

	waiting    []*Node           // scheduled deferred nodes, sorted by name
	arrived    [][]bool          // for each join, which sources have completed; nil for none
	persistent map[string]string // the newest checkpoint of each persistent subgraph, by its name
	call       string            // in a subgraph, the id of the call
	left       bool              // the subgraph ended with a Goto or Send to its parent
	missing    []string          // stored names of plain and waiting nodes missing in the graph
}

// A sentTask is a task that a Send schedules.
type sentTask struct {
	node   *Node
	writes []state.Write
	over   bool       // the task sees the whole state with the writes applied to it
	view   state.View // the state that the task sees, unless over is set
	err    error      // the error if the writes could not be applied to an empty state
}

// A routed is a completed task with the targets that it chose.
// The targets of its static edges are not included.
type routed struct {
	node    *Node
	targets []*Node
	sends   []sentTask
}

// idle reports whether nothing is due.
func (f *frontier) idle() bool { return len(f.next)+len(f.sends)+len(f.missing) == 0 }

// unknown returns the names of due nodes that the graph does not have.
func (f *frontier) unknown() []string {
	names := slices.Clip(f.missing)
	for i := range f.sends {
		if n := f.sends[i].node; n.Run == nil {
			names = append(names, n.Name)
		}
	}
	return names
}

// plain reports whether all fields other than next and by are empty.
func (f *frontier) plain() bool {
	return len(f.sends)+len(f.waiting)+len(f.arrived)+len(f.persistent)+len(f.missing) == 0 && f.call == "" && !f.left
}

// dueNames returns the node name of each due task.
func (f *frontier) dueNames() []string {
	out := nodeNames(f.next)
	for _, s := range f.sends {
		out = append(out, s.node.Name)
	}
	return append(out, f.missing...)
}

// nextFrontier returns the frontier after the completed tasks of a superstep.
// The argument before is the frontier with which the superstep began.
// nextFrontier is a pure function.
func nextFrontier(p *Plan, before *frontier, done []routed) frontier {
	f := frontier{arrived: before.arrived, persistent: before.persistent, call: before.call}
	var dueBuf, waitingBuf [8]*Node
	due, waiting := dueBuf[:0], append(waitingBuf[:0], before.waiting...)
	trigger := func(n *Node) {
		switch {
		case n.Deferred:
			waiting = append(waiting, n)
		case len(due) == 0 || due[len(due)-1] != n: // tasks of a fan-out often share a target
			due = append(due, n)
		}
	}
	for i := range done {
		d := &done[i]
		for _, to := range d.node.next {
			trigger(to)
		}
		for _, to := range d.targets {
			trigger(to)
		}
		if f.sends == nil {
			f.sends = slices.Clip(d.sends)
		} else {
			f.sends = append(f.sends, d.sends...)
		}
		f.arrived = arrive(p.Joins, f.arrived, d.node)
		if len(f.by) == 0 || f.by[len(f.by)-1] != d.node.Name {
			f.by = appendName(f.by, d.node)
		}
	}
	for i, seen := range f.arrived {
		if complete(seen) {
			trigger(p.byName[p.Joins[i].Target])
		}
	}
	f.next, f.waiting = sortedNodes(due), sortedNodes(waiting)
	if f.idle() {
		f.next, f.waiting = f.waiting, nil
	}
	f.arrived = fire(p, f.arrived, f.next)
	return f
}

// appendName appends the name of n to names. The first name needs no allocation.
func appendName(names []string, n *Node) []string {
	if len(names) == 0 {
		return n.names[:1:1]
	}
	return append(names, n.Name)
}

// sortedNodes returns the nodes sorted by name, without duplicates.
func sortedNodes(nodes []*Node) []*Node {
	switch len(nodes) {
	case 0:
		return nil
	case 1:
		return nodes[0].self
	}
	last := 0
	for _, n := range nodes {
		last = max(last, n.index)
	}
	out := make([]*Node, last+1)
	for _, n := range nodes {
		out[n.index] = n
	}
	return slices.DeleteFunc(out, func(n *Node) bool { return n == nil })
}

// arrive marks n as completed in every join of which it is a source.
// It does not change the argument arrived; if necessary it returns a changed copy.
func arrive(joins []Join, arrived [][]bool, n *Node) [][]bool {
	for i := range joins {
		at, found := slices.BinarySearch(joins[i].Sources, n.Name)
		if !found || arrived != nil && arrived[i] != nil && arrived[i][at] {
			continue
		}
		own := make([][]bool, len(joins))
		copy(own, arrived)
		seen := make([]bool, len(joins[i].Sources))
		copy(seen, own[i])
		seen[at] = true
		own[i], arrived = seen, own
	}
	return arrived
}

// fire resets each complete join whose target is in next.
// Before that, a source that completes again has no effect on the join.
func fire(p *Plan, arrived [][]bool, next []*Node) [][]bool {
	var own [][]bool
	for i, seen := range arrived {
		if complete(seen) && slices.Contains(next, p.byName[p.Joins[i].Target]) {
			if own == nil {
				own = slices.Clone(arrived)
			}
			own[i] = nil
		}
	}
	if own != nil {
		return own
	}
	return arrived
}

// complete reports whether every source of a join has completed.
func complete(seen []bool) bool { return seen != nil && !slices.Contains(seen, false) }

// with returns a copy of f with the tasks that a caller adds.
// A deferred target waits, unless it is due already or nothing else is due.
func (f frontier) with(added routed) frontier {
	for _, n := range added.targets {
		list := &f.next
		if n.Deferred && !slices.Contains(f.next, n) {
			list = &f.waiting
		}
		*list = append(slices.Clip(*list), n)
	}
	f.next, f.waiting = sortedNodes(f.next), sortedNodes(f.waiting)
	f.sends = slices.Concat(f.sends, added.sends)
	if f.idle() {
		f.next, f.waiting = f.waiting, nil
	}
	return f
}

// remember merges two maps of the newest checkpoints of persistent subgraphs.
// If both have a name, the result has the value from the second map.
func remember(heads, more map[string]string) map[string]string {
	if len(more) == 0 {
		return heads
	}
	out := map[string]string{}
	for name, id := range heads {
		out[name] = id
	}
	for name, id := range more {
		out[name] = id
	}
	return out
}
