package checkpoint_test

import (
	"context"
	"iter"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
)

// A tamperingStore alters the checkpoints that it returns, as an attacker who can write to
// the database could.
type tamperingStore struct {
	*innerStore
	alter func(c *checkpoint.Checkpoint)
}

func (s *tamperingStore) Get(ctx context.Context, k checkpoint.Key) (checkpoint.Checkpoint, error) {
	c, err := s.innerStore.Get(ctx, k)
	if err == nil {
		s.alter(&c)
	}
	return c, err
}

func (s *tamperingStore) List(ctx context.Context, q checkpoint.Query) iter.Seq2[checkpoint.Checkpoint, error] {
	return func(yield func(checkpoint.Checkpoint, error) bool) {
		for c, err := range s.innerStore.List(ctx, q) {
			if err == nil {
				s.alter(&c)
			}
			if !yield(c, err) {
				return
			}
		}
	}
}

// putThread stores the checkpoints 1 to 5 of thread "t", and checkpoint x in namespace "n".
// Checkpoint 4 has a snapshot, and checkpoint 5 has three pending writes.
func putThread(t *testing.T, s checkpoint.Store) {
	t.Helper()
	ctx := t.Context()
	head := ""
	for i, id := range []string{"1", "2", "3", "4", "5"} {
		c := threadStep(id, head, i)
		if id == "4" {
			c.Snapshot = []checkpoint.Change{{Channel: "log", Kind: 1, Data: []byte("whole 4")}}
		}
		require.NoError(t, s.Put(ctx, c, head))
		head = id
	}
	x := threadStep("x", "", 7)
	x.Namespace = "n"
	require.NoError(t, s.Put(ctx, x, ""))
	require.NoError(t, s.PutWrites(ctx, checkpoint.Key{Thread: "t", ID: "5"}, threadWrites()))
}

func threadStep(id, parent string, step int) checkpoint.Checkpoint {
	return checkpoint.Checkpoint{
		Key: checkpoint.Key{Thread: "t", ID: id}, Parent: parent, Step: step, Source: checkpoint.Loop, Run: "run", Version: "1",
		Metadata: map[string]string{"user": "ann"}, Control: []byte("control " + id),
		Changes: []checkpoint.Change{{Channel: "log", Kind: 2, Data: []byte("first " + id)}, {Channel: "log", Kind: 2, Data: []byte("second " + id)}},
	}
}

func threadWrites() []checkpoint.Write {
	return []checkpoint.Write{
		{Task: "a", Index: 0, Channel: "log", Kind: 7, Data: []byte("a0")},
		{Task: "a", Index: 1, Channel: "log", Kind: 7, Data: []byte("a1")},
		{Task: "b", Index: -1, Channel: "$ask", Data: []byte("b")},
	}
}

