package kai_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/weft-go/weft/memory/driver"
	"github.com/weft-go/weft/memory/inmemory"

	"github.com/jackc/pgx/v5"

	"github.com/weft-go/weft/examples/designer/internal/kai"
	"github.com/weft-go/weft/examples/designer/internal/offline"
	"github.com/weft-go/weft/internal/pgtest"
	"github.com/weft-go/weft/llm/llmtest"
	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/extract"
	"github.com/weft-go/weft/memory/pgmemory"
)

func memories(t *testing.T, p place) *memory.Memory {
	t.Helper()
	store, _ := p.queue(t)
	m, err := memory.New(inmemory.Fill(driver.Stores{FactStore: store}), memory.Options{})
	check(t, err)
	return m
}

func contents(t *testing.T, m *memory.Memory, q memory.FactQuery) []string {
	t.Helper()
	out := []string{}
	for f, err := range m.List(t.Context(), q) {
		check(t, err)
		out = append(out, f.Content)
	}
	return out
}

// A stored fact keeps its fields. Another user, workspace or agent does not see the fact.
func TestMemoryStore(t *testing.T) {
	t.Parallel()
	for name, newPlace := range places {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := memories(t, newPlace(t))
			stored, err := m.Store(t.Context(), mine("kai"),
				memory.Fact{Kind: memory.Relationship, Content: "Client is ABC Corp", Conversation: "c7", Metadata: []byte(`{"source":"mail"}`), Trust: memory.Stated},
				memory.Fact{Kind: memory.Plain, Content: "Working on hotel lobby project", Trust: memory.Stated})
			check(t, err)
			f, err := m.Get(t.Context(), mine("kai"), stored[0].ID)
			check(t, err)
			if f.Scope != mine("kai") || f.Kind != memory.Relationship || f.Conversation != "c7" || string(f.Metadata) != `{"source":"mail"}` || f.CreatedAt.IsZero() || len(f.ID) != 36 {
				t.Errorf("got %+v", f)
			}
			if f, err = m.Get(t.Context(), mine("kai"), stored[1].ID); err != nil || f.Conversation != "" || f.Metadata != nil {
				t.Errorf("without a conversation: %+v, %v", f, err)
			}
			for _, s := range []memory.Scope{{Workspace: "w", User: "bob", Agent: "kai"}, {Workspace: "v", User: "ann", Agent: "kai"}, mine("scout")} {
				if got := contents(t, m, memory.FactQuery{Reach: s.Only()}); len(got) != 0 {
					t.Errorf("%s has %q", s, got)
				}
			}
		})
	}
}

// List returns the facts of a user and workspace, newest first. A query can select the facts of an agent or of some
// kinds. Without a limit, List returns all facts. Recall without a text returns the newest 20.
func TestMemoryRecall(t *testing.T) {
	t.Parallel()
	for name, newPlace := range places {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := memories(t, newPlace(t))
			kinds := []memory.Kind{memory.Preference, memory.Plain, memory.Context, memory.Relationship}
			var want []string
			for i := range 24 {
				agent := []string{"kai", "scout"}[i%2]
				content := fmt.Sprintf("%s %s %d", agent, kinds[i%4], i)
				want = append(want, content)
				_, err := m.Store(t.Context(), mine(agent), memory.Fact{Kind: kinds[i%4], Content: content, Trust: memory.Stated})
				check(t, err)
			}
			_, err := m.Store(t.Context(), memory.Scope{Workspace: "w", User: "bob", Agent: "kai"}, memory.Fact{Content: "of bob", Trust: memory.Stated})
			check(t, err)
			slices.Reverse(want)
			all := memory.FactQuery{Reach: memory.Reach{Scope: mine(""), AnyAgent: true}}
			if got := contents(t, m, all); !reflect.DeepEqual(got, want) {
				t.Errorf("all: got %q, want %q", got, want)
			}
			all.Limit = 3
			if got := contents(t, m, all); !reflect.DeepEqual(got, want[:3]) {
				t.Errorf("three: got %q", got)
			}
			only := slices.DeleteFunc(slices.Clone(want), func(s string) bool { return !strings.HasPrefix(s, "kai") })
			if got := contents(t, m, memory.FactQuery{Reach: mine("kai").Only()}); !reflect.DeepEqual(got, only) {
				t.Errorf("of an agent: got %q, want %q", got, only)
			}
			typed := slices.DeleteFunc(slices.Clone(want), func(s string) bool {
				return !strings.Contains(s, " preference ") && !strings.Contains(s, " context ")
			})
			if got := contents(t, m, memory.FactQuery{Reach: memory.Reach{Scope: mine(""), AnyAgent: true}, Kinds: []memory.Kind{memory.Preference, memory.Context}}); !reflect.DeepEqual(got, typed) {
				t.Errorf("of two types: got %q, want %q", got, typed)
			}
			found, err := m.Recall(t.Context(), memory.Question{Reach: memory.Reach{Scope: mine(""), AnyAgent: true}})
			if err != nil || len(found) != 20 || found[0].Item.Content != want[0] || found[19].Item.Content != want[19] {
				t.Errorf("recalled without a text: %d, %v", len(found), err)
			}
		})
	}
}

