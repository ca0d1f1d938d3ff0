package graph_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

// amounts returns a channel. If strict is true, it returns an error for negative numbers.
func amounts(strict bool) *state.Channel[int, int] {
	return state.NewChannel("amount", func(old, n int) (int, error) {
		if strict && n < 0 {
			return old, errors.New("a negative amount")
		}
		return old + n, nil
	})
}

// sender returns a graph that sends an amount from its first node or, if branch is true,
// from the branch of that node.
func sender(t *testing.T, s checkpoint.Store, amount *state.Channel[int, int], n int, branch, sibling bool, o graph.Options) *graph.Graph {
	b := graph.New("sender", trail, amount)
	send := state.Update{graph.Send("work", amount.Put(n))}
	if branch {
		b.Node("first", mark("first"))
		b.BranchMany("first", func(state.View) (state.Update, error) { return send, nil }, "work")
	} else {
		b.Node("first", func(context.Context, state.View) (state.Update, error) { return send, nil })
		b.Destinations("first", "work")
	}
	b.Node("work", func(_ context.Context, v state.View) (state.Update, error) {
		return state.Update{trail.Put("work")}, nil
	})
	b.Edge(graph.Start, "first")
	if sibling {
		b.Node("sibling", mark("sibling"))
		b.Edge(graph.Start, "sibling")
	}
	o.Checkpoints = s
	return compile(t, b, o)
}

// TestInvalidSendFailsItsSender proves that a Send with an invalid write fails the task
// that sent it, and does not change the thread.
func TestInvalidSendFailsItsSender(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ branch, sibling, thread bool }{
		"update": {thread: true}, "branch": {thread: true, branch: true},
		"update beside a sibling": {thread: true, sibling: true}, "branch beside a sibling": {thread: true, branch: true, sibling: true},
		"without a thread": {}, "branch without a thread": {branch: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			amount := amounts(true)
			var s checkpoint.Store
			if c.thread {
				s = newStore()
			}
			g := sender(t, s, amount, -1, c.branch, c.sibling, graph.Options{})
			invoke := func() (*graph.Snapshot, error) { return g.Invoke(t.Context(), trail.Put("in")) }
			if c.thread {
				invoke = func() (*graph.Snapshot, error) { return g.Thread("t").Invoke(t.Context(), trail.Put("in")) }
			}
			_, err := invoke()
			var failed *graph.NodeError
			require.ErrorAs(t, err, &failed)
			assert.Equal(t, "first", failed.Node)
			wantText(t, err, "send to work", `"amount"`, "a negative amount")
			if !c.thread {
				return
			}
			snap := snapshot(t, g.Thread("t"))
			assert.Equal(t, []string{"first"}, snap.Next, "the sender is due again")
			assert.NotContains(t, trail.Get(snap), "first")
			for _, info := range history(t, g.Thread("t"), graph.HistoryQuery{}) {
				assert.NotContains(t, info.Next, "work")
			}
			mended := sender(t, s, amount, 1, c.branch, c.sibling, graph.Options{})
			assert.Contains(t, trail.Get(done(t, mended.Thread("t"))), "work")
		})
	}
}

// TestThreadWithInvalidStoredSendIsUsable proves that a thread with a stored Send that
// has become invalid can be read and edited and accepts new input. Old versions of the
// engine could store such a Send.
func TestThreadWithInvalidStoredSendIsUsable(t *testing.T) {
	t.Parallel()
	for _, unfinished := range []bool{false, true} {
		name := "due"
		if unfinished {
			name = "in the result of a task whose sibling failed"
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onStores(t, func(t *testing.T, s checkpoint.Store) { storedSend(t, s, unfinished) })
		})
	}
}

func storedSend(t *testing.T, s checkpoint.Store, unfinished bool) {
	old := sender(t, s, amounts(false), -1, false, false, graph.Options{PauseAfter: []string{"first"}})
	strict := amounts(true)
	now := sender(t, s, strict, 1, false, false, graph.Options{})
	if unfinished {
		build := func(amount *state.Channel[int, int], fails bool) *graph.Graph {
			b := graph.New("sender", trail, amount)
			b.Node("first", func(context.Context, state.View) (state.Update, error) {
				return state.Update{graph.Send("work", amount.Put(-1))}, nil
			})
			b.Destinations("first", "work")
			b.Node("work", mark("work"))
			b.Node("sibling", func(context.Context, state.View) (state.Update, error) {
				if fails {
					return nil, errBroken
				}
				return nil, nil
			})
			b.Edge(graph.Start, "first")
			b.Edge(graph.Start, "sibling")
			return compile(t, b, graph.Options{Checkpoints: s})
		}
		old, now = build(amounts(false), true), build(strict, false)
	}
	for _, id := range []string{"read", "input", "update"} {
		_, err := old.Thread(id).Invoke(t.Context(), trail.Put("in"))
		if unfinished {
			require.ErrorIs(t, err, errBroken)
		} else {
			require.NoError(t, err)
		}
	}
	_, err := now.Thread("read").Invoke(t.Context())
	var failed *graph.NodeError
	require.ErrorAs(t, err, &failed)
	assert.Equal(t, "work[0]", failed.Task)
	snap := snapshot(t, now.Thread("read"))
	assert.False(t, snap.Done())
	assert.Equal(t, []string{"work"}, snap.Next)
	if assert.Len(t, snap.Tasks, 1) {
		assert.Contains(t, snap.Tasks[0].Err, "a negative amount")
	}
	snap, err = now.Thread("update").Update(t.Context(), "work", trail.Put("by hand"))
	require.NoError(t, err)
	assert.True(t, snap.Done())
	if !unfinished {
		wantTrail(t, done(t, now.Thread("input"), trail.Put("again")), "in", "again", "work")
	}
}