// Get returns [checkpoint.ErrDecrypt] for every alteration of a checkpoint. List returns it
// too if it yields the altered field.
func TestEncryptedDetectsAlteration(t *testing.T) {
	t.Parallel()
	const getOnly = true
	donor := func(t *testing.T, inner *innerStore, id string) checkpoint.Checkpoint {
		c, err := inner.Get(t.Context(), checkpoint.Key{Thread: "t", ID: id})
		require.NoError(t, err)
		return c
	}
	tests := []struct {
		name    string
		id      string
		getOnly bool
		alter   func(c, other *checkpoint.Checkpoint)
	}{
		{"run", "3", false, func(c, _ *checkpoint.Checkpoint) { c.Run = "other" }},
		{"step", "3", false, func(c, _ *checkpoint.Checkpoint) { c.Step++ }},
		{"source", "3", false, func(c, _ *checkpoint.Checkpoint) { c.Source = checkpoint.Fork }},
		{"version", "3", false, func(c, _ *checkpoint.Checkpoint) { c.Version = "2" }},
		{"metadata value", "3", false, func(c, _ *checkpoint.Checkpoint) { c.Metadata = map[string]string{"user": "mallory"} }},
		{"metadata added", "3", false, func(c, _ *checkpoint.Checkpoint) {
			c.Metadata = maps.Clone(c.Metadata)
			c.Metadata["admin"] = "yes"
		}},
		{"metadata removed", "3", false, func(c, _ *checkpoint.Checkpoint) { c.Metadata = nil }},
		{"metadata and version exchanged", "3", false, func(c, _ *checkpoint.Checkpoint) { c.Run, c.Version = c.Version, c.Run }},
		{"thread", "3", false, func(c, _ *checkpoint.Checkpoint) { c.Thread = "u" }},
		{"namespace", "3", false, func(c, _ *checkpoint.Checkpoint) { c.Namespace = "n" }},
		{"id", "3", false, func(c, _ *checkpoint.Checkpoint) { c.ID = "9" }},
		{"parent is an older ancestor", "3", false, func(c, _ *checkpoint.Checkpoint) { c.Parent = "1" }},
		{"no parent", "3", false, func(c, _ *checkpoint.Checkpoint) { c.Parent = "" }},
		{"a parent for the first", "1", false, func(c, _ *checkpoint.Checkpoint) { c.Parent = "2" }},
		{"parent behind a snapshot", "4", false, func(c, _ *checkpoint.Checkpoint) { c.Parent = "1" }},
		{"control of another", "3", false, func(c, other *checkpoint.Checkpoint) { c.Control = other.Control }},
		{"control in plain", "3", false, func(c, _ *checkpoint.Checkpoint) { c.Control = []byte("\x02control") }},
		{"no control", "3", false, func(c, _ *checkpoint.Checkpoint) { c.Control = nil }},
		{"control cut off", "3", false, func(c, _ *checkpoint.Checkpoint) { c.Control = c.Control[:20] }},
		{"all changes dropped", "3", getOnly, func(c, _ *checkpoint.Checkpoint) { c.Changes = nil }},
		{"all changes dropped, not nil", "3", getOnly, func(c, _ *checkpoint.Checkpoint) { c.Changes = c.Changes[:0] }},
		{"all changes but the link dropped", "3", getOnly, func(c, _ *checkpoint.Checkpoint) { c.Changes = c.Changes[2:] }},
		{"first change dropped", "3", getOnly, func(c, _ *checkpoint.Checkpoint) { c.Changes = c.Changes[1:] }},
		{"link dropped", "3", getOnly, func(c, _ *checkpoint.Checkpoint) { c.Changes = c.Changes[:2] }},
		{"changes reordered", "3", getOnly, func(c, _ *checkpoint.Checkpoint) {
			c.Changes[0], c.Changes[1] = c.Changes[1], c.Changes[0]
		}},
		{"change duplicated", "3", getOnly, func(c, _ *checkpoint.Checkpoint) { c.Changes = slices.Insert(c.Changes, 0, c.Changes[0]) }},
		{"changes of another", "3", getOnly, func(c, other *checkpoint.Checkpoint) { c.Changes = other.Changes }},
		{"channel", "3", getOnly, func(c, _ *checkpoint.Checkpoint) { c.Changes[0].Channel = "other" }},
		{"kind", "3", getOnly, func(c, _ *checkpoint.Checkpoint) { c.Changes[0].Kind = 1 }},
		{"kind of the link", "3", getOnly, func(c, _ *checkpoint.Checkpoint) { c.Changes[2].Kind = 1 }},
		{"snapshot dropped", "4", getOnly, func(c, _ *checkpoint.Checkpoint) { c.Snapshot = nil }},
		{"snapshot added", "3", getOnly, func(c, _ *checkpoint.Checkpoint) { c.Snapshot = c.Changes }},
		{"snapshot of nothing", "4", getOnly, func(c, _ *checkpoint.Checkpoint) { c.Snapshot = c.Snapshot[:0] }},
		{"changes as snapshot", "4", getOnly, func(c, _ *checkpoint.Checkpoint) { c.Snapshot = c.Changes }},
		{"snapshot as changes", "4", getOnly, func(c, _ *checkpoint.Checkpoint) { c.Changes = c.Snapshot }},
		{"write dropped", "5", false, func(c, _ *checkpoint.Checkpoint) { c.Writes = c.Writes[1:] }},
		{"all writes but one dropped", "5", false, func(c, _ *checkpoint.Checkpoint) { c.Writes = c.Writes[2:] }},
		{"task of a write", "5", false, func(c, _ *checkpoint.Checkpoint) { c.Writes[0].Task = "c" }},
		{"index of a write", "5", false, func(c, _ *checkpoint.Checkpoint) { c.Writes[0].Index = 5 }},
		{"channel of a write", "5", false, func(c, _ *checkpoint.Checkpoint) { c.Writes[0].Channel = "c" }},
		{"kind of a write", "5", false, func(c, _ *checkpoint.Checkpoint) { c.Writes[0].Kind = 8 }},
		{"writes exchanged", "5", false, func(c, _ *checkpoint.Checkpoint) {
			c.Writes[0].Data, c.Writes[1].Data = c.Writes[1].Data, c.Writes[0].Data
		}},
		{"write of another checkpoint", "3", false, func(c, _ *checkpoint.Checkpoint) {
			c.Writes = []checkpoint.Write{{Task: "a", Channel: "log", Data: c.Control}}
		}},
		{"whole other checkpoint", "3", getOnly, func(c, other *checkpoint.Checkpoint) { *c = *other }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			inner := newInner()
			putThread(t, mustEncrypt(t, inner, ring("a")))
			other := donor(t, inner, "2")
			altering := &tamperingStore{innerStore: inner, alter: func(c *checkpoint.Checkpoint) {
				if c.ID == tt.id {
					tt.alter(c, &other)
				}
			}}
			store := mustEncrypt(t, altering, ring("a"))
			got, err := store.Get(ctx, checkpoint.Key{Thread: "t", ID: tt.id})
			require.ErrorIs(t, err, checkpoint.ErrDecrypt, "Get returned %+v", got)
			assert.ErrorContains(t, err, `"t"`, "names the thread")
			if tt.getOnly {
				return
			}
			_, err = listAll(ctx, store, "t")
			assert.ErrorIs(t, err, checkpoint.ErrDecrypt, "List")
		})
	}
}

