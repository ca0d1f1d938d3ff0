package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/checkpoint/pgcheckpoint"
	"github.com/weft-go/weft/checkpoint/sqlitecheckpoint"
	"github.com/weft-go/weft/checkpoint/supacheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/internal/pgtest"
	"github.com/weft-go/weft/internal/supatest"
	"github.com/weft-go/weft/internal/uuid"
	"github.com/weft-go/weft/state"
)

// A place is a store of threads with the flags that name it.
type place struct {
	store checkpoint.Store
	flags []string
}

// places returns an empty store of each kind.
func places(t *testing.T) map[string]place {
	t.Helper()
	file := filepath.Join(t.TempDir(), "threads.db")
	s, err := sqlitecheckpoint.Open(t.Context(), file, sqlitecheckpoint.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.Close()) })
	url, schema := pgtest.DirectURL(t), pgtest.Schema(t)
	p, err := pgcheckpoint.Open(t.Context(), url, pgcheckpoint.Options{Schema: schema})
	require.NoError(t, err)
	t.Cleanup(p.Close)
	sealed := filepath.Join(t.TempDir(), "sealed.db")
	inner, err := sqlitecheckpoint.Open(t.Context(), sealed, sqlitecheckpoint.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, inner.Close()) })
	e, err := checkpoint.Encrypted(inner, checkpoint.KeyRing{Active: "2026", Keys: map[string][]byte{"2026": key(1)}})
	require.NoError(t, err)
	return map[string]place{
		"SQLite":     {s, []string{"-db", file}},
		"encrypted":  {e, []string{"-db", sealed, "-keys", keyFile(t, "2026", 1)}},
		"PostgreSQL": {p, []string{"-db", url, "-schema", schema}},
		"Supabase":   supabase(t, "weft_threads"),
	}
}

// migrating guards the migration of a schema that tests share. Each test has another user.
var migrating sync.Mutex

// supabase returns the threads of a new user of a Supabase project.
func supabase(t *testing.T, schema string) place {
	t.Helper()
	url, user := supatest.Database(t, nil), uuid.New()
	config, err := pgcheckpoint.PoolConfig(url, pgcheckpoint.Detect)
	require.NoError(t, err)
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	o := supacheckpoint.Options{Checkpoint: pgcheckpoint.Options{Schema: schema}}
	migrating.Lock()
	err = supacheckpoint.Migrate(t.Context(), pool, o)
	migrating.Unlock()
	require.NoError(t, err)
	s, err := supacheckpoint.New(t.Context(), pool, o)
	require.NoError(t, err)
	own, err := s.For(user)
	require.NoError(t, err)
	return place{own, []string{"-db", url, "-schema", schema, "-tenant", user}}
}

// in replaces "-db threads.db" by the flags of the place.
func (p place) in(args ...string) []string {
	var out []string
	for i := 0; i < len(args); i++ {
		if args[i] == "-db" && args[i+1] == "threads.db" {
			out, i = append(out, p.flags...), i+1
			continue
		}
		out = append(out, args[i])
	}
	return out
}

// each runs a subtest with a filled store of each kind.
func each(t *testing.T, fn func(t *testing.T, p place, m *terminal)) {
	t.Helper()
	for name, p := range places(t) {
		t.Run(name, func(t *testing.T) {
			fill(t, p.store)
			m := newTerminal(t, nil)
			m.place = &p
			fn(t, p, m)
		})
	}
}

func TestThreadsAreListedByStatusNodeAndAge(t *testing.T) {
	t.Parallel()
	each(t, func(_ *testing.T, _ place, m *terminal) {
		m.run("threads", "list", "-db", "threads.db")
		m.run("threads", "list", "-db", "threads.db", "-status", "paused,failed")
		m.run("threads", "list", "-db", "threads.db", "-status", "paused", "-node", "check")
		m.run("threads", "list", "-db", "threads.db", "-node", "brew", "-older", "1m")
		m.run("threads", "list", "-db", "threads.db", "-limit", "2")
		m.golden("list")
		m.run("threads", "list", "-db", "threads.db", "-newer", "1m")
		m.run("threads", "list", "-db", "threads.db", "-after", "order-2", "-json")
		m.run("threads", "list", "-db", "threads.db", "-status", "broken")
		m.golden("list_json")
	})
}

