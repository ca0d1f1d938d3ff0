package assistant_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/pgcheckpoint"
	"github.com/weft-go/weft/checkpoint/sqlitecheckpoint"
	"github.com/weft-go/weft/examples/calendar/internal/assistant"
	"github.com/weft-go/weft/examples/calendar/internal/offline"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/internal/pgtest"
	"github.com/weft-go/weft/llm"
)

// eachStore runs a test with every store. open opens the store again, as another process does; the memory store is
// always the same one.
func eachStore(t *testing.T, test func(t *testing.T, open func() checkpoint.Store)) {
	t.Helper()
	t.Run("memory", func(t *testing.T) {
		t.Parallel()
		store := memory()
		test(t, func() checkpoint.Store { return store })
	})
	t.Run("SQLite", func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(t.TempDir(), "c.db")
		test(t, func() checkpoint.Store {
			store, err := sqlitecheckpoint.Open(t.Context(), path, sqlitecheckpoint.Options{})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := store.Close(); err != nil {
					t.Error(err)
				}
			})
			return store
		})
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		t.Parallel()
		url, schema := pgtest.URL(t), pgtest.Schema(t)
		test(t, func() checkpoint.Store {
			store, err := pgcheckpoint.Open(t.Context(), url, pgcheckpoint.Options{Schema: schema, LeaseTime: 5 * time.Second})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(store.Close)
			return store
		})
	})
}

// With every store, another process can resume a conversation, and continue it from an earlier checkpoint.
func TestStores(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, open func() checkpoint.Store) {
		o := newOffice(t, johns)
		first := invoke(t, o.thread(offline.New(0), open()), "add a task to call Bob")
		if got := assistant.FinalResponse.Get(first); got != "I've added the task 'call Bob'." {
			t.Fatalf("got %q", got)
		}
		paused := invoke(t, o.thread(offline.New(0), open()), "Delete my meeting with John")

		// Another process finds the question, and the messages before it.
		thread := o.thread(offline.New(0), open())
		loaded := must(t)(thread.Snapshot(t.Context()))
		c := assistant.PendingConfirmation.Get(loaded)
		if loaded.ID != paused.ID || len(loaded.Pauses) != 1 || loaded.Pauses[0].Kind != graph.PauseBefore || c == nil || o.titles() != "Meeting with John, Dentist" {
			t.Fatalf("got %+v and %+v", loaded.Pauses, c)
		}
		if said := asked(loaded); said != "add a task to call Bob|Delete my meeting with John" {
			t.Errorf("got %s", said)
		}
		ended := must(t)(thread.Invoke(t.Context(), c.Answer("yes")...))
		if got := assistant.FinalResponse.Get(ended); got != "I've deleted your meeting with John that was scheduled for Tuesday at 2:00 PM." || o.titles() != "Dentist" {
			t.Errorf("got %q; the calendar has %s", got, o.titles())
		}

		// Continue from the end of the first turn, without the second one.
		thread = o.thread(offline.New(0), open())
		back := must(t)(thread.At(first.ID).Invoke(t.Context(), assistant.Ask("t", "what are my tasks?")...))
		if said := asked(back); said != "add a task to call Bob|what are my tasks?" || assistant.FinalResponse.Get(back) != "Your tasks:\n  - call Bob" {
			t.Errorf("got %s and %q", said, assistant.FinalResponse.Get(back))
		}
		now := must(t)(o.thread(offline.New(0), open()).Snapshot(t.Context()))
		if now.ID != back.ID || asked(now) != asked(back) {
			t.Errorf("the thread is at %s, want %s", now.ID, back.ID)
		}
		// Continue from the question, which is asked again. Its event is already deleted.
		again := must(t)(thread.At(paused.ID).Invoke(t.Context(), graph.Continue()))
		if len(again.Pauses) != 1 || assistant.PendingConfirmation.Get(again).ID != c.ID {
			t.Fatalf("got %+v", again.Pauses)
		}
		done := must(t)(thread.Invoke(t.Context(), c.Answer("yes")...))
		if got := assistant.FinalResponse.Get(done); !strings.HasPrefix(got, "I could not delete the event: there is no such event") {
			t.Errorf("got %q", got)
		}
	})
}

// asked returns the user's messages.
func asked(s *graph.Snapshot) string {
	var said []string
	for _, m := range assistant.History.All(s) {
		if m.Role == llm.RoleUser {
			said = append(said, m.Text())
		}
	}
	return strings.Join(said, "|")
}
