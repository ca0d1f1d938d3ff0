package engine

import (
	"strconv"
	"strings"
)

// taskID returns the id of a task, which is unique within its superstep.
// The id of a plain task is "node"; the id of the third sent task is "node[2]".
// The argument sent is the number among the sent tasks of the superstep, counted from 1.
// It is 0 for a plain task.
// The argument suffix is the end of the id of an inner task, "~" and its key, else empty.
func taskID(node string, sent int, suffix string) string {
	if sent == 0 {
		return node + suffix
	}
	return node + "[" + strconv.Itoa(sent-1) + "]" + suffix
}

// currentTask returns the present id of a stored task, whose node may have been renamed.
func (p *Plan) currentTask(id string) string {
	if len(p.Renamed) == 0 {
		return id
	}
	node, rest := id, ""
	if i := strings.IndexAny(id, "[~"); i >= 0 {
		node, rest = id[:i], id[i:]
	}
	return p.current(node) + rest
}

// formerTasks returns the ids of a task under the former names of its node.
func (p *Plan) formerTasks(node string, sent int, suffix string) []string {
	var out []string
	for _, old := range p.previous[node] {
		out = append(out, taskID(old, sent, suffix))
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