// Get returns an error if an ancestor in the lineage is missing, altered or exchanged.
func TestEncryptedDetectsBrokenLineage(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		id    string
		alter func(lineage []checkpoint.Delta) []checkpoint.Delta
	}{
		{"first missing", "3", func(l []checkpoint.Delta) []checkpoint.Delta { return l[1:] }},
		{"all ancestors missing", "3", func(l []checkpoint.Delta) []checkpoint.Delta { return l[2:] }},
		{"middle missing", "3", func(l []checkpoint.Delta) []checkpoint.Delta { return slices.Delete(l, 1, 2) }},
		{"itself missing", "3", func(l []checkpoint.Delta) []checkpoint.Delta { return l[:2] }},
		{"empty", "3", func([]checkpoint.Delta) []checkpoint.Delta { return nil }},
		{"reordered", "3", func(l []checkpoint.Delta) []checkpoint.Delta { l[0], l[1] = l[1], l[0]; return l }},
		{"duplicated", "3", func(l []checkpoint.Delta) []checkpoint.Delta { return slices.Insert(l, 0, l[0]) }},
		{"renamed", "3", func(l []checkpoint.Delta) []checkpoint.Delta { l[1].ID = "9"; return l }},
		{"source", "3", func(l []checkpoint.Delta) []checkpoint.Delta { l[1].Source = checkpoint.Fork; return l }},
		{"its source", "3", func(l []checkpoint.Delta) []checkpoint.Delta { l[2].Source = checkpoint.Fork; return l }},
		{"changes of the first dropped", "3", func(l []checkpoint.Delta) []checkpoint.Delta { l[0].Changes = nil; return l }},
		{"changes of the middle dropped", "3", func(l []checkpoint.Delta) []checkpoint.Delta { l[1].Changes = nil; return l }},
		{"changes of the first without its link", "3", func(l []checkpoint.Delta) []checkpoint.Delta {
			l[0].Changes = l[0].Changes[:0]
			return l
		}},
		{"changes exchanged", "3", func(l []checkpoint.Delta) []checkpoint.Delta {
			l[0].Changes, l[1].Changes = l[1].Changes, l[0].Changes
			return l
		}},
		{"changes called a snapshot", "3", func(l []checkpoint.Delta) []checkpoint.Delta { l[0].Snapshot = true; return l }},
		{"begins at a false snapshot", "3", func(l []checkpoint.Delta) []checkpoint.Delta { l[1].Snapshot = true; return l[1:] }},
		{"snapshot missing", "5", func(l []checkpoint.Delta) []checkpoint.Delta { return l[1:] }},
		{"snapshot called changes", "5", func(l []checkpoint.Delta) []checkpoint.Delta { l[0].Snapshot = false; return l }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			inner := newInner()
			putThread(t, mustEncrypt(t, inner, ring("a")))
			altering := &tamperingStore{innerStore: inner, alter: func(c *checkpoint.Checkpoint) { c.Lineage = tt.alter(c.Lineage) }}
			_, err := mustEncrypt(t, altering, ring("a")).Get(t.Context(), checkpoint.Key{Thread: "t", ID: tt.id})
			require.ErrorIs(t, err, checkpoint.ErrDecrypt)
			assert.ErrorContains(t, err, `"t"`)
		})
	}
}