// TestUnstorableValueFailsItsTask proves that a task fails if it writes a value that
// would change when it is stored, and that the error names the node and the channel. A
// value of a wrong dynamic type fails the task without a thread too.
func TestUnstorableValueFailsItsTask(t *testing.T) {
	t.Parallel()
	free := state.Last[any]("free")
	text := state.Last[string]("text")
	for name, c := range map[string]struct {
		write   state.Write
		channel string
		stored  bool // only a run with a thread fails
	}{
		"an int in an any":           {free.Put(1), "free", false},
		"an int in a map in an any":  {free.Put(map[string]any{"n": 1}), "free", false},
		"a string that is not UTF-8": {text.Put("\xff"), "text", true},
	} {
		for _, sibling := range []bool{false, true} {
			for _, thread := range []bool{false, true} {
				if c.stored && !thread {
					continue
				}
				t.Run(words(name, "sibling", sibling, "thread", thread), func(t *testing.T) {
					t.Parallel()
					b := graph.New("values", trail, free, text)
					b.Node("bad", func(context.Context, state.View) (state.Update, error) {
						return state.Update{c.write}, nil
					})
					b.Edge(graph.Start, "bad")
					if sibling {
						b.Node("good", mark("good"))
						b.Edge(graph.Start, "good")
					}
					g := compile(t, b, graph.Options{Checkpoints: newStore()})
					var err error
					if thread {
						_, err = g.Thread("t").Invoke(t.Context(), trail.Put("in"))
					} else {
						_, err = g.Invoke(t.Context(), trail.Put("in"))
					}
					var failed *graph.NodeError
					require.ErrorAs(t, err, &failed)
					assert.Equal(t, "bad", failed.Node)
					var channel *state.ChannelError
					require.ErrorAs(t, err, &channel)
					assert.Equal(t, c.channel, channel.Channel)
				})
			}
		}
	}
}

// TestBranchErrorFailsItsNode proves that the error of a branch fails its node, and that
// the error of a branch after Start fails the run before its input is stored.
func TestBranchErrorFailsItsNode(t *testing.T) {
	t.Parallel()
	for _, many := range []bool{false, true} {
		for _, from := range []string{graph.Start, "a"} {
			t.Run(words("many", many, "from", from), func(t *testing.T) {
				t.Parallel()
				onStores(t, func(t *testing.T, s checkpoint.Store) {
					g := build(t, s, func(b *graph.Builder) {
						b.Node("a", mark("a"))
						b.Node("b", mark("b"))
						if from != graph.Start {
							b.Edge(graph.Start, "a")
						} else {
							b.Destinations(graph.Start, "a")
						}
						if many {
							b.BranchMany(from, func(state.View) (state.Update, error) { return nil, errBroken }, "b")
						} else {
							b.Branch(from, func(state.View) (string, error) { return "", errBroken }, "b")
						}
					})
					th := g.Thread("t")
					_, err := th.Invoke(t.Context(), trail.Put("in"))
					require.ErrorIs(t, err, errBroken)
					if from == graph.Start {
						_, err = th.Snapshot(t.Context())
						require.ErrorIs(t, err, checkpoint.ErrNotFound, "the input is not stored")
						return
					}
					var failed *graph.NodeError
					require.ErrorAs(t, err, &failed)
					assert.Equal(t, "a", failed.Node)
					snap := snapshot(t, th)
					assert.Equal(t, []string{"a"}, snap.Next)
					wantTrail(t, snap, "in")
				})
			})
		}
	}
}

// likeEvent has all exported methods of Event.
type likeEvent struct{}

func (likeEvent) At() graph.Place { return graph.Place{} }
func (likeEvent) String() string  { return "" }

// placed embeds Place, like the events of package graph.
type placed struct{ graph.Place }

func (placed) String() string { return "" }

// TestEventsAreSealed proves that other packages cannot implement Event, so that a switch
// over the types of events can be complete.
func TestEventsAreSealed(t *testing.T) {
	t.Parallel()
	_, is := any(likeEvent{}).(graph.Event)
	require.False(t, is)
	_, is = any(placed{}).(graph.Event)
	require.False(t, is, "a type with a place")
	_, is = any(graph.Emitted{}).(graph.Event)
	require.True(t, is)
}
