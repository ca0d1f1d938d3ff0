package fair_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/conversation"
	"github.com/weft-go/weft/memory/fair"
	"github.com/weft-go/weft/memory/knowledge"
	"github.com/weft-go/weft/memory/kv"
	"github.com/weft-go/weft/memory/memorytest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A store behind a gate does what it does without.
func TestStores(t *testing.T) {
	t.Parallel()
	o := fair.Options{Concurrent: 4, PerTenant: 3, Waiting: 1000}
	t.Run("facts", func(t *testing.T) {
		memorytest.RunFacts(t, func(tb testing.TB) memory.Store {
			return newGate(tb, o).Facts(memory.NewInMemory(memory.InMemoryOptions{}))
		})
	})
	t.Run("knowledge", func(t *testing.T) {
		memorytest.RunKnowledge(t, func(tb testing.TB) knowledge.Store { return newGate(tb, o).Knowledge(knowledge.NewInMemory()) })
	})
	t.Run("values", func(t *testing.T) {
		memorytest.RunKV(t, func(tb testing.TB) kv.Store { return newGate(tb, o).Values(kv.NewInMemory(kv.InMemoryOptions{})) })
	})
	t.Run("conversations", func(t *testing.T) {
		memorytest.RunConversations(t, func(tb testing.TB) conversation.Store {
			return newGate(tb, o).Conversations(conversation.NewInMemory(conversation.InMemoryOptions{}))
		})
	})
}

// Only the methods of the interface: nothing that sweeps.
type (
	plainFacts    struct{ memory.Store }
	plainValues   struct{ kv.Store }
	plainSessions struct{ conversation.Store }
)

func TestSweepersStaySo(t *testing.T) {
	t.Parallel()
	gate := newGate(t, fair.Options{PerTenant: 1})
	facts, values, sessions := memory.NewInMemory(memory.InMemoryOptions{}), kv.NewInMemory(kv.InMemoryOptions{}), conversation.NewInMemory(conversation.InMemoryOptions{})
	for _, sweeps := range []bool{true, false} {
		var f memory.Store = facts
		var v kv.Store = values
		var c conversation.Store = sessions
		if !sweeps {
			f, v, c = plainFacts{facts}, plainValues{values}, plainSessions{sessions}
		}
		_, ofFacts := gate.Facts(f).(memory.Sweeper)
		_, ofValues := gate.Values(v).(kv.Sweeper)
		_, ofSessions := gate.Conversations(c).(conversation.Sweeper)
		if ofFacts != sweeps || ofValues != sweeps || ofSessions != sweeps {
			t.Errorf("facts, values and sessions sweep: %v, %v, %v, want %v", ofFacts, ofValues, ofSessions, sweeps)
		}
	}
}

// Each call of each store waits while the tenant has no place.
func TestEverythingWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		gate := newGate(t, fair.Options{PerTenant: 1})
		leave, err := gate.Enter(t.Context(), "acme")
		if err != nil {
			t.Fatal(err)
		}
		defer leave()
		s := memory.Scope{Tenant: "acme"}
		facts := gate.Facts(memory.NewInMemory(memory.InMemoryOptions{}))
		documents := gate.Knowledge(knowledge.NewInMemory())
		values := gate.Values(kv.NewInMemory(kv.InMemoryOptions{}))
		sessions := gate.Conversations(conversation.NewInMemory(conversation.InMemoryOptions{}))
		for name, call := range map[string]func(context.Context) error{
			"facts apply": func(ctx context.Context) error { _, err := facts.Apply(ctx, s, nil); return err },
			"facts find":  func(ctx context.Context) error { return last(facts.Find(ctx, memory.Query{Scope: s})) },
			"facts search": func(ctx context.Context) error {
				_, err := facts.Search(ctx, memory.Search{Query: memory.Query{Scope: s}})
				return err
			},
			"facts history": func(ctx context.Context) error { return last(facts.History(ctx, s, "x")) },
			"facts forget":  func(ctx context.Context) error { _, err := facts.Forget(ctx, s); return err },
			"swap":          func(ctx context.Context) error { return documents.Swap(ctx, knowledge.Change{Scope: s}) },
			"sources":       func(ctx context.Context) error { return last(documents.Sources(ctx, knowledge.Query{Scope: s})) },
			"chunks":        func(ctx context.Context) error { return last(documents.Chunks(ctx, []knowledge.Span{{Scope: s}})) },
			"chunks search": func(ctx context.Context) error {
				_, err := documents.Search(ctx, knowledge.Search{Query: knowledge.Query{Scope: s}})
				return err
			},
			"chunks delete": func(ctx context.Context) error {
				_, err := documents.Delete(ctx, knowledge.Query{Scope: s})
				return err
			},
			"values apply":  func(ctx context.Context) error { _, err := values.Apply(ctx, s, nil); return err },
			"values find":   func(ctx context.Context) error { return last(values.Find(ctx, s, kv.Selection{})) },
			"values search": func(ctx context.Context) error { _, err := values.Search(ctx, s, kv.Search{}); return err },
			"namespaces":    func(ctx context.Context) error { return last(values.Namespaces(ctx, s, kv.NamespaceQuery{})) },
			"values forget": func(ctx context.Context) error { _, err := values.Forget(ctx, s); return err },
			"session apply": func(ctx context.Context) error {
				_, err := sessions.Apply(ctx, s, conversation.Change{Session: "x"})
				return err
			},
			"sessions": func(ctx context.Context) error { return last(sessions.Sessions(ctx, conversation.Query{Scope: s})) },
			"messages": func(ctx context.Context) error {
				return last(sessions.Messages(ctx, conversation.Range{Scope: s, Session: "x"}))
			},
			"session search": func(ctx context.Context) error {
				_, err := sessions.Search(ctx, conversation.Search{Query: conversation.Query{Scope: s}})
				return err
			},
			"session forget": func(ctx context.Context) error { _, err := sessions.Forget(ctx, s); return err },
			"session sweep": func(ctx context.Context) error {
				_, err := sessions.(conversation.Sweeper).Sweep(ctx, s, 0, 1)
				return err
			},
		} {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			began := time.Now()
			if err := call(ctx); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != time.Second {
				t.Errorf("%s: got %v after %v, want it to wait for a second", name, err, time.Since(began))
			}
			cancel()
		}
	})
}

