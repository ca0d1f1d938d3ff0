package memcheckpoint

import (
	"context"
	"fmt"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
)

// TestIDsInAnyOrderAreFound proves that each checkpoint is found by its id, in whatever order the ids come, also
// after some were removed and put again, and that an absent id is not found.
func TestIDsInAnyOrderAreFound(t *testing.T) {
	t.Parallel()
	const n = 2*lastPart + 7
	orders := map[string]func(i int) int{
		"ascending":           func(i int) int { return i },
		"descending":          func(i int) int { return n - 1 - i },
		"mixed":               func(i int) int { return i * 389 % n },
		"one is out of order": func(i int) int { return (i + 1) % n },
	}
	for name, order := range orders {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			th := newThread()
			id := func(i int) string { return fmt.Sprintf("%05d", 2*i) }
			put := func(i int) {
				namespace := fmt.Sprint(i % 3)
				head := th.id(th.newestOf(namespace))
				c := &checkpoint.Checkpoint{Key: checkpoint.Key{Thread: "t", Namespace: namespace, ID: id(i)}, Parent: head}
				require.NoError(t, th.put(c, head))
				require.NoError(t, th.put(c, head), "the same Put again")
			}
			for i := range n {
				put(order(i))
			}
			check := func(present func(i int) bool) {
				for i := range n {
					assert.Equal(t, present(i), th.withID(id(i)) != none, "id %d", i)
					if at := th.withID(id(i)); at != none {
						require.Equal(t, id(i), th.id(at))
					}
					require.EqualValues(t, none, th.withID(fmt.Sprintf("%05d", 2*i+1)))
				}
				require.EqualValues(t, none, th.withID("/"))
				require.EqualValues(t, none, th.withID(""))
			}
			check(func(int) bool { return true })
			odd := func(i int) bool { return i%2 == 1 }
			th.sweep(th.dropped(func(at int32) bool { i, _ := strconv.Atoi(th.id(at)); return odd(i / 2) }))
			check(func(i int) bool { return !odd(i) })
			for i := range n {
				if odd(i) {
					put(i)
				}
			}
			check(func(int) bool { return true })
		})
	}
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
