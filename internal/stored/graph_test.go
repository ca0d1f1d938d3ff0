package stored_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/internal/stored"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/state"
)

type item struct {
	ID string `json:"id"`
	N  int64  `json:"n"`
}

type itemID struct{}

func (itemID) ID(i item) string                      { return i.ID }
func (itemID) WithID(i item, id string) item         { i.ID = id; return i }
func messageID(m llm.Message, id string) llm.Message { m.ID = id; return m }

var (
	messages = state.Keyed("messages", llm.ByID)
	items    = state.Keyed("items", itemID{})
	lines    = state.Append[string]("lines")
	tags     = state.Set[string]("tags")
	prices   = state.Map[string, float64]("prices")
	total    = state.Sum[int64]("total")
	topic    = state.Last[string]("topic")
	mood     = state.LastWins[string]("mood")
	due      = state.Optional[string]("due")
	best     = state.Max[int]("best")
	now      = state.Ephemeral[string]("now")
	scratch  = state.Untracked[string]("scratch")
	joined   = state.NewChannel("joined", func(current, update string) (string, error) { return current + update, nil })
	notes    = state.Append[string]("notes")
	approve  = graph.NewInterrupt[string, bool]("approve")
)

// program returns a graph with channels of each kind, and with a subgraph that asks a question. A test of package state fails
// if a kind is missing.
func program(t *testing.T, o graph.Options) *graph.Graph {
	t.Helper()
	sub := graph.New("review", messages, notes)
	sub.Node("ask", func(ctx context.Context, _ state.View) (state.Update, error) {
		ok, err := approve.Wait(ctx, "Ship it?")
		if err != nil {
			return nil, err
		}
		if !ok {
			return nil, errors.New("refused")
		}
		return state.Update{notes.Put("approved"), messages.Put(messageID(llm.Assistant("done"), "m9"))}, nil
	})
	sub.Node("read", func(context.Context, state.View) (state.Update, error) { return state.Update{notes.Put("read")}, nil })
	sub.Edge(graph.Start, "read")
	sub.Edge("read", "ask")
	inner, err := sub.Compile(graph.Options{})
	require.NoError(t, err)

	b := graph.New("program", messages, items, lines, tags, prices, total, topic, mood, due, best, now, scratch, joined)
	b.Node("first", func(context.Context, state.View) (state.Update, error) {
		return state.Update{
			messages.Put(messageID(llm.Assistant("hello <you>"), "m2")), items.Put(item{"a", 1}, item{"b", 9007199254740993}),
			lines.Put("one"), tags.Put("x", "y"), prices.Put(map[string]float64{"tea": 1.5, "rum": 9}), total.Put(4), topic.Put("ships"),
			mood.Put("calm"), due.Put(new("today")), best.Put(7), now.Put("soon"), scratch.Put("none"), joined.Put("a"),
		}, nil
	})
	b.Node("second", func(context.Context, state.View) (state.Update, error) {
		return state.Update{
			items.Put(item{"a", 2}), items.Remove("b"), lines.Put("two"), tags.Remove("x"), prices.Remove("rum"), total.Put(5),
			best.Put(3), joined.Put("b"),
		}, nil
	})
	b.Subgraph("review", inner)
	b.Edge(graph.Start, "first")
	b.Edge("first", "second")
	b.Edge("second", "review")
	g, err := b.Compile(o)
	require.NoError(t, err)
	return g
}

func values(t *testing.T, v state.View) map[string]string {
	t.Helper()
	all, err := state.Values(v)
	require.NoError(t, err)
	out := map[string]string{}
	for name, data := range all {
		out[name] = string(data)
	}
	return out
}

func TestAThreadIsReadWithoutItsGraph(t *testing.T) {
	t.Parallel()
	store := memcheckpoint.New(memcheckpoint.Options{})
	g := program(t, graph.Options{Checkpoints: store})
	thread := g.Thread("t")
	_, err := thread.Invoke(t.Context(), messages.Put(messageID(llm.User("hi"), "m1")))
	require.NoError(t, err)
	check(t, g, "while a question is open")

	snap, err := thread.Snapshot(t.Context())
	require.NoError(t, err)
	_, err = thread.Invoke(t.Context(), approve.Answer(snap.Pauses[0].ID, true))
	require.NoError(t, err)
	_, err = thread.Update(t.Context(), "review", topic.Put("boats"), lines.Overwrite([]string{"zero"}))
	require.NoError(t, err)
	check(t, g, "at its end")
}

