//go:build !windows

package sqlitecheckpoint_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/sqlitecheckpoint"
)

// Windows refuses to remove or rename an open file, so the tests of this file do not run there.
func TestWritesToAReplacedFileFail(t *testing.T) {
	t.Parallel()
	tests := map[string]func(t *testing.T, path string){
		"deleted": func(t *testing.T, path string) { require.NoError(t, os.Remove(path)) },
		"renamed": func(t *testing.T, path string) { require.NoError(t, os.Rename(path, path+".old")) },
		"replaced": func(t *testing.T, path string) {
			other := filepath.Join(t.TempDir(), "other.db")
			require.NoError(t, open(t, other, options).Close())
			require.NoError(t, os.Rename(other, path))
		},
	}
	for name, replace := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := context.Background()
			path := filepath.Join(t.TempDir(), "weft.db")
			store := open(t, path, options)
			put(t, store, follower("t", "a", ""), "")
			replace(t, path)
			k := checkpoint.Key{Thread: "t", ID: "a"}
			for what, err := range map[string]error{
				"put":        store.Put(ctx, follower("t", "b", "a"), "a"),
				"put writes": store.PutWrites(ctx, k, []checkpoint.Write{{Task: "x"}}),
				"delete":     store.DeleteThread(ctx, "t"),
			} {
				require.ErrorIs(t, err, sqlitecheckpoint.ErrReplaced, what)
				assert.ErrorContains(t, err, path, what)
				assert.ErrorContains(t, err, "open it again", what)
			}
			// The first read opens a connection by the path, so it sees the new file.
			_, err := store.Get(ctx, k)
			assert.ErrorIs(t, err, sqlitecheckpoint.ErrReplaced)
		})
	}
}

func TestFileThatIsPutBackWorksAgain(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "weft.db")
	store := open(t, path, options)
	put(t, store, follower("t", "a", ""), "")
	require.NoError(t, os.Rename(path, path+".old"))
	require.ErrorIs(t, store.Put(ctx, follower("t", "b", "a"), "a"), sqlitecheckpoint.ErrReplaced)
	require.NoError(t, os.Rename(path+".old", path))
	require.NoError(t, store.Put(ctx, follower("t", "b", "a"), "a"), "the same checkpoint once more")
	require.NoError(t, store.Put(ctx, follower("t", "c", "b"), "b"))
}
