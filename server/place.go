package server

import (
	"slices"
	"strings"

	"github.com/weft-go/weft/graph"
)

// A place is the position of a subgraph in a thread: the tasks that lead to it, with the ids that clients see.
type place struct {
	tasks  []string // the ids of the tasks, outermost first
	nodes  []string
	ids    []string          // the ids of the tasks as clients see them
	points map[string]string // the checkpoints of the enclosing graphs, by namespace
}

// namespace returns the namespace as clients see it.
func (p place) namespace() string {
	parts := make([]string, len(p.nodes))
	for i, n := range p.nodes {
		parts[i] = n + ":" + p.ids[i]
	}
	return strings.Join(parts, "|")
}

// taskID returns the id of a task of the subgraph as clients see it.
func (p place) taskID(snap *graph.Info, task string) string {
	if len(p.ids) == 0 {
		return taskID(snap.ID, task)
	}
	return subtaskID(p.ids[len(p.ids)-1], snap.Step+1, task)
}

// stepOf returns the step number of a checkpoint as clients see it. Clients count an input as two steps, and the first
// input has the number -1.
func (p place) stepOf(i *graph.Info) int {
	if len(p.tasks) > 0 {
		return i.Step
	}
	return i.Step + inputsOf(i) - 1
}

// inner returns the place of the subgraph that a task runs.
func (p place) inner(snap *graph.Snapshot, t graph.Task, id string) place {
	in := place{tasks: append(slices.Clone(p.tasks), t.ID), nodes: append(slices.Clone(p.nodes), t.Node), ids: append(slices.Clone(p.ids), id), points: map[string]string{}}
	for ns, c := range p.points {
		in.points[ns] = c
	}
	in.points[p.namespace()] = snap.ID
	return in
}

// checkpoint returns the name of a checkpoint of the place, or nil if id is empty.
func (p place) checkpoint(thread, id string) *checkpointID {
	if id == "" {
		return nil
	}
	c := &checkpointID{Thread: thread, Namespace: p.namespace(), ID: id}
	if len(p.points) > 0 {
		c.Map = map[string]string{c.Namespace: id}
		for ns, at := range p.points {
			c.Map[ns] = at
		}
	}
	return c
}