// A list by status has each thread of this status once, page by page.
func TestAListByStatusHasEachThreadOnce(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, p place, m *terminal) {
		for _, id := range []string{"order-5", "order-6", "order-7"} {
			_, err := shop(t, p.store).Thread(id).Invoke(t.Context(), cups.Put(20))
			require.NoError(t, err)
		}
		require.NoError(t, p.store.DeleteThread(t.Context(), "order-6"))
		code, _, errs := m.call("threads", "answer", "order-5", `{"approved":true}`, "-db", "threads.db")
		require.Equal(t, exitDone, code, errs)
		m.run("threads", "list", "-status", "paused", "-limit", "1", "-db", "threads.db")
		m.run("threads", "list", "-status", "paused", "-limit", "1", "-after", "check/order-2", "-db", "threads.db")
		m.run("threads", "list", "-status", "paused", "-prefix", "order-7", "-newer", "6m", "-db", "threads.db")
		m.run("threads", "list", "-status", "failed", "-node", "check", "-db", "threads.db")
		m.golden("list_status")
	})
}

// A server does not support -prefix and -after, so the command sends no request.
func TestAListOfAServerRefusesTheFlagsOfADatabase(t *testing.T) {
	t.Parallel()
	for _, flag := range []string{"-prefix", "-after"} {
		code, _, errs := newTerminal(t, nil).call("threads", "list", "-server", "http://127.0.0.1:1", flag, "order")
		assert.Equal(t, exitUsage, code)
		assert.Contains(t, errs, "weft threads list: "+flag+" needs -db: a server does not search by it\n")
	}
}

// A thread that waits at two nodes is listed once, also if a page ends between its nodes.
func TestPagesOfAListByStatusHaveEachThreadOnce(t *testing.T) {
	t.Parallel()
	for name, p := range places(t) {
		t.Run(name, func(t *testing.T) {
			b := graph.New("pair", cups)
			for _, node := range []string{"a", "b"} {
				b.Node(node, func(ctx context.Context, _ state.View) (state.Update, error) {
					_, err := approve.Wait(ctx, prompt{node, json.RawMessage(approvalSchema)})
					return nil, err
				})
				b.Edge(graph.Start, node)
			}
			g, err := b.Compile(graph.Options{Checkpoints: p.store, Version: "v7"})
			require.NoError(t, err)
			for _, id := range []string{"t1", "t2", "t3"} {
				_, err := g.Thread(id).Invoke(t.Context(), cups.Put(1))
				require.NoError(t, err)
			}
			m := newTerminal(t, nil)
			m.place = &p
			var listed []string
			for next := []string{}; next != nil; {
				code, out, errs := m.call(append([]string{"threads", "list", "-status", "paused", "-limit", "1", "-json", "-db", "threads.db"}, next...)...)
				require.Equal(t, exitDone, code, errs)
				for line := range strings.Lines(out) {
					var row threadRow
					require.NoError(t, json.Unmarshal([]byte(line), &row))
					listed = append(listed, row.ID)
				}
				next = nil
				if _, more, ok := strings.Cut(errs, "-after "); ok {
					place, _, _ := strings.Cut(more, " ")
					next = []string{"-after", place}
				}
				require.LessOrEqual(t, len(listed), 6)
			}
			assert.Equal(t, []string{"t1", "t2", "t3"}, listed)
		})
	}
}

func TestAThreadIsShown(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, _ place, m *terminal) {
		m.run("threads", "show", "order-2", "-db", "threads.db")
		m.run("threads", "show", "order-3", "-db", "threads.db")
		m.golden("show")
		m.run("threads", "show", "order-9", "-db", "threads.db")
		m.golden("show_missing")
		code, out, _ := m.call("threads", "show", "order-2", "-db", "threads.db", "-json")
		require.Equal(t, exitDone, code)
		var v threadView
		require.NoError(t, json.Unmarshal([]byte(out), &v))
		assert.Equal(t, "12", string(v.Values["cups"]))
		require.Len(t, v.Questions, 1)
		assert.JSONEq(t, `{"title":"Brew 12 cups?","schema":`+approvalSchema+`}`, string(v.Questions[0].Prompt))
	})
}

