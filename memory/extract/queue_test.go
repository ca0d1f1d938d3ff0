package extract_test

import (
	"errors"
	"testing"
	"time"

	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/extract"
	"github.com/weft-go/weft/memory/memorytest"
)

func TestInProcess(t *testing.T) {
	t.Parallel()
	memorytest.RunQueue(t, func(testing.TB) extract.Queue { return extract.NewInProcess() })
}

// TestInProcessForgets: what waits, is claimed or was given up goes with its scope.
func TestInProcessForgets(t *testing.T) {
	t.Parallel()
	ctx, before := t.Context(), time.Now()
	q := extract.NewInProcess()
	ann, elsewhere, bob := memory.Scope{Tenant: "acme", User: "ann"}, memory.Scope{Tenant: "acme", Workspace: "w", User: "ann"}, memory.Scope{Tenant: "acme", User: "bob"}
	for _, j := range []extract.Job{{Key: "parked", Scope: ann}, {Key: "claimed", Scope: elsewhere}, {Key: "waits", Scope: ann}, {Key: "bob's", Scope: bob}} {
		if err := q.Enqueue(ctx, j); err != nil {
			t.Fatal(err)
		}
	}
	claimed, err := q.Claim(ctx, 2, time.Minute)
	if err != nil || len(claimed) != 2 {
		t.Fatalf("claimed %+v, %v", claimed, err)
	}
	if err := q.Retry(ctx, claimed[0], -1, "hopeless"); err != nil {
		t.Fatal(err)
	}
	if n, err := q.Forget(ctx, ann); n != 3 || err != nil {
		t.Errorf("forgot %d, %v; want 3", n, err)
	}
	if err := q.Finish(ctx, claimed[1]); !errors.Is(err, memory.ErrConflict) {
		t.Errorf("finishing a forgotten job: got %v", err)
	}
	if c, err := q.Count(ctx); c != (extract.Counts{Pending: 1}) || err != nil {
		t.Errorf("got %+v, %v; want Bob's job alone", c, err)
	}
	for _, j := range []extract.Job{{Key: "late", Scope: elsewhere, Said: before}, {Key: "later", Scope: ann, Said: time.Now()}} {
		if err := q.Enqueue(ctx, j); err != nil {
			t.Fatal(err)
		}
	}
	if c, err := q.Count(ctx); c != (extract.Counts{Pending: 2}) || err != nil {
		t.Errorf("got %+v, %v; want what was said later beside Bob's job", c, err)
	}
	if n, err := q.Forget(ctx, memory.Scope{}); n != 0 || !errors.Is(err, memory.ErrInvalid) {
		t.Errorf("forgot %d of nobody, %v", n, err)
	}
}
