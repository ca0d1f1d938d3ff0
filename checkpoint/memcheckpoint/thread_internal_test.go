package memcheckpoint

import (
	"context"
	"fmt"
	"hash/maphash"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
)

// TestIDsWithEqualHashesAreFound proves that a checkpoint is found although its id has the hash of
// another id, and that an absent id is not found.
func TestIDsWithEqualHashesAreFound(t *testing.T) {
	t.Parallel()
	th, head := newThread(), ""
	put := func(id string) {
		require.NoError(t, th.put(&checkpoint.Checkpoint{Key: checkpoint.Key{Thread: "t", ID: id}, Parent: head}, head))
		head = id
	}
	for i := range short + 1 {
		put(fmt.Sprint(i))
	}
	hash := maphash.String(seed, "a")
	th.byID[hash], th.byID[hash+1] = 0, 1 // as if the ids 0 and 1 had these hashes
	put("a")
	assert.Equal(t, int32(short+1), th.withID("a"))
	hash = maphash.String(seed, "b")
	th.byID[hash] = 0
	assert.Equal(t, int32(none), th.withID("b"))
}

// TestLabelsOfRemovedCheckpointsAreFreed proves that a thread that is pruned after each run does
// not grow by the labels of the runs, and that it keeps no metadata of runs that were deleted.
func TestLabelsOfRemovedCheckpointsAreFreed(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for name, remove := range map[string]func(s *Store, run string) error{
		"pruned": func(s *Store, _ string) error {
			_, err := s.Prune(ctx, checkpoint.PrunePolicy{KeepLast: 1})
			return err
		},
		"runs deleted": func(s *Store, run string) error { return s.DeleteRuns(ctx, "t", run) },
	} {
		for _, snapshots := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, snapshots %t", name, snapshots), func(t *testing.T) {
				t.Parallel()
				s, head := New(Options{}), ""
				for i := range 40 {
					c := checkpoint.Checkpoint{
						Key: checkpoint.Key{Thread: "t", ID: fmt.Sprint(i)}, Parent: head, Source: checkpoint.Loop,
						Run: fmt.Sprint("run", i), Metadata: map[string]string{"user": fmt.Sprint(i)},
						Changes: []checkpoint.Change{{Channel: "c", Data: []byte("1")}},
					}
					if snapshots {
						c.Snapshot = c.Changes
					}
					require.NoError(t, s.Put(ctx, c, head))
					head = c.ID
					if i > 0 {
						require.NoError(t, remove(s, fmt.Sprint("run", i-1)))
					}
				}
				th := s.threads["t"]
				assert.LessOrEqual(t, len(th.labels), 2, "those of the checkpoint, and of the records of its lineage")
				got, err := s.Get(ctx, checkpoint.Key{Thread: "t"})
				require.NoError(t, err)
				assert.Equal(t, map[string]string{"user": "39"}, got.Metadata)
				assert.Equal(t, "run39", got.Run)
				for _, d := range got.Lineage {
					assert.Equal(t, checkpoint.Loop, d.Source)
				}
				if !snapshots {
					assert.Len(t, got.Lineage, 40)
				}
			})
		}
	}
}
