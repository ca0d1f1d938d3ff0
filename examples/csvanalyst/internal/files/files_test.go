package files_test

import (
	"context"
	"io"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/examples/csvanalyst/internal/files"
	"github.com/weft-go/weft/examples/csvanalyst/internal/records"
)

// endless is an upload without an end. It counts the bytes that the store reads.
type endless struct {
	read int
	then func() // Read calls it once, after two megabytes
}

func (e *endless) Read(p []byte) (int, error) {
	for i := range p {
		if p[i] = 'x'; i%512 == 511 {
			p[i] = '\n'
		}
	}
	if e.read += len(p); e.read > 2<<20 && e.then != nil {
		then := e.then
		e.then = nil
		then()
	}
	return len(p), nil
}

func store(t *testing.T, bytes int64) (*files.Store, *records.DB, context.Context, string) {
	t.Helper()
	folder := t.TempDir()
	r, err := records.OpenSQLite(t.Context(), filepath.Join(folder, "records.db"))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.Close()) })
	r.Limits.Bytes = bytes
	s, err := files.Open(folder, r)
	require.NoError(t, err)
	session, err := r.EnsureSession(t.Context(), "ann", "one")
	require.NoError(t, err)
	return s, r, t.Context(), session.ID
}

// An upload that needs more than the room fails before its end, and leaves no file.
func TestUploadEndsWhereTheRoomEnds(t *testing.T) {
	t.Parallel()
	s, r, ctx, session := store(t, 3<<20)
	content := &endless{}
	_, err := s.Add(ctx, session, "large.csv", content)
	require.ErrorIs(t, err, records.ErrQuota)
	assert.Less(t, content.read, 5<<20)
	all, err := r.Resources(ctx, session)
	require.NoError(t, err)
	assert.Empty(t, all)
}

// Uploads at the same time share the room. An upload that fails frees its share.
func TestUploadsAtTheSameTimeShareTheRoom(t *testing.T) {
	t.Parallel()
	s, _, ctx, session := store(t, 3<<20)
	var second *endless
	first := &endless{then: func() {
		second = &endless{}
		_, err := s.Add(ctx, session, "second.csv", second)
		require.ErrorIs(t, err, records.ErrQuota)
	}}
	_, err := s.Add(ctx, session, "first.csv", first)
	require.ErrorIs(t, err, records.ErrQuota)
	assert.Less(t, second.read, 3<<20, "the first had two megabytes by then")
	assert.Greater(t, first.read, 3<<20)
	_, err = s.Add(ctx, session, "small.csv", io.LimitReader(&endless{}, 2<<20))
	require.NoError(t, err)
}
