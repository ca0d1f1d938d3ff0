package sqlitememory_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/extract"
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
	memorytest.RunQueue(t, func(tb testing.TB) extract.Queue { return openDB(tb).Turns() })
}

// What somebody said, and waits to be learned, is forgotten with the rest.
func TestForgetTurns(t *testing.T) {
	t.Parallel()
	db := openDB(t)
	ann, elsewhere := memory.Scope{User: "ann"}, memory.Scope{User: "ann", Agent: "a"}
	before := time.Now()
	if err := db.Turns().Enqueue(t.Context(), extract.Job{Key: "1", Scope: ann, Payload: []byte(`{"user":"a secret"}`)}); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Facts().Forget(t.Context(), ann); err != nil {
		t.Fatal(err)
	}
	if c, err := db.Turns().Count(t.Context()); err != nil || c != (extract.Counts{}) {
		t.Errorf("left are %+v, %v", c, err)
	}
	bob := memory.Scope{User: "bob"}
	for _, j := range []extract.Job{ // the first two come late
		{Key: "2", Scope: ann, Said: before},
		{Key: "3", Scope: elsewhere, Said: before},
		{Key: "4", Scope: ann, Said: time.Now()},
		{Key: "5", Scope: bob, Said: before},
	} {
		j.Payload = []byte(`{}`)
		if err := db.Turns().Enqueue(t.Context(), j); err != nil {
			t.Fatal(err)
		}
	}
	jobs, err := db.Turns().Claim(t.Context(), 9, time.Minute)
	if err != nil || len(jobs) != 2 || jobs[0].Key != "4" || jobs[1].Key != "5" {
		t.Errorf("got %+v, %v; want what was said later, and Bob's", jobs, err)
	}
}
