package graph_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

// names maps the name of a node in the old version to its name in the new version.
type names map[string]string

func (n names) of(name string) string {
	if now, ok := n[name]; ok {
		return now
	}
	return name
}

// A version adds nodes and edges to a builder, with the names of n.
type version func(t *testing.T, b *graph.Builder, n names)

func (v version) compile(t *testing.T, s checkpoint.Store, n, migrations names, more ...func(*graph.Options)) *graph.Graph {
	b := graph.New("versioned", trail, total, note, item)
	v(t, b, n)
	o := graph.Options{Checkpoints: s, Migrations: graph.Migrations{Nodes: migrations}}
	for _, m := range more {
		m(&o)
	}
	return compile(t, b, o)
}

// A migrationCase describes a thread that the old version of a graph leaves unfinished
// and the new version completes. The keys of rename are the old names.
type migrationCase struct {
	version version
	rename  names
	options graph.RunOptions // the options of the run with the old version
	finish  func(t *testing.T, th *graph.Thread) *graph.Snapshot
	want    []string
}

// resume resumes a thread without questions.
func resume(t *testing.T, th *graph.Thread) *graph.Snapshot { return done(t, th) }

// answerAll answers the open questions of a thread by id until there are none.
func answerAll(t *testing.T, th *graph.Thread) *graph.Snapshot {
	t.Helper()
	snap := snapshot(t, th)
	for i := 0; len(snap.Pauses) > 0; i++ {
		require.Less(t, i, 5, "it asks again and again")
		var answers []state.Write
		for _, q := range pending(t, ask, snap) {
			answers = append(answers, ask.Answer(q.ID, "answer to "+q.Prompt))
		}
		snap = invoke(t, th, answers...)
	}
	require.True(t, snap.Done())
	return snap
}

