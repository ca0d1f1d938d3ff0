package sqlitememory_test

import (
	"path/filepath"
	"testing"

	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/learn"
	"github.com/weft-go/weft/memory/memorytest"
	"github.com/weft-go/weft/memory/sqlitememory"
)

func openDB(tb testing.TB) *sqlitememory.DB {
	tb.Helper()
	db, err := sqlitememory.Open(tb.Context(), filepath.Join(tb.TempDir(), "memory.db"), sqlitememory.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := db.Close(); err != nil {
			tb.Error(err)
		}
	})
	return db
}

func TestTurns(t *testing.T) {
	t.Parallel()
	memorytest.RunQueue(t, func(tb testing.TB) learn.Queue { return openDB(tb).Turns() })
}

// What somebody said, and waits to be learned, is forgotten with the rest.
func TestForgetTurns(t *testing.T) {
	t.Parallel()
	db := openDB(t)
	ann := memory.Scope{User: "ann"}
	if err := db.Turns().Enqueue(t.Context(), learn.Job{Key: "1", Scope: ann, Payload: []byte(`{"user":"a secret"}`)}); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Facts().Forget(t.Context(), ann); err != nil {
		t.Fatal(err)
	}
	if c, err := db.Turns().Count(t.Context()); err != nil || c != (learn.Counts{}) {
		t.Errorf("left are %+v, %v", c, err)
	}
}
