package studio_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/weft-go/weft/examples/designer/internal/catalogue"
	"github.com/weft-go/weft/examples/designer/internal/studio"
	"github.com/weft-go/weft/internal/pgtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(pgtest.Main(m)) }

// places open a database that is closed when the test ends.
var places = map[string]func(t *testing.T) *studio.DB{
	"SQLite": func(t *testing.T) *studio.DB {
		return closing(t)(studio.OpenSQLite(context.Background(), filepath.Join(t.TempDir(), "studio.db")))
	},
	"PostgreSQL": func(t *testing.T) *studio.DB {
		return closing(t)(studio.OpenPostgres(context.Background(), pgtest.URL(t), pgtest.Schema(t)))
	},
}

func closing(t *testing.T) func(*studio.DB, error) *studio.DB {
	return func(db *studio.DB, err error) *studio.DB {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := db.Close(); err != nil {
				t.Error(err)
			}
		})
		return db
	}
}

// Of several concurrent calls of Keep with one key, one stores its value, and all return that value.
func TestKeepOnce(t *testing.T) {
	t.Parallel()
	for name, open := range places {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := open(t)
			kept := make([]int, 8)
			var wg sync.WaitGroup
			for i := range kept {
				wg.Go(func() {
					var err error
					if kept[i], err = studio.Keep(t.Context(), db, studio.Record{Key: "k", ID: fmt.Sprint("id", i), Kind: "order", User: "ann"}, i); err != nil {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			for _, n := range kept {
				if n != kept[0] {
					t.Fatalf("kept %v", kept)
				}
			}
			all, err := studio.List[int](t.Context(), db, "ann", "order")
			if err != nil || len(all) != 1 || all[0] != kept[0] {
				t.Errorf("got %v, %v", all, err)
			}
			one := fmt.Sprint("id", kept[0])
			if n, err := studio.Get[int](t.Context(), db, "ann", "order", one); err != nil || n != kept[0] {
				t.Errorf("got %v, %v", n, err)
			}
			for _, c := range [][3]string{{"bob", "order", one}, {"ann", "quote", one}, {"ann", "order", "other"}} {
				if _, err := studio.Get[int](t.Context(), db, c[0], c[1], c[2]); !errors.Is(err, studio.ErrNotFound) {
					t.Errorf("%q: got %v", c, err)
				}
			}
			if _, err := studio.Keep(t.Context(), db, studio.Record{Key: "k", ID: "x", Kind: "order", User: "bob"}, 1); !errors.Is(err, studio.ErrNotFound) {
				t.Errorf("bob uses ann's key: %v", err)
			}
			if _, err := studio.Keep(t.Context(), db, studio.Record{ID: "x"}, 1); err == nil {
				t.Error("kept without a key")
			}
		})
	}
}

func TestConversations(t *testing.T) {
	t.Parallel()
	for name, open := range places {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := open(t)
			begin := func(id, user, agent, title string) error {
				return db.Begin(t.Context(), studio.Conversation{ID: id, User: user, Agent: agent, Title: title})
			}
			for _, err := range []error{begin("1", "ann", "kai", ""), begin("1", "ann", "kai", "first"), begin("1", "ann", "kai", "later"), begin("2", "bob", "kai", "bob's")} {
				if err != nil {
					t.Fatal(err)
				}
			}
			if err := errors.Join(begin("1", "bob", "kai", "x")); !errors.Is(err, studio.ErrNotFound) {
				t.Errorf("bob: %v", err)
			}
			if err := begin("1", "ann", "scout", "x"); !errors.Is(err, studio.ErrNotFound) {
				t.Errorf("another agent: %v", err)
			}
			all, err := db.Conversations(t.Context(), "ann")
			if err != nil || len(all) != 1 || all[0].Title != "first" || all[0].Agent != "kai" || all[0].Updated.IsZero() {
				t.Errorf("got %+v, %v", all, err)
			}
			if err := db.End(t.Context(), "bob", "1"); err != nil {
				t.Fatal(err)
			}
			if _, err := db.Conversation(t.Context(), "ann", "1"); err != nil {
				t.Errorf("bob ended it: %v", err)
			}
			if err := db.End(t.Context(), "ann", "1"); err != nil {
				t.Fatal(err)
			}
			if _, err := db.Conversation(t.Context(), "ann", "1"); !errors.Is(err, studio.ErrNotFound) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	if _, err := studio.OpenSQLite(t.Context(), filepath.Join(t.TempDir(), "no", "where.db")); err == nil {
		t.Error("opened where no folder is")
	}
	if _, err := studio.OpenPostgres(t.Context(), "postgres://ann:secret@127.0.0.1:1/x?connect_timeout=x", "s"); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("got %v", err)
	}
}

func ExampleScene() {
	fmt.Print(studio.Scene("one\nbox", []catalogue.Product{{ID: "B1", Name: "A box", Width: 100, Depth: 50, Height: 20}}))
	// Output:
	// # one box
	// o B1_A_box
	// v 0.000 0.000 0.000
	// v 1.000 0.000 0.000
	// v 1.000 0.000 0.500
	// v 0.000 0.000 0.500
	// v 0.000 0.200 0.000
	// v 1.000 0.200 0.000
	// v 1.000 0.200 0.500
	// v 0.000 0.200 0.500
	// f 1 2 3 4
	// f 8 7 6 5
	// f 1 5 6 2
	// f 2 6 7 3
	// f 3 7 8 4
	// f 4 8 5 1
}

// Other users of the machine cannot read the file.
func TestFileIsPrivate(t *testing.T) {
	t.Parallel()
	made, older := filepath.Join(t.TempDir(), "studio.db"), filepath.Join(t.TempDir(), "studio.db")
	if err := os.WriteFile(older, nil, 0o644); err != nil { //nolint:gosec // as older versions made it
		t.Fatal(err)
	}
	for _, path := range []string{made, older} {
		db, err := studio.OpenSQLite(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("got %v, %v", info.Mode(), err)
		}
	}
}
