package engine

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestTaskIDsAreDistinct proves that two tasks of a superstep, and two nested tasks, have
// different ids. No node name has a bracket or a slash.
func TestTaskIDsAreDistinct(t *testing.T) {
	t.Parallel()
	nodes := []string{"a", "aa", "a1", "1", "0", "a 0", "é"}
	seen := map[string][2]any{}
	var ids []string
	for _, node := range nodes {
		for sent := range 120 {
			id := taskID(node, sent, "")
			other, used := seen[id]
			require.False(t, used, "%s is the id of %s %d and of %v", id, node, sent, other)
			seen[id] = [2]any{node, sent}
			if sent < 4 {
				ids = append(ids, id)
			}
		}
	}
	paths := map[string]bool{}
	for _, outer := range append(ids, "") {
		for _, inner := range ids {
			path := joinPath(outer, inner)
			require.False(t, paths[path], "two tasks have the path %s", path)
			paths[path] = true
		}
	}
}

// TestTaskIDsAreThoseInStorage proves that the form of an id does not change: ids are
// stored with pending writes, in paths and in namespaces.
func TestTaskIDsAreThoseInStorage(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "plan", taskID("plan", 0, ""))
	assert.Equal(t, "plan[0]", taskID("plan", 1, ""))
	assert.Equal(t, "plan[1]", taskID("plan", 2, ""))
	assert.Equal(t, "plan[999]", taskID("plan", 1000, ""))
	assert.Equal(t, "outer[2]/inner/leaf[0]", joinPath(joinPath(taskID("outer", 3, ""), "inner"), taskID("leaf", 1, "")))
}

// TestStoredTaskIDsHavePresentNames proves, for plain and sent tasks, that a stored id with
// any former node name is converted to the present id.
func TestStoredTaskIDsHavePresentNames(t *testing.T) {
	t.Parallel()
	p := newPlan(t, "a", "b")
	assert.Equal(t, "old[1]", p.currentTask("old[1]"), "no node was renamed")
	assert.Empty(t, p.formerTasks("a", 0, ""))

	p.Renamed = map[string]string{"old": "a", "older": "a", "ol": "b"}
	p.Link()
	for _, sent := range []int{0, 1, 2, 11} {
		former := p.formerTasks("a", sent, "")
		assert.Equal(t, []string{taskID("old", sent, ""), taskID("older", sent, "")}, former, "by name")
		for _, id := range append(former, taskID("a", sent, "")) {
			assert.Equal(t, taskID("a", sent, ""), p.currentTask(id))
		}
		assert.Equal(t, []string{taskID("ol", sent, "")}, p.formerTasks("b", sent, ""))
		assert.Empty(t, p.formerTasks("c", sent, ""))
	}
	assert.Equal(t, []string{"ol[0]~x~y"}, p.formerTasks("b", 1, "~x~y"), "an inner task")
	assert.Equal(t, "b[0]~x~y", p.currentTask("ol[0]~x~y"))
	assert.Equal(t, "a~x", p.currentTask("old~x"))
	for _, id := range []string{"", "x", "x[3]", "olde[1]"} {
		assert.Equal(t, id, p.currentTask(id), "a node that was not renamed")
	}
}

// FuzzCurrentTask proves, for any text as a stored task id, that only the node is renamed.
func FuzzCurrentTask(f *testing.F) {
	p := newPlan(f, "a")
	p.Renamed = map[string]string{"old": "a", "": "empty"}
	p.Link()
	for _, id := range []string{"", "old", "old[0]", "a[1]", "[", "old[", "old[1][2]", "x/old[1]", "\xff["} {
		f.Add(id)
	}
	f.Fuzz(func(t *testing.T, id string) {
		node, rest, sent := strings.Cut(id, "[")
		want := p.current(node)
		if sent {
			want += "[" + rest
		}
		assert.Equal(t, want, p.currentTask(id))
	})
}
