package engine

import (
	"strconv"
	"strings"
)

// taskID tells a task from the others of its superstep: "node" for a plain task,
// "node[2]" for the third sent task. Sent is 0 for a plain task, else the place
// among the sent tasks, from 1.
func taskID(node string, sent int) string {
	if sent == 0 {
		return node
	}
	return node + "[" + strconv.Itoa(sent-1) + "]"
}

// currentTask returns the id that a stored task id has now, if its node was renamed.
func (p *Plan) currentTask(id string) string {
	if len(p.Renamed) == 0 {
		return id
	}
	node, rest := id, ""
	if i := strings.IndexByte(id, '['); i >= 0 {
		node, rest = id[:i], id[i:]
	}
	return p.current(node) + rest
}

// formerTasks returns the ids that a task had before its node was renamed.
func (p *Plan) formerTasks(node string, sent int) []string {
	var out []string
	for _, old := range p.previous[node] {
		out = append(out, taskID(old, sent))
	}
	return out
}

// joinPath joins the ids of nested tasks, outermost first.
func joinPath(path, task string) string {
	if path == "" {
		return task
	}
	return path + "/" + task
}