// migrationCases maps the kind of data that is stored under the former name to a case.
var migrationCases = map[string]migrationCase{
	"due node": {
		version: func(_ *testing.T, b *graph.Builder, n names) {
			b.Node("a", mark("a"))
			b.Node(n.of("b"), mark("b"))
			b.Node("c", mark("c"))
			chain(b, "a", n.of("b"), "c")
		},
		rename:  names{"b": "new b"},
		options: graph.RunOptions{PauseAfter: []string{"a"}},
		finish:  resume,
		want:    []string{"a", "b", "c"},
	},
	"result and question": {
		version: parallel, rename: names{"work": "zz", "ask": "aa"},
		finish: answerAll, want: []string{"answer to ?", "work", "target"},
	},
	"result with a target": {
		version: parallel, rename: names{"target": "aim", "work": "a work"},
		finish: answerAll, want: []string{"work", "answer to ?", "target"},
	},
	"second question": {
		version: twoQuestions, rename: names{"ask": "aa"},
		finish: answerAll, want: []string{"answer to first", "answer to second", "once 1"},
	},
	"second question under a later name": {
		version: twoQuestions, rename: names{"ask": "zz"},
		finish: answerAll, want: []string{"answer to first", "answer to second", "once 1"},
	},
	"sends": {
		version: func(_ *testing.T, b *graph.Builder, n names) {
			b.Node("fan", func(context.Context, state.View) (state.Update, error) {
				var out state.Update
				for i := range 3 {
					out = append(out, graph.Send(n.of("worker"), item.Put(i)))
				}
				return out, nil
			})
			b.Node(n.of("worker"), func(ctx context.Context, v state.View) (state.Update, error) {
				if item.Get(v) != 1 {
					return state.Update{trail.Put(fmt.Sprint(item.Get(v)))}, nil
				}
				return asks("one")(ctx, v)
			})
			b.Destinations("fan", n.of("worker"))
			chain(b, "fan")
		},
		rename: names{"worker": "labourer"}, finish: answerAll, want: []string{"0", "answer to one", "2"},
	},
	"join": {
		version: joining, rename: names{"left": "zz left", "end": "the end"},
		finish: answerAll, want: []string{"left", "answer to ?", "right", "end"},
	},
	"join of which one source is renamed": {
		version: joining, rename: names{"right": "a right"},
		finish: answerAll, want: []string{"left", "answer to ?", "right", "end"},
	},
	"deferred node": {
		version: func(_ *testing.T, b *graph.Builder, n names) {
			b.Node("a", mark("a"))
			b.Node(n.of("late"), mark("late"))
			b.Node("ask", asks("?"))
			b.Node("last", mark("last"))
			b.Defer(n.of("late"))
			b.Edge(graph.Start, "a")
			b.Edge("a", n.of("late"))
			b.Edge("a", "ask")
			b.Edge("ask", "last")
		},
		rename: names{"late": "at last"}, finish: answerAll, want: []string{"a", "answer to ?", "last", "late"},
	},
	"subgraph": {
		version: around(graph.SubgraphOptions{}), rename: names{"sub": "a sub"},
		finish: answerAll, want: []string{"a", "b", "answer to ?", "z", "target"},
	},
	"persistent subgraph": {
		version: around(graph.SubgraphOptions{Persist: "kept"}), rename: names{"sub": "zub", "target": "aim"},
		finish: answerAll, want: []string{"a", "b", "answer to ?", "z", "target"},
	},
	"nested subgraphs": {
		version: func(t *testing.T, b *graph.Builder, n names) {
			inner := graph.New("inner", trail, turns)
			inner.Node("a", marks("a"))
			inner.Node(n.of("ask"), asks("?"))
			chain(inner, "a", n.of("ask"))
			middle := graph.New("middle", trail)
			middle.Subgraph(n.of("inner"), compile(t, inner, graph.Options{Migrations: n.migrations("ask")}))
			chain(middle, n.of("inner"))
			b.Subgraph(n.of("outer"), compile(t, middle, graph.Options{Migrations: n.migrations("inner")}))
			chain(b, n.of("outer"))
		},
		rename: names{"ask": "approve", "inner": "a inner", "outer": "zouter"},
		finish: answerAll, want: []string{"a", "answer to ?"},
	},
	"goto of a subgraph": {
		version: func(t *testing.T, b *graph.Builder, n names) {
			sub := graph.New("sub", trail)
			sub.Node("leave", func(context.Context, state.View) (state.Update, error) {
				return state.Update{graph.ToParent(graph.Goto(n.of("target"))), graph.ToParent(graph.Send(n.of("target"), note.Put("sent")))}, nil
			})
			sub.Node("ask", asks("?"))
			sub.Edge(graph.Start, "leave")
			sub.Edge(graph.Start, "ask")
			b.Subgraph("sub", compile(t, sub, graph.Options{}))
			b.Node(n.of("target"), func(_ context.Context, v state.View) (state.Update, error) {
				return state.Update{trail.Put("target " + note.Get(v))}, nil
			})
			b.Destinations("sub", n.of("target"))
			chain(b, "sub")
		},
		rename: names{"target": "aim"}, finish: answerAll, want: []string{"answer to ?", "target go", "target sent"},
	},
}

// migrations returns the migrations of the nodes in olds, the old names of a subgraph's nodes. It
// leaves out nodes whose names did not change.
func (n names) migrations(olds ...string) graph.Migrations {
	m := graph.Migrations{Nodes: names{}}
	for _, old := range olds {
		if now, ok := n[old]; ok {
			m.Nodes[old] = now
		}
	}
	return m
}

// parallel adds a node that finishes and chooses a target, and in the same superstep a
// node that asks a question.
func parallel(_ *testing.T, b *graph.Builder, n names) {
	b.Node(n.of("work"), func(context.Context, state.View) (state.Update, error) {
		return state.Update{trail.Put("work"), graph.Goto(n.of("target"))}, nil
	})
	b.Node(n.of("ask"), asks("?"))
	b.Node(n.of("target"), mark("target"))
	b.Destinations(n.of("work"), n.of("target"))
	b.Edge(graph.Start, n.of("work"))
	b.Edge(graph.Start, n.of("ask"))
}

