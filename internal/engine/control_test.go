package engine

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
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
			frontier{sends: []sentTask{newSentTask(tx, node("c"), []state.Write{topic.Put("tea")}, false), newSentTask(tx, node("a"), nil, false)}},
			`{"sends":[{"node":"c","writes":[{"channel":"topic","kind":7,"data":["tea"]}]},{"node":"a"}]}`,
		},
		"a sent task that sees the whole state": {
			frontier{sends: []sentTask{newSentTask(tx, node("c"), []state.Write{topic.Put("tea")}, true)}},
			`{"sends":[{"node":"c","writes":[{"channel":"topic","kind":7,"data":["tea"]}],"over":true}]}`,
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
			got, err := p.decodeControl(&stored, nil)
			require.NoError(t, err)
			assert.Equal(t, dueTasks(&c.frontier), dueTasks(&got))
			assert.Equal(t, nodeNames(c.frontier.waiting), nodeNames(got.waiting))
			assert.Equal(t, c.frontier.by, got.by)
			assert.Equal(t, c.frontier.arrived, got.arrived)
			assert.Equal(t, c.frontier.persistent, got.persistent)
			assert.Equal(t, c.frontier.call, got.call)
			assert.Equal(t, c.frontier.left, got.left)
			for i, s := range c.frontier.sends {
				if s.view == nil {
					assert.Nil(t, got.sends[i].view)
					assert.Len(t, got.sends[i].writes, len(s.writes))
					continue
				}
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
	f, err := p.decodeControl(&stored, nil)
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
	assert.Equal(t, "a", taskID("a", 0, ""))
	assert.Equal(t, "a[0]", taskID("a", 1, ""))
	assert.Equal(t, "a[11]", taskID("a", 12, ""))
	assert.Equal(t, "a[3]", p.currentTask("old[3]"))
	assert.Equal(t, "b", p.currentTask("b"))
	assert.Equal(t, []string{"old[1]", "older[1]"}, p.formerTasks("a", 2, ""))
	assert.Equal(t, "x/y", joinPath("x", "y"))
	assert.Equal(t, "y", joinPath("", "y"))
}

// TestControlOfAllParts proves that a frontier with all parts is restored completely, and
// that encodeControl appends the stored form to its argument.
func TestControlOfAllParts(t *testing.T) {
	t.Parallel()
	p := controlPlan(t)
	origin := "0198<0197"
	f := frontier{
		next: []*Node{p.Node("a")}, sends: []sentTask{{node: p.Node("c")}}, by: []string{Start, "b"},
		waiting: []*Node{p.Node("d")}, arrived: [][]bool{{false, true}, {true, false}},
		persistent: map[string]string{"notes": "0199"}, call: "x", left: true,
	}
	const want = `{"next":["a"],"sends":[{"node":"c"}],"waiting":["d"],` +
		`"joins":{"[\"a\" \"b\"]→j":["b"],"[\"b\" \"c\"]→j":["b"]},` +
		`"by":["__start__","b"],"memory":{"notes":"0199"},"call":"x","left":true,"origin":"0198<0197"}`
	for name, c := range map[string]struct {
		frontier frontier
		want     string
	}{
		"all parts":   {f, want},
		"plain tasks": {frontier{next: f.next, by: f.by}, `{"next":["a"],"by":["__start__","b"],"origin":"0198<0197"}`},
	} {
		data, err := p.encodeControl([]byte("before "), &c.frontier, &origin)
		require.NoError(t, err, name)
		stored, ok := strings.CutPrefix(string(data), "before ")
		require.True(t, ok, "%s: %s", name, data)
		assert.JSONEq(t, c.want, stored, name)

		got := decode(t, p, stored)
		assert.Equal(t, dueTasks(&c.frontier), dueTasks(&got), name)
		assert.Equal(t, c.frontier.by, got.by, name)
		assert.Equal(t, c.frontier.arrived, got.arrived, name)
	}
}

// decode reads the stored form of a frontier without pending writes.
func decode(t testing.TB, p *Plan, text string) frontier {
	t.Helper()
	stored, err := readControl([]byte(text))
	require.NoError(t, err)
	f, err := p.decodeControl(&stored, nil)
	require.NoError(t, err)
	return f
}

// TestStoredFrontierSchedulesLikeTheOriginal proves, for random runs, that the same tasks
// become due if the frontier is stored and restored after each superstep.
func TestStoredFrontierSchedulesLikeTheOriginal(t *testing.T) {
	t.Parallel()
	rnd := newRand(t)
	for range 500 {
		p := randomPlan(t, rnd)
		want := frontier{next: p.Nodes[:1+rnd.IntN(len(p.Nodes))]}
		got := want
		for step := range 8 {
			done := randomResults(p, &want, rnd)
			if len(done) == 0 {
				break
			}
			want, got = nextFrontier(p, &want, done), nextFrontier(p, &got, done)
			data, err := p.encodeControl(nil, &got, nil)
			require.NoError(t, err)
			got = decode(t, p, string(data))
			require.Equal(t, dueTasks(&want), dueTasks(&got), "superstep %d: %s", step+1, data)
			require.Equal(t, nodeNames(want.waiting), nodeNames(got.waiting), "superstep %d: %s", step+1, data)
			require.Equal(t, p.waitingJoins(&want), p.waitingJoins(&got), "superstep %d: %s", step+1, data)
			require.Equal(t, want.by, got.by, "superstep %d: %s", step+1, data)
		}
	}
}

// TestPlainControlIsJSONOfAnyNames proves that the stored form of plain tasks is valid JSON
// for all node names that a graph accepts.
func TestPlainControlIsJSONOfAnyNames(t *testing.T) {
	t.Parallel()
	rnd := newRand(t)
	letters := []rune("ab é→<>&'`%,:{}\u00a0\u200b\u2028\ufeff\U0001f600")
	name := func() string {
		out := make([]rune, 1+rnd.IntN(4))
		for i := range out {
			out[i] = letters[rnd.IntN(len(letters))]
		}
		return string(out)
	}
	for range 500 {
		var f frontier
		for range rnd.IntN(4) {
			f.next = append(f.next, &Node{Name: name()})
		}
		for range rnd.IntN(4) {
			f.by = append(f.by, name())
		}
		want := control{Next: nodeNames(f.next), By: f.by, Origin: optional(rnd, name())}
		data, err := controlPlan(t).encodeControl(nil, &f, want.Origin)
		require.NoError(t, err)
		got, err := readControl(data)
		require.NoError(t, err, "%s", data)
		require.Equal(t, want, got, "%s", data)
	}
}

func optional(rnd *rand.Rand, text string) *string {
	if rnd.IntN(2) == 0 {
		return nil
	}
	return &text
}

// TestControlKeepsJoinsOfAnyNames proves that a join is found again whatever the names of
// its nodes are.
func TestControlKeepsJoinsOfAnyNames(t *testing.T) {
	t.Parallel()
	for _, names := range [][]string{{"a b", "c"}, {"a", "b c"}, {"é→", "ü"}, {"%s", "%q"}, {"\u200b", "<&"}, {"'", "`"}} {
		slices.Sort(names)
		p := newPlan(t, names[0], names[1], "old→j", strings.Join(names, "+")+">old→j")
		f := frontier{arrived: [][]bool{{false, true}}}
		data, err := p.encodeControl(nil, &f, nil)
		require.NoError(t, err)
		got := decode(t, p, string(data))
		assert.Equal(t, f.arrived, got.arrived, "%s", data)

		p.Renamed = map[string]string{"x": "y"} // now the key of the join is parsed
		got = decode(t, p, string(data))
		assert.Equal(t, f.arrived, got.arrived, "%s", data)
	}
}

func TestControlOfRenamedNodes(t *testing.T) {
	t.Parallel()
	p := controlPlan(t)
	p.Renamed = map[string]string{"oldA": "a", "zB": "b", "oldD": "d", "oldJ": "j"}
	p.Link()
	f := decode(t, p, `{"next":["zB","oldA"],"sends":[{"node":"oldA"},{"node":"b"}],"waiting":["oldD"],"by":["oldA","c"]}`)
	assert.Equal(t, "a b a[0] b[1]", dueTasks(&f), "by present name")
	assert.Equal(t, []string{"d"}, nodeNames(f.waiting))
	assert.Equal(t, []string{"a", "c"}, f.by)
	assert.Empty(t, f.missing)

	for key, want := range map[string][][]bool{
		`["oldA" "zB"]→oldJ`: {{true, true}, nil},
		`["a" "zB"]→j`:       {{true, true}, nil},
		`["b" "oldA"]→oldJ`:  {{true, true}, nil}, // sorted by the names under which it was stored
		`["a" "b"]→oldJ`:     {{true, true}, nil},
		`["c" "zB"]→j`:       {nil, {true, false}},
		`["a" "b"]→c`:        {nil, nil},
		`["a" "b" "c"]→j`:    {nil, nil},
		`["a" "b"`:           {nil, nil},
		`["a" b]→j`:          {nil, nil},
		`"a" "b"]→j`:         {nil, nil},
		``:                   {nil, nil},
	} {
		text, err := json.Marshal(control{Joins: map[string][]string{key: {"oldA", "zB"}}})
		require.NoError(t, err)
		f := decode(t, p, string(text))
		assert.Equal(t, want, f.arrived, key)
	}
}

// TestControlKeepsPlacesOfDoneSends proves that the writes that were sent to a task are not
// decoded if the task does not run, and that the other tasks keep their ids.
func TestControlKeepsPlacesOfDoneSends(t *testing.T) {
	t.Parallel()
	p := controlPlan(t)
	p.Renamed = map[string]string{"old": "c"}
	p.Link()
	send := func(node, data string) string {
		return `{"node":"` + node + `","writes":[{"channel":"topic","kind":7,"data":` + data + `}]}`
	}
	stored, err := readControl([]byte(`{"sends":[` + send("a", `["0"]`) + `,` + send("old", `true`) + `,` + send("c", `["2"]`) + `]}`))
	require.NoError(t, err)

	_, err = p.decodeControl(&stored, nil)
	require.Error(t, err, "the second cannot be decoded")
	assert.ErrorContains(t, err, "topic")

	done, tried := &savedTask{done: true}, &savedTask{failure: "broken"}
	pending := &pendingWrites{tasks: map[string]*savedTask{"a[0]": tried, "c": tried, "c[1]": done}}
	runs := func(id string) bool { return pending.tasks[id] == nil || !pending.tasks[id].done }
	f, err := p.decodeControl(&stored, runs)
	require.NoError(t, err)
	require.Equal(t, "a[0] c[1] c[2]", dueTasks(&f))
	assert.Equal(t, "0", topic.Get(f.sends[0].view), "a task that failed is decoded")
	assert.Equal(t, "", topic.Get(f.sends[1].view), "a task that does not run can be shown")
	assert.Equal(t, "2", topic.Get(f.sends[2].view))

	pending.tasks["c[1]"] = tried
	_, err = p.decodeControl(&stored, runs)
	assert.Error(t, err)
}

func TestControlOfMissingNodes(t *testing.T) {
	t.Parallel()
	f := decode(t, controlPlan(t), `{"next":["x","a"],"waiting":["y"],"sends":[{"node":"a"},{"node":"z"}],"by":["x"]}`)
	assert.Equal(t, "a a[0] z[1]", dueTasks(&f), "a sent task keeps its place")
	assert.Equal(t, []string{"x", "y"}, f.missing)
	assert.Equal(t, []string{"x"}, f.by)
	assert.Equal(t, []string{"a", "a", "z", "x", "y"}, f.dueNames())
	assert.False(t, f.plain())
}

func TestControlOfUnknownChannel(t *testing.T) {
	t.Parallel()
	stored, err := readControl([]byte(`{"sends":[{"node":"a","writes":[{"channel":"gone","kind":7,"data":["tea"]}]}]}`))
	require.NoError(t, err)
	_, err = controlPlan(t).decodeControl(&stored, nil)
	require.ErrorIs(t, err, statecore.ErrUnknownChannel)
	assert.ErrorContains(t, err, "gone")
}

// TestOldControlIsRead proves that no field of a stored frontier is required, and that an
// unknown field is ignored.
func TestOldControlIsRead(t *testing.T) {
	t.Parallel()
	p := controlPlan(t)
	for text, due := range map[string]string{
		``:                           "",
		`null`:                       "",
		`{}`:                         "",
		`{"by":["a"]}`:               "",
		`{"next":["b"],"later":[1]}`: "b",
		`{"next":["b","a","b"],"sends":null,"joins":{},"memory":null}`: "a b",
		` { "next" : [ "a" ] } `: "a",
	} {
		f := decode(t, p, text)
		assert.Equal(t, due, dueTasks(&f), text)
		assert.Empty(t, p.waitingJoins(&f), text)
	}
}

func TestDueNodes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		``:   nil,
		`{}`: nil,
		`{"next":["a","b"],"by":["c"],"waiting":["d"]}`:                        {"a", "b"},
		`{"sends":[{"node":"c"},{"node":"a"},{"node":"c"}]}`:                   {"c", "a", "c"},
		`{"next":["gone"],"sends":[{"node":"b"}],"joins":{"[\"b\"]→j":["b"]}}`: {"gone", "b"},
	} {
		got, err := DueNodes([]byte(text))
		require.NoError(t, err, text)
		assert.Equal(t, want, got, text)
	}
	for _, text := range []string{`{`, `[]`, `{"next":"a"}`, `{"next":[1]}`, "\x00"} {
		_, err := DueNodes([]byte(text))
		assert.Error(t, err, text)
	}
}

