package checkpoint_test

import (
	"context"
	"errors"
	"testing"

	"github.com/weft-go/weft/checkpoint"
)

// Ids come back as they were, however they relate to that of their run.
func TestMemoryIDs(t *testing.T) {
	t.Parallel()
	const run = "0190b5e4-7c1a-7e2f-bfff-fffffffffffe"
	for name, tc := range map[string]struct {
		run string
		ids []string
	}{
		"counting on":       {run, []string{run[:35] + "f", "0190b5e4-7c1a-7e2f-c000-000000000000", "0190b5e4-7c1a-7e2f-c000-0000ffffffff"}},
		"before the run":    {run, []string{"0190b5e4-7c1a-7e2f-bfff-fffffffffffd", "0190b5e4-7c1a-7e2f-0000-000000000000"}},
		"too far":           {run, []string{"0190b5e4-7c1a-7e2f-c000-fffffffffffe", "0190b5e4-7c1a-7e2f-ffff-ffffffffffff"}},
		"over the end":      {"0190b5e4-7c1a-7e2f-ffff-ffffffffffff", []string{"0190b5e4-7c1a-7e2f-0000-000000000000", "0190b5e4-7c1a-7e2f-0000-000000000001"}},
		"of another moment": {run, []string{"0190b5e4-7c1a-7e30-bfff-ffffffffffff", "1190b5e4-7c1a-7e2f-bfff-ffffffffffff"}},
		"the run's own":     {run, []string{run}},
		"capitals":          {run, []string{"0190b5e4-7c1a-7e2f-bfff-FFFFFFFFFFFF", "0190b5e4-7c1a-7e2f-bfff-ffffffffffff"}},
		"text":              {"nightly", []string{"1", "00000000-0000-0000-0000-000000000001", "00000000-0000-0000-0000-000000000000"}},
		"no run":            {"", []string{"00000000-0000-0000-0000-000000000001", "a"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			putIDs(t, tc.run, tc.ids)
		})
	}
}

func putIDs(t *testing.T, run string, ids []string) {
	t.Helper()
	ctx := context.Background()
	store := checkpoint.NewMemory(checkpoint.MemoryOptions{})
	head := ""
	for i, id := range ids {
		c := checkpoint.Checkpoint{Key: checkpoint.Key{Thread: "t", ID: id}, Parent: head, Step: i, Source: checkpoint.Loop, Run: run}
		for range 2 { // the second time, it is there
			if err := store.Put(ctx, c, head); err != nil {
				t.Fatal(err)
			}
		}
		c.Parent = "another"
		if err := store.Put(ctx, c, id); !errors.Is(err, checkpoint.ErrConflict) {
			t.Errorf("%s again: got %v want ErrConflict", id, err)
		}
		head = id
	}
	for i, id := range ids {
		c, err := store.Get(ctx, checkpoint.Key{Thread: "t", ID: id})
		if err != nil || c.ID != id || c.Run != run || c.Step != i || c.Lineage[len(c.Lineage)-1].ID != id {
			t.Errorf("%s: got %+v, %v", id, c, err)
		}
	}
	n := len(ids)
	for c, err := range store.List(ctx, checkpoint.Query{Thread: "t", Run: run}) {
		if n--; err != nil || c.ID != ids[n] || c.Run != run || n > 0 && c.Parent != ids[n-1] {
			t.Errorf("listed: got %+v, %v want %s", c, err, ids[n])
		}
	}
	if n != 0 {
		t.Errorf("%d were not listed", n)
	}
	if err := store.DeleteRuns(ctx, "t", "00000000-0000-0000-0000-000000000000"); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Get(ctx, checkpoint.Key{Thread: "t"}); err != nil {
		t.Errorf("another run's deletion: %v", err)
	}
}
