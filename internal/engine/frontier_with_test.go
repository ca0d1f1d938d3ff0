package engine

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestFrontierWithMoreTasks(t *testing.T) {
	t.Parallel()
	p := newPlan(t, "a", "b", "c", "x", "y")
	node := p.Node
	next := append(make([]*Node, 0, 8), node("b"), node("c"))
	sends := append(make([]sentTask, 0, 8), sentTask{node: node("y")})
	before := frontier{next: next, sends: sends, by: []string{"a"}, call: "call", missing: []string{"old"}}

	f := before.with(completed(p, "a>c,a*x,y")[0])
	assert.Equal(t, "a b c y[0] x[1] y[2]", dueTasks(&f), "each node once; the tasks that were sent before keep their ids")
	assert.Equal(t, []string{"a", "b", "c", "y", "x", "y", "old"}, f.dueNames())
	assert.Equal(t, []string{"a"}, f.by)
	assert.Equal(t, "call", f.call)
	assert.Equal(t, "b c y[0]", dueTasks(&before))
	assert.Nil(t, next[:3][2], "the memory of the tasks before")
	assert.Nil(t, sends[:2][1].node, "the memory of the sent tasks before")
}

// TestDeferredTargetOfACallerWaits proves that a deferred node that a caller schedules with
// Goto waits for the other due tasks, and runs once.
func TestDeferredTargetOfACallerWaits(t *testing.T) {
	t.Parallel()
	p := newPlan(t, "a", "b", "!d", "!e")
	for name, c := range map[string]struct {
		before       frontier
		targets      string
		due, waiting string
	}{
		"beside a due task":      {frontier{next: p.Node("a").self}, "a>d", "a", "d"},
		"beside another target":  {frontier{}, "a>b,d", "b", "d"},
		"beside a sent task":     {frontier{sends: []sentTask{{node: p.Node("b")}}}, "a>d", "b[0]", "d"},
		"of nothing else":        {frontier{}, "a>d,e", "d e", ""},
		"that waits already":     {frontier{next: p.Node("a").self, waiting: p.Node("d").self}, "a>d,e", "a", "d e"},
		"that is due already":    {frontier{next: p.Node("d").self}, "a>d", "d", ""},
		"beside a deferred task": {frontier{next: p.Node("d").self}, "a>e", "d", "e"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := c.before.with(completed(p, c.targets)[0])
			assert.Equal(t, c.due, dueTasks(&f))
			assert.Equal(t, c.waiting, strings.Join(nodeNames(f.waiting), " "))
		})
	}
}

func TestFrontierIsIdleOrPlain(t *testing.T) {
	t.Parallel()
	n := &Node{Name: "n"}
	for name, c := range map[string]struct {
		frontier    frontier
		idle, plain bool
	}{
		"nothing":               {frontier{}, true, true},
		"plain tasks":           {frontier{next: []*Node{n}, by: []string{"n"}}, false, true},
		"sent tasks":            {frontier{sends: []sentTask{{node: n}}}, false, false},
		"a missing node":        {frontier{missing: []string{"old"}}, false, false},
		"a deferred node":       {frontier{waiting: []*Node{n}}, true, false},
		"joins":                 {frontier{arrived: [][]bool{{true, false}}}, true, false},
		"persistent subgraphs":  {frontier{persistent: map[string]string{"notes": "id"}}, true, false},
		"a call":                {frontier{call: "call"}, true, false},
		"a subgraph that ended": {frontier{left: true}, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, c.idle, c.frontier.idle(), "idle")
			assert.Equal(t, c.plain, c.frontier.plain(), "plain")
		})
	}
}

func TestRememberKeepsTheNewestCheckpoints(t *testing.T) {
	t.Parallel()
	heads := map[string]string{"a": "1", "b": "1"}
	assert.Equal(t, heads, remember(heads, nil))
	assert.Equal(t, map[string]string{"a": "1", "b": "2", "c": "2"}, remember(heads, map[string]string{"b": "2", "c": "2"}))
	assert.Equal(t, map[string]string{"a": "1", "b": "1"}, heads, "the argument")
	assert.Equal(t, map[string]string{"c": "2"}, remember(nil, map[string]string{"c": "2"}))
}