// twoQuestions adds a node that asks two questions after a side effect.
func twoQuestions(_ *testing.T, b *graph.Builder, n names) {
	effects := 0
	b.Node(n.of("ask"), func(ctx context.Context, _ state.View) (state.Update, error) {
		once, err := graph.Once(ctx, "effect", func(context.Context) (int, error) { effects++; return effects, nil })
		if err != nil {
			return nil, err
		}
		first, err := ask.WaitKey(ctx, "1", "first")
		if err != nil {
			return nil, err
		}
		second, err := ask.WaitKey(ctx, "2", "second")
		return state.Update{trail.Put(first, second, fmt.Sprint("once ", once))}, err
	})
	chain(b, n.of("ask"))
}

// joining adds a join of which one source has completed while the other one waits.
func joining(_ *testing.T, b *graph.Builder, n names) {
	b.Node(n.of("left"), mark("left"))
	b.Node("hop", func(context.Context, state.View) (state.Update, error) { return nil, nil })
	b.Node("ask", asks("?"))
	b.Node(n.of("right"), mark("right"))
	b.Node(n.of("end"), mark("end"))
	b.Edge(graph.Start, n.of("left"))
	b.Edge(graph.Start, "hop")
	b.Edge("hop", "ask")
	b.Edge("ask", n.of("right"))
	b.Join(n.of("end"), n.of("left"), n.of("right"))
}

// around adds a subgraph that asks a question, and a node after it.
func around(o graph.SubgraphOptions) version {
	return func(t *testing.T, b *graph.Builder, n names) {
		b.SubgraphWith(n.of("sub"), asker(t), o)
		b.Node(n.of("target"), mark("target"))
		chain(b, n.of("sub"), n.of("target"))
	}
}

// TestMigratedNodeResumesThread proves that a thread with data under the former name of a
// node ends as if the node had not been renamed.
func TestMigratedNodeResumesThread(t *testing.T) {
	t.Parallel()
	for name, c := range migrationCases {
		for store, open := range stores {
			for _, mode := range modes {
				t.Run(fmt.Sprint(name, " ", store, " ", mode), func(t *testing.T) {
					t.Parallel()
					s := open(t)
					options := c.options
					options.Durability = &mode
					before := c.version.compile(t, s, nil, nil).Thread("t").With(options)
					invoke(t, before, note.Put("go"))

					own := names{} // the renamed nodes of the root graph
					for old, now := range c.rename {
						probe := graph.New("probe", trail, total, note, item)
						c.version(t, probe, c.rename)
						if _, err := probe.Compile(graph.Options{Migrations: graph.Migrations{Nodes: names{old: now}}}); err == nil {
							own[old] = now
						}
					}
					after := in(c.version.compile(t, s, c.rename, own).Thread("t"), mode)
					for _, task := range snapshot(t, after).Tasks {
						require.NotContains(t, own, task.Node)
					}
					for _, p := range snapshot(t, after).Pauses {
						require.NotContains(t, own, p.Node)
					}
					require.Equal(t, c.want, trail.Get(c.finish(t, after)))
				})
			}
		}
	}
}

// TestMissingMigrationIsReported proves that without a migration the run fails, that its
// error contains the necessary migration, and that the thread does not change.
func TestMissingMigrationIsReported(t *testing.T) {
	eachStore(t, func(t *testing.T, s checkpoint.Store) {
		for _, name := range []string{"due node", "result and question", "sends", "deferred node", "subgraph"} {
			c := migrationCases[name]
			invoke(t, c.version.compile(t, s, nil, nil).Thread(name).With(c.options), note.Put("go"))
			g := c.version.compile(t, s, c.rename, nil)
			_, err := g.Thread(name).Invoke(t.Context())
			require.ErrorIs(t, err, graph.ErrUnknownNode, name)
			require.ErrorContains(t, err, `compile graph "versioned" with Migrations{Nodes: map[string]string{"`)
			old := ""
			for old = range c.rename {
				if name != "result and question" {
					require.ErrorContains(t, err, fmt.Sprintf("%q: its present name", old))
				}
			}
			own := names{}
			for old, now := range c.rename {
				own[old] = now
			}
			require.Equal(t, c.want, trail.Get(c.finish(t, c.version.compile(t, s, c.rename, own).Thread(name))))
		}
	})
}