func TestTailPrintsTheLastCheckpointsAndDiffComparesThem(t *testing.T) {
	t.Parallel()
	each(t, func(_ *testing.T, _ place, m *terminal) {
		m.run("threads", "tail", "order-1", "-db", "threads.db", "-follow=false")
		m.run("threads", "diff", "order-1", "-db", "threads.db")
		from := ""
		for id, shown := range m.ids {
			if strings.HasSuffix(shown, "001") { // the first checkpoint
				from = id
			}
		}
		m.run("threads", "diff", "order-1", from, "-db", "threads.db")
		m.golden("diff")
		m.run("threads", "diff", "order-1", from, "-db", "threads.db", "-json")
		m.run("threads", "diff", "order-1", from, from, "-db", "threads.db")
		m.run("threads", "diff", "order-1", "nowhere", "-db", "threads.db")
		m.golden("diff_json")
	})
}

// weft threads tail prints each new checkpoint of a thread. If the user ends the command, its exit status is 0.
func TestTailFollowsAThread(t *testing.T) {
	t.Parallel()
	for name, p := range places(t) {
		t.Run(name, func(t *testing.T) {
			fill(t, p.store)
			ctx, stop := context.WithCancel(t.Context())
			lines := make(chan string, 20)
			code := make(chan int, 1)
			args := p.in("threads", "tail", "order-1", "-db", "threads.db", "-n", "1", "-every", "5ms")
			go func() { code <- run(ctx, args, &streams{noEnv, nil, lineWriter(lines), os.Stderr, time.Now}) }()
			assert.Contains(t, <-lines, "step 2    loop    done")
			_, err := shop(t, p.store).Thread("order-1").Invoke(t.Context(), cups.Put(1))
			require.NoError(t, err)
			assert.Contains(t, <-lines, "step 3    input   due: check")
			assert.Contains(t, <-lines, "step 4    loop    due: brew")
			assert.Contains(t, <-lines, "step 5    loop    done")
			stop()
			assert.Equal(t, exitDone, <-code)
			assert.Empty(t, lines)
		})
	}
}

type lineWriter chan<- string

func (w lineWriter) Write(b []byte) (int, error) {
	w <- string(b)
	return len(b), nil
}

func TestAnAnswerIsCheckedAndStoredForTheNextRun(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, p place, m *terminal) {
		m.run("threads", "answer", "order-2", `{"approved":"yes"}`, "-db", "threads.db")
		m.stdin = `{"approved":true}`
		m.run("threads", "answer", "order-2", "-", "-db", "threads.db")
		m.golden("answer")
		m.run("threads", "answer", "order-2", `{"approved":true}`, "-db", "threads.db")
		m.run("threads", "answer", "order-1", "true", "-db", "threads.db")
		m.run("threads", "answer", "order-2", "yes", "-db", "threads.db")
		_, err := shop(t, p.store).Thread("order-5").Invoke(t.Context(), cups.Put(99))
		require.NoError(t, err)
		m.run("threads", "answer", "order-5", "other", "true", "-db", "threads.db")
		m.golden("answer_refused")
		snap, err := shop(t, p.store).Thread("order-2").Invoke(t.Context())
		require.NoError(t, err)
		assert.Equal(t, []string{"checked", "brewed 12"}, journal.Get(snap))
	})
}

func TestAThreadIsCopiedAsItWasAtACheckpoint(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, p place, m *terminal) {
		g := shop(t, p.store)
		var first string
		for c, err := range p.store.List(t.Context(), checkpoint.Query{Thread: "order-1"}) {
			require.NoError(t, err)
			first = c.ID
		}
		m.run("threads", "fork", "order-1", "-at", first, "-to", "copy-1", "-db", "threads.db")
		m.run("threads", "fork", "order-2", "-to", "copy-2", "-db", "threads.db")
		m.run("threads", "list", "-prefix", "copy", "-db", "threads.db")
		m.golden("fork")
		m.run("threads", "fork", "order-1", "-to", "order-2", "-db", "threads.db")
		m.run("threads", "fork", "order-1", "-at", "nowhere", "-db", "threads.db")
		m.golden("fork_refused")
		snap, err := g.Thread("copy-1").Invoke(t.Context())
		require.NoError(t, err)
		assert.Equal(t, []string{"checked", "brewed 2"}, journal.Get(snap), "the copy runs from its end")
		snap, err = g.Thread("copy-2").Snapshot(t.Context())
		require.NoError(t, err)
		assert.Len(t, snap.Pauses, 1, "the question is open in the copy, too")
		out, code := m.run("threads", "fork", "order-1", "-db", "threads.db")
		require.Equal(t, exitDone, code)
		_, err = g.Thread(strings.TrimSpace(out)).Snapshot(t.Context())
		assert.NoError(t, err)
	})
}

