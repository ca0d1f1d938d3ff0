package sqlitecheckpoint_test

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/sqlitecheckpoint"
)

func TestOnlyTheOwnerCanReadTheFiles(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no file modes")
	}
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "weft.db")
	store := open(t, path, options)
	put(t, store, follower("t", "a", ""), "")
	_, err := store.Lease(ctx, "t")
	require.NoError(t, err)
	for _, suffix := range []string{"", "-wal", "-shm", "-lock"} {
		info, err := os.Stat(path + suffix)
		require.NoError(t, err)
		assert.Equal(t, os.FileMode(0o600), info.Mode().Perm(), suffix)
	}
}

func TestRemovedValuesLeaveTheFile(t *testing.T) {
	t.Parallel()
	const secret = "correct horse battery staple"
	tests := map[string]func(ctx context.Context, store *sqlitecheckpoint.Store) error{
		"delete thread": func(ctx context.Context, store *sqlitecheckpoint.Store) error {
			return store.DeleteThread(ctx, "t")
		},
		"delete runs": func(ctx context.Context, store *sqlitecheckpoint.Store) error {
			return store.DeleteRuns(ctx, "t", "secret")
		},
		"prune": func(ctx context.Context, store *sqlitecheckpoint.Store) error {
			_, err := store.Prune(ctx, checkpoint.PrunePolicy{})
			return err
		},
		"settle": func(ctx context.Context, store *sqlitecheckpoint.Store) error { return nil },
	}
	for name, remove := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := context.Background()
			path := filepath.Join(t.TempDir(), "weft.db")
			store := open(t, path, options)
			// The second checkpoint has a snapshot, so the changes of the first are not
			// needed. One value fits into a page, and one needs many pages.
			small, large := []byte(secret), []byte(strings.Repeat(secret, 1000))
			first, second := follower("t", "a", ""), follower("t", "b", "a")
			if name != "settle" {
				first.Run, first.Control = "secret", small
				first.Changes = []checkpoint.Change{{Channel: "c", Data: small}, {Channel: "d", Data: large}}
			}
			second.Snapshot, second.Settles = []checkpoint.Change{}, true
			put(t, store, first, "")
			require.NoError(t, store.PutWrites(ctx, first.Key, []checkpoint.Write{{Task: "a", Data: small}, {Task: "b", Data: large}}))
			put(t, store, second, "a")
			require.NoError(t, remove(ctx, store))
			_, err := rawDB(t, path).Exec(`PRAGMA wal_checkpoint(TRUNCATE)`)
			require.NoError(t, err)
			for _, suffix := range []string{"", "-wal"} {
				b, err := os.ReadFile(path + suffix)
				require.NoError(t, err)
				assert.NotContains(t, string(b), secret, suffix)
			}
		})
	}
}