// TestMigrationOfALostJoinIsLogged proves that a stored join which the graph no longer
// has is logged and is not an error, since the join may have been removed on purpose.
func TestMigrationOfALostJoinIsLogged(t *testing.T) {
	t.Parallel()
	s := memcheckpoint.New(memcheckpoint.Options{})
	invoke(t, version(joining).compile(t, s, nil, nil).Thread("t"), note.Put("go"))
	rename := names{"left": "links"}
	var log bytes.Buffer
	logs := func(o *graph.Options) { o.Logger = slog.New(slog.NewTextHandler(&log, nil)) }
	g := version(joining).compile(t, s, rename, nil, logs)
	_, err := g.Thread("t").Invoke(t.Context())
	require.NoError(t, err)
	require.Contains(t, log.String(), "say so in the graph's Migrations; if its sources changed, schedule its target with Goto")
	require.Contains(t, log.String(), `→end`)
	log.Reset()
	g = version(joining).compile(t, s, rename, rename, logs)
	require.Equal(t, []string{"left", "answer to ?", "right", "end"}, trail.Get(answerAll(t, g.Thread("t"))))
	require.Empty(t, log.String())
}

// TestNodeRenamedTwiceResumes proves that a thread can resume if it was stored under the first
// or the second name of a node that was renamed twice.
func TestNodeRenamedTwiceResumes(t *testing.T) {
	eachStore(t, func(t *testing.T, s checkpoint.Store) {
		second := names{"left": "b left", "right": "b right"}
		third := names{"left": "c left", "right": "c right"}
		invoke(t, version(joining).compile(t, s, nil, nil).Thread("one"), note.Put("go"))
		invoke(t, version(joining).compile(t, s, second, second).Thread("two"), note.Put("go"))
		invoke(t, version(joining).compile(t, s, names{"left": "b left"}, names{"left": "b left"}).Thread("half"), note.Put("go"))
		g := version(joining).compile(t, s, third, names{"left": "c left", "right": "c right", "b left": "c left", "b right": "c right"})
		for _, id := range []string{"one", "two", "half"} {
			require.Equal(t, []string{"left", "answer to ?", "right", "end"}, trail.Get(answerAll(t, g.Thread(id))), id)
		}
	})
}

// TestMigrationKeepsResultsVoided proves that a result which was voided under the new name
// is not restored from the old name.
func TestMigrationKeepsResultsVoided(t *testing.T) {
	eachStore(t, func(t *testing.T, s checkpoint.Store) {
		writes := true
		v := version(func(_ *testing.T, b *graph.Builder, n names) {
			b.Node(n.of("work"), func(context.Context, state.View) (state.Update, error) {
				if writes {
					return state.Update{note.Put("work")}, nil
				}
				return state.Update{trail.Put("work")}, nil
			})
			b.Node("ask", func(ctx context.Context, _ state.View) (state.Update, error) {
				answer, err := ask.Wait(ctx, "?")
				return state.Update{note.Put(answer)}, err
			})
			b.Edge(graph.Start, n.of("work"))
			b.Edge(graph.Start, "ask")
		})
		q := pending(t, ask, invoke(t, v.compile(t, s, nil, nil).Thread("t"), trail.Put("go")))[0].ID
		rename := names{"work": "zz"}
		th := v.compile(t, s, rename, rename).Thread("t")
		_, err := th.Invoke(t.Context(), ask.Answer(q, "yes"))
		require.ErrorContains(t, err, "note", "two tasks write it")
		writes = false
		snap := done(t, th)
		require.Equal(t, "yes", note.Get(snap))
		wantTrail(t, snap, "go", "work")
	})
}