// check compares the states that the graph of package stored reads with the states that the graph g reads.
func check(t *testing.T, g *graph.Graph, when string) {
	t.Helper()
	read, err := stored.Graph(t.Context(), g.Checkpoints(), "t")
	require.NoError(t, err)
	a, b := g.Thread("t"), read.Thread("t")
	want, err := a.Snapshot(t.Context())
	require.NoError(t, err)
	got, err := b.Snapshot(t.Context())
	require.NoError(t, err)
	assert.Equal(t, values(t, want.View), values(t, got.View), when)
	assert.Equal(t, want.Info, got.Info, when)
	assert.Equal(t, want.Tasks, got.Tasks, when)
	assert.Equal(t, want.Pauses, got.Pauses, when)
	n := 0
	for info, err := range a.History(t.Context(), graph.HistoryQuery{}) {
		require.NoError(t, err)
		n++
		want, err := a.At(info.ID).Snapshot(t.Context())
		require.NoError(t, err)
		got, err := b.At(info.ID).Snapshot(t.Context())
		require.NoError(t, err)
		assert.Equal(t, values(t, want.View), values(t, got.View), "%s: checkpoint %d", when, info.Step)
	}
	assert.Greater(t, n, 2)
	if len(want.Pauses) > 0 {
		path := []string{want.Tasks[0].ID}
		inWant, err := a.Subgraph(path...).Snapshot(t.Context())
		require.NoError(t, err)
		inGot, err := b.Subgraph(path...).Snapshot(t.Context())
		require.NoError(t, err)
		want := values(t, inWant.View)
		delete(want, "messages") // the subgraph did not write to this channel, so no checkpoint of the subgraph names it
		assert.Equal(t, want, values(t, inGot.View), "%s: the subgraph", when)
		assert.Equal(t, inWant.Tasks, inGot.Tasks, "%s: the subgraph", when)
	}
}

// TestAPrivateChannelOfAnotherKindIsReadAsItIs proves that Graph reads a private channel of a subgraph that has the
// name of a channel of the parent but another kind.
func TestAPrivateChannelOfAnotherKindIsReadAsItIs(t *testing.T) {
	t.Parallel()
	list, keyed, set := state.Append[string]("seen"), state.Keyed("seen", itemID{}), state.Set[string]("seen")
	entries, last, lastList := state.Map[string, int]("seen"), state.Last[string]("seen"), state.Last[[]string]("seen")
	optional, sum, longest := state.Optional[item]("seen"), state.Sum[int]("seen"), state.NewChannel("seen", func(a, b string) (string, error) { return max(a, b), nil })
	kinds := map[string]struct {
		channel state.Handle
		updates [2]state.Write
	}{
		"Append":     {list, [2]state.Write{list.Put("a"), list.Put("b")}},
		"Keyed":      {keyed, [2]state.Write{keyed.Put(item{"a", 1}), keyed.Put(item{"b", 2})}},
		"Set":        {set, [2]state.Write{set.Put("x"), set.Put("y")}},
		"Map":        {entries, [2]state.Write{entries.Put(map[string]int{"x": 1}), entries.Put(map[string]int{"y": 2})}},
		"Last":       {last, [2]state.Write{last.Put("a"), last.Put("b")}},
		"LastList":   {lastList, [2]state.Write{lastList.Put([]string{"a"}), lastList.Put([]string{"b"})}},
		"Optional":   {optional, [2]state.Write{optional.Put(&item{"a", 1}), optional.Put(&item{"b", 2})}},
		"Sum":        {sum, [2]state.Write{sum.Put(1), sum.Put(2)}},
		"NewChannel": {longest, [2]state.Write{longest.Put("a"), longest.Put("b")}},
	}
	for one, others := range map[string][]string{
		"Append":   {"Keyed", "Set", "Map", "Last", "Optional", "Sum", "NewChannel"},
		"Keyed":    {"Map", "Last", "Optional", "Sum", "NewChannel"},
		"Set":      {"Map", "Last", "Optional", "Sum", "NewChannel"},
		"Map":      {"Last", "LastList", "Sum", "NewChannel"},
		"Last":     {"LastList", "Optional", "Sum", "NewChannel"},
		"Optional": {"LastList", "Sum", "NewChannel"},
	} {
		for i := range 2 * len(others) {
			outerKind, innerKind := one, others[i/2]
			if i%2 == 1 {
				outerKind, innerKind = innerKind, outerKind
			}
			outer, inner := kinds[outerKind], kinds[innerKind]
			t.Run(outerKind+" with a private "+innerKind, func(t *testing.T) {
				t.Parallel()
				sub := graph.New("review", inner.channel)
				sub.Node("first", func(context.Context, state.View) (state.Update, error) { return state.Update{inner.updates[0]}, nil })
				sub.Node("second", func(context.Context, state.View) (state.Update, error) { return state.Update{inner.updates[1]}, nil })
				sub.Node("ask", func(ctx context.Context, _ state.View) (state.Update, error) {
					_, err := approve.Wait(ctx, "Ship it?")
					return nil, err
				})
				sub.Edge(graph.Start, "first")
				sub.Edge("first", "second")
				sub.Edge("second", "ask")
				inside, err := sub.Compile(graph.Options{})
				require.NoError(t, err)
				b := graph.New("program", outer.channel)
				b.SubgraphWith("review", inside, graph.SubgraphOptions{Private: []state.Handle{inner.channel}})
				b.Edge(graph.Start, "review")
				store := memcheckpoint.New(memcheckpoint.Options{})
				g, err := b.Compile(graph.Options{Checkpoints: store})
				require.NoError(t, err)
				for _, update := range outer.updates {
					_, err = g.Thread("t").Invoke(t.Context(), update)
					require.NoError(t, err)
				}

				read, err := stored.Graph(t.Context(), store, "t")
				require.NoError(t, err)
				want, err := g.Thread("t").Snapshot(t.Context())
				require.NoError(t, err)
				got, err := read.Thread("t").Snapshot(t.Context())
				require.NoError(t, err)
				assert.Equal(t, values(t, want.View), values(t, got.View))
				want, err = g.Thread("t").Subgraph(want.Tasks[0].ID).Snapshot(t.Context())
				require.NoError(t, err)
				got, err = read.Thread("t").Subgraph(got.Tasks[0].ID).Snapshot(t.Context())
				require.NoError(t, err)
				assert.Equal(t, values(t, want.View), values(t, got.View), "in the subgraph")
			})
		}
	}
}

