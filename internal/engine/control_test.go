package engine

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/internal/statecore"
	"github.com/weft-go/weft/state"
)

var topic = state.Last[string]("topic")

// controlPlan returns a plan with a channel, joins and a deferred node.
func controlPlan(t testing.TB) *Plan {
	t.Helper()
	p := newPlan(t, "a", "b", "c", "!d", "j", "a+b>j", "b+c>j")
	schema, err := statecore.NewSchema[state.Handle](topic)
	require.NoError(t, err)
	p.Schema = schema
	p.Link()
	return p
}

func TestControlIsReadBackAsItWasStored(t *testing.T) {
	t.Parallel()
	p := controlPlan(t)
	tx := p.Schema.Begin(p.empty)
	node := p.Node
	origin := "0198"
	for name, c := range map[string]struct {
		frontier frontier
		stored   string
	}{
		"nothing is due": {frontier{}, `{}`},
		"plain tasks":    {frontier{next: []*Node{node("a"), node("b")}, by: []string{"c"}}, `{"next":["a","b"],"by":["c"],"origin":"0198"}`},
		"sent tasks": {
			frontier{sends: []sentTask{newSentTask(tx, node("c"), []state.Write{topic.Put("tea")}), newSentTask(tx, node("a"), nil)}},
			`{"sends":[{"node":"c","writes":[{"channel":"topic","kind":7,"data":["tea"]}]},{"node":"a"}]}`,
		},
		"joins":                 {frontier{arrived: [][]bool{{true, false}, nil}}, `{"joins":{"[\"a\" \"b\"]→j":["a"]}}`},
		"deferred nodes":        {frontier{next: []*Node{node("a")}, waiting: []*Node{node("d")}}, `{"next":["a"],"waiting":["d"]}`},
		"a subgraph that left":  {frontier{call: "x", left: true}, `{"call":"x","left":true}`},
		"persistent subgraphs":  {frontier{persistent: map[string]string{"notes": "0199"}}, `{"memory":{"notes":"0199"}}`},
		"a turn without origin": {frontier{by: []string{"a"}}, `{"by":["a"]}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var from *string
			if name == "plain tasks" {
				from = &origin
			}
			data, err := p.encodeControl(nil, &c.frontier, from)
			require.NoError(t, err)
			assert.JSONEq(t, c.stored, string(data))

			stored, err := readControl(data)
			require.NoError(t, err)
			assert.Equal(t, from, stored.Origin)
			got, err := p.decodeControl(&stored, &pendingWrites{}, nil)
			require.NoError(t, err)
			assert.Equal(t, dueTasks(&c.frontier), dueTasks(&got))
			assert.Equal(t, nodeNames(c.frontier.waiting), nodeNames(got.waiting))
			assert.Equal(t, c.frontier.by, got.by)
			assert.Equal(t, c.frontier.arrived, got.arrived)
			assert.Equal(t, c.frontier.persistent, got.persistent)
			assert.Equal(t, c.frontier.call, got.call)
			assert.Equal(t, c.frontier.left, got.left)
			for i, s := range c.frontier.sends {
				assert.Equal(t, topic.Get(s.view), topic.Get(got.sends[i].view))
			}
		})
	}
}

func TestControlOfAnotherGraph(t *testing.T) {
	t.Parallel()
	p := controlPlan(t)
	p.Renamed = map[string]string{"old": "a"}
	p.Link()
	stored, err := readControl([]byte(`{"next":["old","gone"],"joins":{"[\"b\" \"old\"]→j":["old"],"[\"x\" \"y\"]→j":["x"]}}`))
	require.NoError(t, err)
	f, err := p.decodeControl(&stored, &pendingWrites{}, nil)
	require.NoError(t, err)
	assert.Equal(t, "a", dueTasks(&f), "a node has its present name")
	assert.Equal(t, []string{"gone"}, f.missing)
	assert.Equal(t, [][]bool{{true, false}, nil}, f.arrived, "a join that the graph does not have is dropped")
}

func TestTaskIDs(t *testing.T) {
	t.Parallel()
	p := controlPlan(t)
	p.Renamed = map[string]string{"old": "a", "older": "a"}
	p.Link()
	assert.Equal(t, "a", taskID("a", 0))
	assert.Equal(t, "a[0]", taskID("a", 1))
	assert.Equal(t, "a[11]", taskID("a", 12))
	assert.Equal(t, "a[3]", p.currentTask("old[3]"))
	assert.Equal(t, "b", p.currentTask("b"))
	assert.Equal(t, []string{"old[1]", "older[1]"}, p.formerTasks("a", 2))
	assert.Equal(t, "x/y", joinPath("x", "y"))
	assert.Equal(t, "y", joinPath("", "y"))
}

// FuzzControl reads any bytes as a stored frontier: it is refused, or it can be stored and
// read again with the same tasks.
func FuzzControl(f *testing.F) {
	p := controlPlan(f)
	f.Add([]byte(`{"next":["a"],"by":["b"],"origin":"1"}`))
	f.Add([]byte(`{"sends":[{"node":"c","writes":[{"channel":"topic","kind":7,"data":["tea"]}]}],"joins":{"[\"a\" \"b\"]→j":["a"]}}`))
	f.Add([]byte(`{"waiting":["d"],"memory":{"n":"1"},"call":"c","left":true}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		stored, err := readControl(data)
		if err != nil {
			return
		}
		want, err := p.decodeControl(&stored, &pendingWrites{}, nil)
		if err != nil || len(want.missing) > 0 {
			return
		}
		for _, s := range want.sends {
			if s.err != nil {
				return
			}
		}
		again, err := p.encodeControl(nil, &want, nil)
		require.NoError(t, err)
		stored, err = readControl(again)
		require.NoError(t, err, "%s", again)
		got, err := p.decodeControl(&stored, &pendingWrites{}, nil)
		require.NoError(t, err)
		assert.Equal(t, dueTasks(&want), dueTasks(&got))
		assert.Equal(t, p.waitingJoins(&want), p.waitingJoins(&got))
	})
}