// A dry run prints how many checkpoints the same prune then removes.
func TestPruneRemovesWhatItsDryRunSays(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, p place, m *terminal) {
		g := shop(t, p.store)
		_, err := g.Thread("order-1").Invoke(t.Context(), cups.Put(1))
		require.NoError(t, err)
		m.run("threads", "prune", "-db", "threads.db", "-all", "-keep-last", "2", "-dry-run")
		m.run("threads", "prune", "-db", "threads.db", "-all", "-keep-last", "2")
		m.golden("prune")
		m.run("threads", "prune", "-db", "threads.db", "-keep-last", "2")
		m.run("threads", "prune", "-db", "threads.db", "-all")
		m.run("threads", "prune", "-db", "threads.db", "-all", "-keep-last", "2", "-keep-for", "30d", "-dry-run")
		m.golden("prune_refused")
		snap, err := g.Thread("order-1").Snapshot(t.Context())
		require.NoError(t, err)
		assert.Equal(t, []string{"checked", "brewed 2", "checked", "brewed 1"}, journal.Get(snap))
	})
}

func TestPruneDeletesIdleThreads(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, _ place, m *terminal) {
		for _, args := range [][]string{{"-dry-run"}, nil} {
			m.run(append([]string{"threads", "prune", "-all", "-keep-last", "5", "-delete-idle", "1ms", "-db", "threads.db"}, args...)...)
		}
		m.run("threads", "list", "-db", "threads.db")
		m.golden("prune_idle")
	})
}

// For random policies and random threads with subgraphs, a dry run counts exactly the checkpoints that the store then removes.
func TestTheDryRunOfAPruneIsExact(t *testing.T) {
	t.Parallel()
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		s := memcheckpoint.New(memcheckpoint.Options{})
		heads := map[string]string{}
		spaces := []string{"", "~kept"}
		for i := range 1 + r.IntN(25) {
			space := spaces[r.IntN(len(spaces))]
			c := checkpoint.Checkpoint{Key: checkpoint.Key{Thread: "t", Namespace: space, ID: fmt.Sprintf("c%02d", i)}, Parent: heads[space], Source: checkpoint.Loop}
			require.NoError(t, s.Put(t.Context(), c, heads[space]))
			heads[space] = c.ID
			if r.IntN(5) == 0 {
				require.NoError(t, s.PutWrites(t.Context(), c.Key, []checkpoint.Write{{Task: "a", Channel: "$ask", Data: []byte("[]")}}))
			}
			if r.IntN(3) == 0 {
				spaces = append(spaces, strings.TrimPrefix(space+"/sub@"+c.ID, "/"))
			}
		}
		p := checkpoint.PrunePolicy{Threads: []string{"t"}, KeepLast: 1 + r.IntN(4), KeepPending: r.IntN(2) == 0}
		if r.IntN(4) == 0 {
			p.DeleteIdle = []time.Duration{1, time.Hour}[r.IntN(2)]
			p.KeepLast *= r.IntN(2)
		}
		remove, stay, err := outdated(t.Context(), &store{checkpoints: s, held: tryLeases(s)}, "t", p, time.Now())
		require.NoError(t, err)
		removed, err := s.Prune(t.Context(), p)
		require.NoError(t, err)
		assert.Equal(t, removed, remove, "seed %d: %+v", seed, p)
		left := 0
		for _, err := range s.List(t.Context(), checkpoint.Query{Thread: "t", AllNamespaces: true}) {
			require.NoError(t, err)
			left++
		}
		assert.Equal(t, left, stay, "seed %d: %+v", seed, p)
	}
}