// FuzzDecodeControl decodes any bytes as the frontier of a graph with renamed nodes and with
// pending writes, and computes the next frontier. It proves that this does not panic, and
// that each stored task is due or missing.
func FuzzDecodeControl(f *testing.F) {
	p := controlPlan(f)
	p.Renamed = map[string]string{"old": "a", "older": "j"}
	p.Link()
	for _, text := range []string{
		``, `null`, `{`, `{"next":["old","gone"],"by":["old"],"origin":"1"}`,
		`{"next":["a"],"waiting":["d","d"],"joins":{"[\"b\" \"old\"]→older":["old","b","x"],"[\"a\" \"b\"]→j":["b"],"[\"a":["a"]}}`,
		`{"sends":[{"node":"old"},{"node":"gone"},{"node":"c","writes":[{"channel":"topic","kind":7,"data":["tea"]}]}]}`,
		`{"sends":[{"node":"c","writes":[{"channel":"topic","kind":8,"data":"tea"},{"channel":"x","kind":255}]}]}`,
		`{"memory":{"n":"1"},"call":"c","left":true}`,
	} {
		f.Add([]byte(text))
	}
	pending := map[string]*savedTask{"a": {done: true}, "a[0]": {done: true}, "c[1]": {}}
	f.Fuzz(func(t *testing.T, data []byte) {
		names, dueErr := DueNodes(data)
		stored, err := readControl(data)
		require.Equal(t, err == nil, dueErr == nil)
		if err != nil {
			return
		}
		before, err := p.decodeControl(&stored, func(id string) bool { return pending[id] == nil || !pending[id].done })
		if err != nil {
			return
		}
		present := slices.DeleteFunc(slices.Clone(stored.Waiting), func(name string) bool { return p.Node(p.current(name)) != nil })
		names = append(names, present...)
		due := before.dueNames()
		for _, name := range names {
			require.True(t, slices.Contains(due, name) || slices.Contains(due, p.current(name)), "%q of %q", name, due)
		}
		require.Len(t, before.sends, len(stored.Sends))

		done := []routed{{node: p.Node("a")}, {node: p.Node("b")}}
		after := nextFrontier(p, &before, done)
		require.Contains(t, nodeNames(after.next), "j", "both sources of its join have completed")
		_, err = p.encodeControl(nil, &after, nil)
		require.NoError(t, err)
	})
}

// FuzzControl proves, for any bytes, that they are rejected as a stored frontier, or that
// the decoded frontier can be stored and decoded again with the same tasks.
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
		want, err := p.decodeControl(&stored, nil)
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
		got, err := p.decodeControl(&stored, nil)
		require.NoError(t, err)
		assert.Equal(t, dueTasks(&want), dueTasks(&got))
		assert.Equal(t, p.waitingJoins(&want), p.waitingJoins(&got))
	})
}

// TestMissingSentTaskKeepsIDsOfOthers proves that the saved result of a sent task is found
// if the graph does not have the node of an earlier sent task.
func TestMissingSentTaskKeepsIDsOfOthers(t *testing.T) {
	t.Parallel()
	p := controlPlan(t)
	stored, err := readControl([]byte(`{"sends":[{"node":"x"},{"node":"b"},{"node":"b"}]}`))
	require.NoError(t, err)
	var asked []string
	f, err := p.decodeControl(&stored, func(id string) bool { asked = append(asked, id); return true })
	require.NoError(t, err)
	assert.Equal(t, []string{"b[1]", "b[2]"}, asked)
	assert.Equal(t, "x[0] b[1] b[2]", dueTasks(&f))
}