// TestMigrationKeepsIdempotencyKeys proves that a task which failed under the former name
// runs again with the same idempotency key.
func TestMigrationKeepsIdempotencyKeys(t *testing.T) {
	eachStore(t, func(t *testing.T, s checkpoint.Store) {
		var keys []string
		v := version(func(t *testing.T, b *graph.Builder, n names) {
			pay := func(ctx context.Context, _ state.View) (state.Update, error) {
				keys = append(keys, graph.IdempotencyKey(ctx))
				if len(keys) == 1 {
					return nil, errBroken
				}
				return nil, nil
			}
			sub := graph.New("sub", trail)
			sub.Node(n.of("pay"), pay)
			chain(sub, n.of("pay"))
			b.Subgraph(n.of("sub"), compile(t, sub, graph.Options{Migrations: n.migrations("pay")}))
			chain(b, n.of("sub"))
		})
		_, err := v.compile(t, s, nil, nil).Thread("t").Invoke(t.Context(), note.Put("go"))
		require.ErrorIs(t, err, errBroken)
		rename := names{"sub": "billing", "pay": "charge"}
		done(t, v.compile(t, s, rename, names{"sub": "billing"}).Thread("t"))
		require.Len(t, keys, 2)
		require.Equal(t, keys[0], keys[1])
	})
}

// TestMigratedChannelsKeepValues proves that renamed channels keep their values in the state of
// a thread, in stored results, in sends and in subgraphs.
func TestMigratedChannelsKeepValues(t *testing.T) {
	eachStore(t, func(t *testing.T, s checkpoint.Store) {
		for _, mode := range modes {
			version := func(list *state.ListChannel[string], sum *state.Channel[int, int], m graph.Migrations) *graph.Graph {
				sub := graph.New("sub", list, sum)
				sub.Node("inside", func(context.Context, state.View) (state.Update, error) {
					return state.Update{list.Put("inside"), sum.Put(10)}, nil
				})
				sub.Node("asks", func(ctx context.Context, _ state.View) (state.Update, error) {
					answer, err := ask.Wait(ctx, "?")
					return state.Update{list.Put(answer)}, err
				})
				chain(sub, "inside", "asks")
				b := graph.New("channels", list, sum)
				b.Node("fan", func(context.Context, state.View) (state.Update, error) {
					return state.Update{sum.Put(1), list.Put("fan"), graph.Send("worker", sum.Put(3))}, nil
				})
				b.Node("worker", func(_ context.Context, v state.View) (state.Update, error) {
					return state.Update{list.Put(fmt.Sprint("worker ", sum.Get(v))), sum.Put(100)}, nil
				})
				b.Subgraph("sub", compile(t, sub, graph.Options{Migrations: m}))
				b.Destinations("fan", "worker", "sub")
				b.Branch("fan", choose(func(state.View) string { return "sub" }), "sub")
				b.Edge(graph.Start, "fan")
				return compile(t, b, graph.Options{Checkpoints: s, Migrations: m})
			}
			id := mode.String()
			old := version(state.Append[string]("log"), state.Sum[int]("count"), graph.Migrations{})
			q := pending(t, ask, invoke(t, in(old.Thread(id), mode), graph.Begin()))[0].ID
			lines, sum := state.Append[string]("lines"), state.Sum[int]("amount")
			g := version(lines, sum, graph.Migrations{Channels: map[string]string{"log": "lines", "count": "amount"}})
			snap := done(t, in(g.Thread(id), mode), ask.Answer(q, "answer"))
			require.Equal(t, []string{"fan", "inside", "answer", "worker 3"}, lines.Get(snap))
			require.Equal(t, 111, sum.Get(snap))
			require.Equal(t, 111, sum.Get(snapshot(t, g.Thread(id))), "read again")
		}
	})
}

// TestMigrationsAreChecked proves that Compile reports each mistake in Migrations.
func TestMigrationsAreChecked(t *testing.T) {
	t.Parallel()
	for want, m := range map[string]graph.Migrations{
		`Migrations say that "old" is now its name`: {Nodes: names{"old": "nobody"}},
		`Migrations say that it is now "b"`:         {Nodes: names{"a": "b"}},
		`"nothing"`:                                 {Channels: names{"old": "nothing"}},
		`"note"`:                                    {Channels: names{"note": "trail"}},
	} {
		b := graph.New("g", trail, note)
		b.Node("a", mark("a"))
		b.Node("b", mark("b"))
		chain(b, "a", "b")
		_, err := b.Compile(graph.Options{Migrations: m})
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, "igration")
		var be *graph.BuildError
		require.ErrorAs(t, err, &be)
	}
}