// TestChangesOfAnUnknownKindOfChannelAreAnError proves that Graph returns an error for changes that no kind of channel
// stores.
func TestChangesOfAnUnknownKindOfChannelAreAnError(t *testing.T) {
	t.Parallel()
	for kinds, changes := range map[string][]checkpoint.Change{
		"set, append, remove": {{Channel: "log", Kind: 1, Data: []byte(`["a"]`)}, {Channel: "log", Kind: 2, Data: []byte(`["b"]`)}, {Channel: "log", Kind: 4, Data: []byte(`[1]`)}},
		"put, merge":          {{Channel: "log", Kind: 3, Data: []byte(`["a"]`)}, {Channel: "log", Kind: 5, Data: []byte(`{"a":1}`)}},
		"set, kind(9)":        {{Channel: "log", Kind: 1, Data: []byte(`1`)}, {Channel: "log", Kind: 9, Data: []byte(`1`)}},
	} {
		t.Run(kinds, func(t *testing.T) {
			t.Parallel()
			store := memcheckpoint.New(memcheckpoint.Options{})
			require.NoError(t, store.Put(t.Context(), checkpoint.Checkpoint{
				Key: checkpoint.Key{Thread: "t", ID: "01"}, Source: checkpoint.Input, Changes: changes, Control: []byte(`{}`),
			}, ""))
			_, err := stored.Graph(t.Context(), store, "t")
			var failed *state.ChannelError
			require.ErrorAs(t, err, &failed)
			assert.Equal(t, "log", failed.Channel)
			require.ErrorContains(t, err, "("+kinds+")")
			require.ErrorContains(t, err, "read the thread with the program that has its graph")
		})
	}
}