// last returns the error of what is yielded.
func last[T any](seq iter.Seq2[T, error]) error {
	for _, err := range seq {
		if err != nil {
			return err
		}
	}
	return nil
}

// Who looks at rows has no place at the store meanwhile, so it may ask, and others of the tenant may.
func TestAskWhileListing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		gate := newGate(t, fair.Options{PerTenant: 1, Waiting: 1})
		m, err := memory.New(gate.Facts(memory.NewInMemory(memory.InMemoryOptions{})), memory.Options{})
		if err != nil {
			t.Fatal(err)
		}
		s := memory.Scope{Tenant: "acme"}
		contents := make([]memory.Fact, 700)
		for i := range contents {
			contents[i].Trust = memory.Stated
			contents[i].Content = fmt.Sprint("fact ", i)
		}
		if _, err := m.Store(t.Context(), s, contents...); err != nil {
			t.Fatal(err)
		}
		n := 0
		for f, err := range m.List(t.Context(), memory.Query{Scope: s, Limit: -1}) {
			if err != nil {
				t.Fatal(err)
			}
			if _, err := m.Get(t.Context(), s, f.ID); err != nil {
				t.Fatal(err)
			}
			n++
		}
		if n != len(contents) {
			t.Errorf("%d facts, want %d", n, len(contents))
		}
		for _, err := range m.List(t.Context(), memory.Query{Scope: s, Limit: -1}) {
			if err != nil {
				t.Fatal(err)
			}
			break
		}
		leave, err := gate.Enter(t.Context(), "acme")
		if err != nil {
			t.Fatal(err)
		}
		leave()
	})
}

// A list that has begun is not refused at its second page, however many wait; its context ends it.
func TestListGoesOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		gate := newGate(t, fair.Options{PerTenant: 1, Waiting: 1})
		store := memory.NewInMemory(memory.InMemoryOptions{})
		m, err := memory.New(store, memory.Options{})
		if err != nil {
			t.Fatal(err)
		}
		s := memory.Scope{Tenant: "acme"}
		contents := make([]memory.Fact, 600)
		for i := range contents {
			contents[i].Trust = memory.Stated
			contents[i].Content = fmt.Sprint("fact ", i)
		}
		if _, err := m.Store(t.Context(), s, contents...); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		n := 0
		for _, err := range gate.Facts(store).Find(ctx, memory.Query{Scope: s, Limit: -1}) {
			n++
			switch {
			case n == 1: // now one is inside for a second, and one waits
				for range 2 {
					go func() {
						leave, err := gate.Enter(t.Context(), "acme")
						if err != nil {
							t.Error(err)
							return
						}
						<-time.After(time.Second)
						leave()
					}()
				}
				synctest.Wait()
				_, err := gate.Enter(t.Context(), "acme")
				if !errors.Is(err, memory.ErrBusy) {
					t.Errorf("one too many: %v", err)
				}
			case n == 300:
				leave, err := gate.Enter(t.Context(), "acme")
				if err != nil {
					t.Fatal(err)
				}
				defer leave()
				time.AfterFunc(time.Minute, cancel)
			case n > 512 && !errors.Is(err, context.Canceled):
				t.Fatalf("row %d: %v", n, err)
			case n <= 512 && err != nil:
				t.Fatalf("row %d: %v", n, err)
			}
		}
		if n != 513 {
			t.Errorf("%d rows and errors, want two pages and an error", n)
		}
	})
}
