//go:build linux || darwin

package sqlitecheckpoint_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/sqlitecheckpoint"
)

func init() {
	childActions["full"] = removeWhenFull
	childActions["rewrite"] = rewriteAtLimit
}

// When the write-ahead log reaches the file size limit, its space is used again: later writes
// and a removal succeed.
func TestFullLogIsReused(t *testing.T) {
	t.Parallel()
	startChild(t).want("ok", "rewrite", filepath.Join(t.TempDir(), "weft.db"), "")
}

func rewriteAtLimit(path, _ string) error {
	ctx := context.Background()
	store, err := sqlitecheckpoint.Open(ctx, path, sqlitecheckpoint.Options{Synchronous: sqlitecheckpoint.Normal})
	if err != nil {
		return err
	}
	if err := store.Put(ctx, messageStep("t", 1), ""); err != nil {
		return err
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 2 << 20, Max: 2 << 20}); err != nil {
		return err
	}
	for range 500 {
		w := []checkpoint.Write{{Task: "a", Data: make([]byte, 16<<10)}}
		if err := store.PutWrites(ctx, checkpoint.Key{Thread: "t", ID: stepID(1)}, w); err != nil {
			return err
		}
	}
	return store.DeleteThread(ctx, "t")
}

// Every kind of removal succeeds in a full database if the file size limit leaves the room that
// the documentation of [sqlitecheckpoint.ErrFull] requires.
func TestRemovalSucceedsAtTheFileSizeLimit(t *testing.T) {
	t.Parallel()
	for _, remove := range []string{"delete", "prune", "delete runs"} {
		t.Run(remove, func(t *testing.T) {
			t.Parallel()
			startChild(t).want("ok", "full", filepath.Join(t.TempDir(), "weft.db"), remove)
		})
	}
}

// removeWhenFull fills a database and removes its checkpoints. It runs in its own process,
// because the file size limit applies to a whole process.
func removeWhenFull(path, remove string) error {
	ctx := context.Background()
	store, err := sqlitecheckpoint.Open(ctx, path, sqlitecheckpoint.Options{Synchronous: sqlitecheckpoint.Normal})
	if err != nil {
		return err
	}
	limit := func(size uint64) error {
		return syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: size, Max: 64 << 20})
	}
	if err := limit(2 << 20); err != nil {
		return err
	}
	n := 0
	for ; ; n++ {
		c := messageStep("t", n+1)
		c.Snapshot, c.Changes = c.Changes, nil
		if err = store.Put(ctx, c, headOf(n)); err != nil {
			break
		}
	}
	if !errors.Is(err, sqlitecheckpoint.ErrFull) {
		return fmt.Errorf("put: %w, want ErrFull", err)
	}
	if c, err := store.Get(ctx, checkpoint.Key{Thread: "t"}); err != nil || c.ID != stepID(n) {
		return fmt.Errorf("get: %q, %w", c.ID, err)
	}
	if err := limit(4 << 20); err != nil {
		return err
	}
	switch remove {
	case "delete":
		err = store.DeleteThread(ctx, "t")
	case "prune":
		_, err = store.Prune(ctx, checkpoint.PrunePolicy{})
	case "delete runs":
		err = store.DeleteRuns(ctx, "t", "0197a6b0-7c1a-7e2f-8a3b-000000000001")
	}
	return err
}