func TestTheGraphOfAThreadIsDrawnFromItsCheckpoints(t *testing.T) {
	t.Parallel()
	store := memcheckpoint.New(memcheckpoint.Options{})
	g := program(t, graph.Options{Checkpoints: store})
	_, err := g.Thread("t").Invoke(t.Context(), messages.Put(messageID(llm.User("hi"), "m1")))
	require.NoError(t, err)
	read, err := stored.Graph(t.Context(), store, "t")
	require.NoError(t, err)
	d := read.Describe()
	var nodes, edges []string
	for _, n := range d.Nodes {
		nodes = append(nodes, n.Name)
		if n.Name == "review" {
			require.NotNil(t, n.Subgraph)
			assert.Len(t, n.Subgraph.Nodes, 2)
		}
	}
	for _, e := range d.Edges {
		edges = append(edges, e.From+">"+e.To)
	}
	assert.ElementsMatch(t, []string{"first", "second", "review"}, nodes)
	assert.ElementsMatch(t, []string{"__start__>first", "first>second", "second>review"}, edges)
	for _, ch := range d.Channels {
		if ch.Name == "messages" {
			assert.Equal(t, "[]llm.Message", ch.Type)
		}
	}
}

func TestTheNextRunUsesAStoredAnswer(t *testing.T) {
	t.Parallel()
	store := memcheckpoint.New(memcheckpoint.Options{})
	thread := program(t, graph.Options{Checkpoints: store}).Thread("t")
	snap, err := thread.Invoke(t.Context(), messages.Put(messageID(llm.User("hi"), "m1")))
	require.NoError(t, err)
	require.Len(t, snap.Pauses, 1)

	require.ErrorIs(t, stored.Answer(t.Context(), store, "t", "other", json.RawMessage("true")), stored.ErrNoQuestion)
	lease, err := store.Lease(t.Context(), "t")
	require.NoError(t, err)
	require.ErrorIs(t, stored.Answer(t.Context(), store, "t", snap.Pauses[0].ID, json.RawMessage("true")), checkpoint.ErrConflict)
	require.NoError(t, lease.Release(t.Context()))

	require.NoError(t, stored.Answer(t.Context(), store, "t", snap.Pauses[0].ID, json.RawMessage("true")))
	require.ErrorIs(t, stored.Answer(t.Context(), store, "t", snap.Pauses[0].ID, json.RawMessage("true")), stored.ErrNoQuestion, "it has an answer")
	snap, err = thread.Invoke(t.Context())
	require.NoError(t, err)
	assert.True(t, snap.Done())
	assert.Equal(t, "done", messages.Get(snap)[len(messages.Get(snap))-1].Text())
}

// An answer is replaced only while the task that asked has neither a result nor a failure.
func TestAnAnswerThatANodeHasUsedIsNotReplaced(t *testing.T) {
	t.Parallel()
	cups, store := state.Last[int]("cups"), memcheckpoint.New(memcheckpoint.Options{})
	ask := graph.NewInterrupt[map[string]json.RawMessage, int]("cups")
	fails := true
	b := graph.New("counts", cups)
	b.Node("ask", func(ctx context.Context, _ state.View) (state.Update, error) {
		n, err := ask.Wait(ctx, map[string]json.RawMessage{"schema": json.RawMessage(`{"type":"integer"}`)})
		if err == nil && fails {
			err = errors.New("the kettle is empty")
		}
		return state.Update{cups.Put(n)}, err
	})
	b.Edge(graph.Start, "ask")
	g, err := b.Compile(graph.Options{Checkpoints: store})
	require.NoError(t, err)
	th, ctx := g.Thread("t"), t.Context()
	snap, err := th.Invoke(ctx, graph.Begin())
	require.NoError(t, err)
	question := snap.Pauses[0].ID
	answered := func() (ids []string) {
		c, err := store.Get(ctx, checkpoint.Key{Thread: "t"})
		require.NoError(t, err)
		for id := range stored.Answered(&c) {
			ids = append(ids, id)
		}
		return ids
	}
	require.ErrorIs(t, stored.Replace(ctx, store, "t", question, json.RawMessage("1")), stored.ErrNoAnswer, "the question is open")
	require.NoError(t, stored.Answer(ctx, store, "t", question, json.RawMessage("1")))
	assert.Equal(t, []string{question}, answered())
	require.ErrorContains(t, stored.Replace(ctx, store, "t", question, json.RawMessage("2.5")), "does not fit the question")
	require.NoError(t, stored.Replace(ctx, store, "t", question, json.RawMessage("2")))
	require.NoError(t, stored.Replace(ctx, store, "t", question, json.RawMessage("3")))
	_, err = th.Invoke(ctx)
	require.ErrorContains(t, err, "kettle")
	assert.Empty(t, answered())
	require.ErrorIs(t, stored.Replace(ctx, store, "t", question, json.RawMessage("4")), stored.ErrNoAnswer)
	fails = false
	snap, err = th.Invoke(ctx)
	require.NoError(t, err)
	assert.Equal(t, 3, cups.Get(snap))
}