func TestAListSaysThatOtherTenantsHaveThreads(t *testing.T) {
	t.Parallel()
	url, schema := pgtest.DirectURL(t), pgtest.Schema(t)
	s, err := pgcheckpoint.Open(t.Context(), url, pgcheckpoint.Options{Schema: schema, Tenant: "acme"})
	require.NoError(t, err)
	fill(t, s)
	s.Close()
	m := newTerminal(t, nil)
	code, _, errs := m.call("threads", "list", "-db", url, "-schema", schema)
	assert.Equal(t, exitDone, code)
	assert.Equal(t, "There are no such threads. The database has threads of 1 tenant; -tenant chooses one.\n", errs)
	_, out, _ := m.call("threads", "list", "-db", url, "-schema", schema, "-tenant", "acme")
	assert.Contains(t, out, "order-1")
}

// The command exports pruned threads from a store of each kind, and imports them into a store of another kind.
func TestThreadsMoveBetweenStores(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, p place, m *terminal) {
		_, err := shop(t, p.store).Thread("order-1").Invoke(t.Context(), cups.Put(1))
		require.NoError(t, err)
		code, _, errs := m.call("threads", "prune", "-all", "-keep-last", "2", "-db", "threads.db")
		require.Equal(t, exitDone, code, errs)
		folder := t.TempDir()
		file := filepath.Join(folder, "threads.jsonl")
		m.hidden[folder+string(filepath.Separator)] = ""
		m.run("threads", "export", "-o", file, "-db", "threads.db")
		m.words = map[string]string{"new.db": filepath.Join(folder, "new.db")}
		m.run("threads", "import", file, "-db", "new.db", "-create")
		m.golden("export")
		m.run("threads", "export", "-o", file, "-db", "threads.db")
		info, err := os.Stat(file)
		require.NoError(t, err)
		assert.Equal(t, os.FileMode(0o600), info.Mode().Perm())
		next := map[string]string{"SQLite": "encrypted", "encrypted": "PostgreSQL", "PostgreSQL": "Supabase", "Supabase": "SQLite"}
		to := places(t)[next[filepath.Base(t.Name())]]
		other := newTerminal(t, nil)
		other.place = &to
		code, _, errs = other.call("threads", "import", file, "-db", "threads.db")
		require.Equal(t, exitDone, code, errs)
		for _, id := range []string{"order-1", "order-2", "order-3", "order-4"} {
			_, want, _ := m.call("threads", "show", id, "-json", "-db", "threads.db")
			_, got, _ := other.call("threads", "show", id, "-json", "-db", "threads.db")
			assert.Equal(t, stamps.ReplaceAllString(want, ""), stamps.ReplaceAllString(got, ""), id)
		}
		snap, err := shop(t, to.store).Thread("order-3").Invoke(t.Context(), cups.Put(1))
		require.NoError(t, err)
		assert.True(t, snap.Done())
		m.run("threads", "import", file, "-db", "threads.db")
		m.golden("export_refused")
	})
}

// An import does not change a thread that already exists in the store.
func TestAnImportChangesNoThreadThatExists(t *testing.T) {
	t.Parallel()
	p := places(t)["SQLite"]
	fill(t, p.store)
	m := newTerminal(t, nil)
	m.place = &p
	_, file, _ := m.call("threads", "export", "order-1", "-db", "threads.db")
	_, before, _ := m.call("threads", "show", "order-1", "-json", "-db", "threads.db")
	m.stdin = file
	code, _, errs := m.call("threads", "import", "-", "-db", "threads.db")
	assert.Equal(t, exitFailed, code)
	assert.Contains(t, errs, `thread "order-1" exists`)
	_, after, _ := m.call("threads", "show", "order-1", "-json", "-db", "threads.db")
	assert.Equal(t, before, after)
	for _, bad := range []string{"", "{}", `{"format":"weft threads 2"}`, `{"format":"weft threads 1"}` + "\n{", `{"format":"weft threads 1"}{"thread":"x"}`} {
		m.stdin = bad
		code, _, errs = m.call("threads", "import", "-", "-db", "threads.db")
		assert.Equal(t, exitFailed, code, bad)
		assert.NotEmpty(t, errs, bad)
	}
}
