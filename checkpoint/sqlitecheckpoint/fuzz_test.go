package sqlitecheckpoint_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/sqlitecheckpoint"
)

// FuzzNames checks that the store returns arbitrary names unchanged and finds checkpoints
// by them.
func FuzzNames(f *testing.F) {
	f.Add("t", "", "0197a6b0-7c1a-7e2f-8a3b-000000000001", "run", []byte("control"))
	f.Add("t", "ns", "0197A6B0-7C1A-7E2F-8A3B-000000000001", "", []byte{})
	f.Add("\x00", "\xff", "------------------------------------", "'", []byte(nil))
	f.Add("%", "_", "0197a6b0-7c1a-7e2f-8a3b-0000000-0001", "\"", []byte{0})
	f.Fuzz(func(t *testing.T, thread, namespace, id, run string, control []byte) {
		ctx := context.Background()
		store := open(t, sqlitecheckpoint.Memory, sqlitecheckpoint.Options{})
		c := checkpoint.Checkpoint{
			Key: checkpoint.Key{Thread: thread, Namespace: namespace, ID: id}, Source: checkpoint.Source(run), Run: run,
			Version: id, Metadata: map[string]string{thread: run}, Control: control,
			Changes: []checkpoint.Change{{Channel: namespace, Data: control}},
		}
		if c.Check(0) != nil {
			return
		}
		put(t, store, c, "")
		next := c
		next.ID, next.Parent = id+"+", id
		put(t, store, next, id)
		got, err := store.Get(ctx, c.Key)
		require.NoError(t, err)
		assert.Equal(t, c.Key, got.Key)
		assert.Equal(t, c.Source, got.Source)
		assert.Equal(t, run, got.Run)
		assert.Equal(t, id, got.Version)
		assert.Equal(t, run, got.Metadata[thread])
		assert.Equal(t, control, got.Control)
		assert.Equal(t, control == nil, got.Control == nil)
		q := checkpoint.Query{Thread: thread, Namespace: namespace, Run: run, Metadata: c.Metadata, Before: next.ID}
		assert.Equal(t, 1, count(t, store, q))
	})
}