// JSON Schema accepts 2.0 as an integer, but encoding/json does not. So the answer 2.0 is stored as 2.
func TestAStoredAnswerHasTheFormThatTheNodeDecodes(t *testing.T) {
	t.Parallel()
	cups, store := state.Last[int]("cups"), memcheckpoint.New(memcheckpoint.Options{})
	ask := graph.NewInterrupt[map[string]json.RawMessage, int]("cups")
	b := graph.New("counts", cups)
	b.Node("ask", func(ctx context.Context, _ state.View) (state.Update, error) {
		n, err := ask.Wait(ctx, map[string]json.RawMessage{"schema": json.RawMessage(`{"type":"integer"}`)})
		return state.Update{cups.Put(n)}, err
	})
	b.Edge(graph.Start, "ask")
	g, err := b.Compile(graph.Options{Checkpoints: store})
	require.NoError(t, err)
	snap, err := g.Thread("t").Invoke(t.Context(), graph.Begin())
	require.NoError(t, err)
	require.Len(t, snap.Pauses, 1)
	require.ErrorContains(t, stored.Answer(t.Context(), store, "t", snap.Pauses[0].ID, json.RawMessage("2.5")), "does not fit the question")
	require.NoError(t, stored.Answer(t.Context(), store, "t", snap.Pauses[0].ID, json.RawMessage("2.0")))
	snap, err = g.Thread("t").Invoke(t.Context())
	require.NoError(t, err)
	assert.Equal(t, 2, cups.Get(snap))
}

func TestAGraphFromCheckpointsCannotRun(t *testing.T) {
	t.Parallel()
	store := memcheckpoint.New(memcheckpoint.Options{})
	g := program(t, graph.Options{Checkpoints: store, PauseBefore: []string{"first"}})
	_, err := g.Thread("t").Invoke(t.Context(), topic.Put("x"))
	require.NoError(t, err)
	read, err := stored.Graph(t.Context(), store, "t")
	require.NoError(t, err)
	_, err = read.Thread("t").Invoke(t.Context())
	require.ErrorIs(t, err, stored.ErrNoCode)
}

func TestAThreadWithoutCheckpointsHasAGraph(t *testing.T) {
	t.Parallel()
	g, err := stored.Graph(t.Context(), memcheckpoint.New(memcheckpoint.Options{}), "none")
	require.NoError(t, err)
	assert.Len(t, g.Describe().Nodes, 1)
}

// TestTheFirstUpdatesOfChannelsAreRead proves that Graph reads the first update of a channel, if a finished task made
// it and another task of the superstep failed.
func TestTheFirstUpdatesOfChannelsAreRead(t *testing.T) {
	t.Parallel()
	for name, write := range map[string]state.Write{
		"messages": messages.Put(messageID(llm.Assistant("hello"), "m2")), "items": items.Put(item{"a", 1}), "lines": lines.Put("one"),
		"tags": tags.Put("x"), "prices": prices.Put(map[string]float64{"tea": 1.5}), "total": total.Put(4), "topic": topic.Put("ships"),
		"mood": mood.Put("calm"), "due": due.Put(new("today")), "best": best.Put(7), "joined": joined.Put("a"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := memcheckpoint.New(memcheckpoint.Options{})
			b := graph.New("program", messages, items, lines, tags, prices, total, topic, mood, due, best, joined)
			b.Node("write", func(context.Context, state.View) (state.Update, error) { return state.Update{write}, nil })
			b.Node("fail", func(context.Context, state.View) (state.Update, error) { return nil, errors.New("no") })
			b.Edge(graph.Start, "write")
			b.Edge(graph.Start, "fail")
			g, err := b.Compile(graph.Options{Checkpoints: store})
			require.NoError(t, err)
			_, err = g.Thread("t").Invoke(t.Context(), graph.Begin())
			require.Error(t, err)
			want, err := g.Thread("t").Snapshot(t.Context())
			require.NoError(t, err)
			read, err := stored.Graph(t.Context(), store, "t")
			require.NoError(t, err)
			got, err := read.Thread("t").Snapshot(t.Context())
			require.NoError(t, err)
			shown := values(t, want.View)[name]
			if name == "lines" { // a stored update does not show that it is an element of a list
				shown = `"one"`
			}
			assert.Equal(t, shown, values(t, got.View)[name])
		})
	}
}