// Get returns [checkpoint.ErrDecrypt] if frames of a checkpoint were replaced by frames of
// an earlier checkpoint with the same id.
func TestEncryptedDetectsFramesOfAnEarlierCheckpointWithTheSameID(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	put := func(text string) (*innerStore, checkpoint.Checkpoint) {
		inner := newInner()
		store := mustEncrypt(t, inner, ring("a"))
		first := threadStep("1", "", 0)
		first.Changes[0].Data = []byte(text)
		require.NoError(t, store.Put(ctx, first, ""))
		require.NoError(t, store.Put(ctx, threadStep("2", "1", 1), "1"))
		c, err := inner.Get(ctx, first.Key)
		require.NoError(t, err)
		return inner, c
	}
	inner, _ := put("new")
	_, old := put("old")
	for _, part := range []string{"changes", "control", "lineage of its child"} {
		altering := &tamperingStore{innerStore: inner, alter: func(c *checkpoint.Checkpoint) {
			switch {
			case part == "changes" && c.ID == "1":
				c.Changes = old.Changes
			case part == "control" && c.ID == "1":
				c.Control = old.Control
			case part == "lineage of its child" && c.ID == "2":
				c.Lineage[0] = old.Lineage[0]
			}
		}}
		id := "1"
		if strings.HasPrefix(part, "lineage") {
			id = "2"
		}
		_, err := mustEncrypt(t, altering, ring("a")).Get(ctx, checkpoint.Key{Thread: "t", ID: id})
		assert.ErrorIs(t, err, checkpoint.ErrDecrypt, part)
	}
}

// A pending write can be replaced, although the previous write of the same PutWrites is encrypted
// with the task and index of the replaced write.
func TestEncryptedAcceptsReplacedWrites(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	store := mustEncrypt(t, newInner(), ring("a"))
	putThread(t, store)
	k := checkpoint.Key{Thread: "t", ID: "5"}
	require.NoError(t, store.PutWrites(ctx, k, []checkpoint.Write{{Task: "a", Index: 1, Channel: "log", Kind: 7, Data: []byte("again")}}))
	require.NoError(t, store.PutWrites(ctx, k, nil))
	got, err := store.Get(ctx, k)
	require.NoError(t, err)
	want := threadWrites()
	want[1].Data = []byte("again")
	assert.Equal(t, want, got.Writes)
}

// After Prune, the remaining checkpoints can be read, although the inner store reports
// another parent for some of them. Apart from the parent they are unchanged.
func TestEncryptedAcceptsRemovedAncestors(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	for _, keep := range []int{1, 2, 3, 4} {
		store := mustEncrypt(t, newInner(), ring("a"))
		putThread(t, store)
		before := getAll(ctx, t, store, "t")
		_, err := store.Prune(ctx, checkpoint.PrunePolicy{KeepLast: keep})
		require.NoError(t, err)
		after := getAll(ctx, t, store, "t")
		for k, c := range after {
			want := before[k]
			want.Parent = c.Parent
			assert.Equal(t, want, c, "checkpoint %q after keeping %d", k.ID, keep)
		}
		require.NoError(t, store.Put(ctx, threadStep("6", "5", 9), "5"))
		_, err = store.Get(ctx, checkpoint.Key{Thread: "t"})
		require.NoError(t, err)
	}
}

func listAll(ctx context.Context, s checkpoint.Store, thread string) ([]checkpoint.Checkpoint, error) {
	var all []checkpoint.Checkpoint
	for c, err := range s.List(ctx, checkpoint.Query{Thread: thread, AllNamespaces: true, Writes: true}) {
		if err != nil {
			return all, err
		}
		all = append(all, c)
	}
	return all, nil
}

// getAll reads every checkpoint of a thread.
func getAll(ctx context.Context, t *testing.T, s checkpoint.Store, thread string) map[checkpoint.Key]checkpoint.Checkpoint {
	t.Helper()
	list, err := listAll(ctx, s, thread)
	require.NoError(t, err)
	all := map[checkpoint.Key]checkpoint.Checkpoint{}
	for _, c := range list {
		all[c.Key], err = s.Get(ctx, c.Key)
		require.NoError(t, err)
	}
	return all
}