// Delete removes a fact by id, and Clear removes facts by filter. Neither removes a fact of another user.
func TestMemoryDelete(t *testing.T) {
	t.Parallel()
	for name, newPlace := range places {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := memories(t, newPlace(t))
			bob := memory.Scope{Workspace: "w", User: "bob", Agent: "kai"}
			stored, err := m.Store(t.Context(), mine("kai"), memory.Fact{Kind: memory.Preference, Content: "one", Trust: memory.Stated}, memory.Fact{Content: "two", Trust: memory.Stated}, memory.Fact{Kind: memory.Preference, Content: "three", Trust: memory.Stated})
			check(t, err)
			_, err = m.Store(t.Context(), bob, memory.Fact{Kind: memory.Preference, Content: "of bob", Trust: memory.Stated})
			check(t, err)
			if err := m.Delete(t.Context(), bob, stored[0].ID); !errors.Is(err, memory.ErrNotFound) {
				t.Errorf("bob deletes ann's: %v", err)
			}
			check(t, m.Delete(t.Context(), mine("kai"), stored[0].ID))
			if got := contents(t, m, memory.FactQuery{Reach: mine("kai").Only()}); !reflect.DeepEqual(got, []string{"three", "two"}) && !reflect.DeepEqual(got, []string{"two", "three"}) {
				t.Errorf("after one was deleted: %q", got)
			}
			n, err := m.Clear(t.Context(), memory.FactQuery{Reach: memory.Reach{Scope: mine(""), AnyAgent: true}, Kinds: []memory.Kind{memory.Preference}, Limit: -1})
			if got := contents(t, m, memory.FactQuery{Reach: mine("kai").Only()}); err != nil || n != 1 || !reflect.DeepEqual(got, []string{"two"}) {
				t.Errorf("cleared %d, %v, left %q", n, err, got)
			}
			if got := contents(t, m, memory.FactQuery{Reach: bob.Only()}); !reflect.DeepEqual(got, []string{"of bob"}) {
				t.Errorf("bob has %q", got)
			}
		})
	}
}

// Package memory and a check constraint of the database reject an unknown kind.
func TestMemoryKinds(t *testing.T) {
	t.Parallel()
	for name, newPlace := range places {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := memories(t, newPlace(t))
			for _, kind := range []memory.Kind{memory.Preference, memory.Plain, memory.Context, memory.Relationship} {
				if _, err := m.Store(t.Context(), mine("kai"), memory.Fact{Kind: kind, Content: string(kind), Trust: memory.Stated}); err != nil {
					t.Errorf("%s: %v", kind, err)
				}
			}
			for _, kind := range []memory.Kind{"mood", "Preference", "preference "} {
				if _, err := m.Store(t.Context(), mine("kai"), memory.Fact{Kind: kind, Content: "x", Trust: memory.Stated}); !errors.Is(err, memory.ErrInvalid) {
					t.Errorf("%q: got %v", kind, err)
				}
			}
		})
	}
	t.Run("CHECK", func(t *testing.T) {
		t.Parallel()
		url, schema := pgtest.URL(t), pgtest.Schema(t)
		db, err := pgmemory.Open(t.Context(), url, pgmemory.Options{Schema: schema})
		check(t, err)
		defer db.Close()
		m, err := memory.New(db, memory.Options{})
		check(t, err)
		_, err = m.Store(t.Context(), mine("kai"), memory.Fact{Content: "x", Trust: memory.Stated})
		check(t, err)
		conn, err := pgx.Connect(t.Context(), url)
		check(t, err)
		defer conn.Close(context.Background())
		_, err = conn.Exec(t.Context(), "UPDATE "+schema+".mem_fact SET kind = 'mood'")
		if err == nil || !strings.Contains(err.Error(), "check constraint") {
			t.Errorf("the database takes any kind: %v", err)
		}
	})
}

