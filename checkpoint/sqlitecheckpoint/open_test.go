package sqlitecheckpoint_test

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/sqlitecheckpoint"
)

func TestOpenRejectsInvalidPathsAndFiles(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	text := filepath.Join(folder, "notes.txt")
	require.NoError(t, os.WriteFile(text, []byte(strings.Repeat("not a database\n", 100)), 0o600))
	tests := []struct {
		name string
		path string
		o    sqlitecheckpoint.Options
		want error
		says string
	}{
		{name: "a folder", path: folder, want: checkpoint.ErrInvalid, says: "not a regular file"},
		{name: "no folder", path: filepath.Join(folder, "none", "weft.db"), want: fs.ErrNotExist, says: "the folder of the file"},
		{name: "a text", path: text, want: checkpoint.ErrFormat, says: "not a database"},
		{name: "no path", want: checkpoint.ErrInvalid, says: "empty path"},
		{
			name: "unknown Synchronous", path: filepath.Join(folder, "a.db"),
			o: sqlitecheckpoint.Options{Synchronous: 7}, want: checkpoint.ErrInvalid, says: "Synchronous(7)",
		},
		{
			name: "negative MaxSize", path: filepath.Join(folder, "b.db"),
			o: sqlitecheckpoint.Options{MaxSize: -1}, want: checkpoint.ErrInvalid, says: "MaxSize",
		},
		{
			name: "a MaxSize too small for its tables", path: filepath.Join(folder, "c.db"),
			o: sqlitecheckpoint.Options{MaxSize: 4096}, want: sqlitecheckpoint.ErrFull, says: "full",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			store, err := sqlitecheckpoint.Open(context.Background(), tt.path, tt.o)
			if err == nil {
				_ = store.Close()
			}
			require.ErrorIs(t, err, tt.want)
			require.ErrorContains(t, err, tt.says)
			require.ErrorContains(t, err, tt.path)
		})
	}
	_, err := os.Stat(filepath.Join(folder, "none"))
	require.ErrorIs(t, err, fs.ErrNotExist, "the folder that was missing")
}

func TestWriteToAReadOnlyFileIsAnError(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "weft.db")
	require.NoError(t, open(t, path, options).Close())
	require.NoError(t, os.Chmod(path, 0o400))
	if f, err := os.OpenFile(path, os.O_RDWR, 0); err == nil {
		_ = f.Close()
		// Root can write any file, whatever its mode. So mark the file itself as
		// read-only.
		markReadOnly(t, path)
	}
	store, err := sqlitecheckpoint.Open(context.Background(), path, options)
	if err == nil {
		err = store.Put(context.Background(), follower("t", "a", ""), "")
		_ = store.Close()
	}
	require.Error(t, err)
	require.ErrorContains(t, err, "readonly")
	require.ErrorContains(t, err, path)
}

// markReadOnly sets the write version in the file to an unknown one. SQLite reads such a
// file, but does not write it.
func markReadOnly(t *testing.T, path string) {
	t.Helper()
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	b[18] = 3
	require.NoError(t, os.WriteFile(path, b, 0o600))
}

func TestNewerSchemaIsAnError(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"a newer version":           `INSERT INTO cp_migration (version, name, checksum, applied) VALUES (1000, 'later', 'x', 0)`,
		"another version one":       `UPDATE cp_migration SET checksum = 'x' WHERE version = 1`,
		"a version that is missing": `UPDATE cp_migration SET version = 0 WHERE version = 1`,
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "weft.db")
			require.NoError(t, open(t, path, options).Close())
			_, err := rawDB(t, path).Exec(change)
			require.NoError(t, err)
			_, err = sqlitecheckpoint.Open(context.Background(), path, options)
			assert.ErrorIs(t, err, checkpoint.ErrFormat)
		})
	}
}

// Characters with a meaning in a URI are ordinary characters of a path.
func TestPathWithURICharactersIsUsedUnchanged(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	names := []string{"b#c.db", "d%20e.db", "f g&h=i.db", "ü+;'.db"}
	if runtime.GOOS != "windows" { // Windows allows no such names
		names = append(names, "a?mode=memory.db", "k\".db", "file:j.db")
	}
	for _, name := range names {
		path := filepath.Join(folder, name)
		store := open(t, path, options)
		require.NoError(t, store.Put(context.Background(), follower("t", "a", ""), ""), "%s", name)
		_, err := os.Stat(path)
		require.NoError(t, err, "%s", name)
	}
}

// A lease excludes a store that opened the file through a symbolic link.
func TestLeaseExcludesAStoreBehindASymlink(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	folder := t.TempDir()
	path, link := filepath.Join(folder, "weft.db"), filepath.Join(folder, "link.db")
	first := open(t, path, options)
	require.NoError(t, os.Symlink(path, link))
	second := open(t, link, options)
	lease, err := first.Lease(ctx, "t")
	require.NoError(t, err)
	_, err = second.Lease(ctx, "t")
	require.ErrorIs(t, err, checkpoint.ErrConflict)
	require.NoError(t, lease.Release(ctx))
	_, err = second.Lease(ctx, "t")
	require.NoError(t, err)
}

func TestEveryMethodFailsAfterClose(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, path := range []string{sqlitecheckpoint.Memory, filepath.Join(t.TempDir(), "weft.db")} {
		store := open(t, path, options)
		lease, err := store.Lease(ctx, "t")
		require.NoError(t, err)
		require.NoError(t, store.Close())
		require.NoError(t, store.Close(), "%s: second Close", path)
		require.NoError(t, lease.Release(ctx), "%s: release after Close", path)
		k := checkpoint.Key{Thread: "t", ID: "a"}
		_, getErr := store.Get(ctx, k)
		_, leaseErr := store.Lease(ctx, "t")
		for what, err := range map[string]error{
			"put":    store.Put(ctx, follower("t", "a", ""), ""),
			"writes": store.PutWrites(ctx, k, nil),
			"get":    getErr,
			"lease":  leaseErr,
			"delete": store.DeleteThread(ctx, "t"),
		} {
			assert.ErrorIs(t, err, fs.ErrClosed, what)
		}
	}
}

// While another process writes, a write waits until BusyTimeout has passed or its context
// ends.
func TestWriteWaitsForTheBusyTimeoutOrItsContext(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "weft.db")
	patient := open(t, path, options)
	hurried := open(t, path, sqlitecheckpoint.Options{BusyTimeout: -1})
	db := rawDB(t, path)
	_, err := db.Exec(`BEGIN IMMEDIATE`)
	require.NoError(t, err)
	err = hurried.Put(context.Background(), follower("t", "a", ""), "")
	require.Error(t, err, "without patience")
	require.ErrorContains(t, err, "locked", "without patience")
	require.ErrorContains(t, err, path, "without patience")
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	start := time.Now()
	assert.ErrorIs(t, patient.Put(ctx, follower("t", "a", ""), ""), context.DeadlineExceeded)
	took := time.Since(start)
	assert.LessOrEqual(t, took, 2*time.Second, "with a deadline of 50 ms")
	_, err = patient.Get(context.Background(), checkpoint.Key{Thread: "t"})
	require.ErrorIs(t, err, checkpoint.ErrNotFound, "a read does not wait")
	done := make(chan error, 1)
	go func() { done <- patient.Put(context.Background(), follower("t", "a", ""), "") }()
	_, err = db.Exec(`COMMIT`)
	require.NoError(t, err)
	require.NoError(t, <-done, "with patience")
}