// Queries by user and workspace, by kind and by agent use an index and do not scan the table of facts.
func TestMemoryIndexes(t *testing.T) {
	t.Parallel()
	url, schema := pgtest.DirectURL(t), pgtest.Schema(t)
	options := pgmemory.Options{Schema: schema, Pooling: pgmemory.Direct}
	conn, err := pgx.Connect(t.Context(), url)
	check(t, err)
	defer conn.Close(context.Background())
	check(t, pgmemory.Migrate(t.Context(), conn, options))
	db, err := pgmemory.New(t.Context(), conn, options)
	check(t, err)
	m, err := memory.New(db, memory.Options{})
	check(t, err)
	kinds := memory.Kinds()
	for user := range 40 {
		for _, agent := range []string{"kai", "scout"} {
			var facts []memory.Fact
			for i := range 70 {
				facts = append(facts, memory.Fact{Kind: kinds[i%len(kinds)], Content: fmt.Sprint("fact ", i), Trust: memory.Stated})
			}
			_, err := m.Store(t.Context(), memory.Scope{Workspace: "w", User: fmt.Sprint("u", user), Agent: agent}, facts...)
			check(t, err)
		}
	}
	_, err = conn.Exec(t.Context(), fmt.Sprintf("ANALYZE %[1]s.mem_fact, %[1]s.mem_scope", schema))
	check(t, err)
	// scans returns the numbers of table scans and index scans of mem_fact.
	scans := func() (all, indexed int) {
		check(t, conn.QueryRow(t.Context(), `SELECT pg_stat_force_next_flush()::text IS NOT NULL`).Scan(new(bool)))
		check(t, conn.QueryRow(t.Context(), `SELECT seq_scan, idx_scan FROM pg_stat_user_tables WHERE schemaname = $1 AND relname = 'mem_fact'`, schema).Scan(&all, &indexed))
		return all, indexed
	}
	ann := memory.Scope{Workspace: "w", User: "u7"}
	for name, q := range map[string]memory.FactQuery{
		"user and workspace": {Reach: memory.Reach{Scope: ann, AnyAgent: true}},
		"type":               {Reach: memory.Reach{Scope: ann, AnyAgent: true}, Kinds: []memory.Kind{memory.Preference}},
		"agent":              {Reach: memory.Scope{Workspace: "w", User: "u7", Agent: "kai"}.Only()},
	} {
		all, indexed := scans()
		q.Limit = 20
		if got := contents(t, m, q); len(got) != 20 {
			t.Errorf("%s: got %d", name, len(got))
		}
		if a, i := scans(); a != all || i == indexed {
			t.Errorf("%s: %d scans of the table, %d of indexes", name, a-all, i-indexed)
		}
	}
}

// The extractor asks a model for the facts in a turn, with the messages of the user and the assistant. A turn
// without facts stores nothing.
func TestLearningAsks(t *testing.T) {
	t.Parallel()
	for name, newPlace := range places {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			extractor := llmtest.NewScript(
				llmtest.Call("answer", `{"facts":[]}`),
				llmtest.Call("answer", `{"facts":[{"kind":"preference","content":"Prefers modern minimalist style","evidence":"I want it modern and minimalist"}]}`),
			)
			where := newPlace(t)
			p := where.platform(t, llmtest.NewScript(llmtest.Say("It is noon."), llmtest.Say("Clean lines, then.")), func(p *kai.Parts) {
				store, queue := where.queue(t)
				var err error
				p.Facts, err = memory.New(inmemory.Fill(driver.Stores{FactStore: store}), memory.Options{})
				check(t, err)
				p.Learner, err = extract.New(p.Facts, extract.Options{Extractor: extract.NewExtractor(extractor, extract.ExtractorOptions{}), Verifier: offline.Verifier, Queue: queue})
				check(t, err)
			})
			for i, text := range []string{"What time is it?", "I want it modern and minimalist"} {
				run(t, p, turn(text))
				check(t, p.Learner.Drain(t.Context()))
				if got := contents(t, p.Facts, memory.FactQuery{Reach: mine("kai").Only()}); len(got) != i {
					t.Errorf("after %q: %q", text, got)
				}
			}
			asked := ""
			for _, m := range extractor.Requests()[1].Messages {
				asked += m.Text() + "\n"
			}
			for _, want := range []string{"I want it modern and minimalist", "Clean lines, then.", "preference", "fact", "context", "relationship"} {
				if !strings.Contains(asked, want) {
					t.Errorf("the prompt has no %q: %s", want, asked)
				}
			}
		})
	}
}
