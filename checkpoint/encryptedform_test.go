package checkpoint_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
)

// A storedCall is a recorded call of an encrypted store to its inner store.
type storedCall struct {
	Checkpoint *checkpoint.Checkpoint
	Head       string
	Key        *checkpoint.Key
	Writes     []checkpoint.Write
	DeleteRun  string
}

// oldRing returns a key ring with the key of the files in testdata, and with a key for each
// id in active. The last of these ids is active, or the key of the files if there is none.
func oldRing(active ...string) checkpoint.KeyRing {
	keys := checkpoint.KeyRing{Active: "old", Keys: map[string][]byte{"old": key(7)}}
	for _, id := range active {
		keys.Active, keys.Keys[id] = id, key(id[0])
	}
	return keys
}

type runDeletingStore interface {
	checkpoint.Store
	checkpoint.RunDeleter
}

// putOldForm stores the two threads of putStored with frames of form 1.
func putOldForm(t *testing.T, inner runDeletingStore) {
	t.Helper()
	putStored(t, inner, "testdata/sealed_form1.json")
}

// putStored stores the threads "thread" and "other" of a file.
//
// Thread "thread" has the checkpoints 1 to 6. 4 and 5 fork at 3, and 4 has a snapshot.
// The run of 2 and 3 was deleted. 6 has three pending writes.
func putStored(t *testing.T, inner runDeletingStore, path string) {
	t.Helper()
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	var calls []storedCall
	require.NoError(t, json.Unmarshal(b, &calls))
	for _, c := range calls {
		switch {
		case c.Checkpoint != nil:
			require.NoError(t, inner.Put(t.Context(), *c.Checkpoint, c.Head))
		case c.DeleteRun != "":
			require.NoError(t, inner.DeleteRuns(t.Context(), c.Key.Thread, c.DeleteRun))
		default:
			require.NoError(t, inner.PutWrites(t.Context(), *c.Key, c.Writes))
		}
	}
}

// wantStored checks that s returns the decrypted values of the threads of putStored.
func wantStored(t *testing.T, s checkpoint.Store) {
	t.Helper()
	list, err := listAll(t.Context(), s, "thread")
	require.NoError(t, err)
	var ids []string
	for _, c := range list {
		ids = append(ids, c.ID)
		assert.Equal(t, "control "+c.ID, string(c.Control))
		assert.Equal(t, map[string]string{"user": "ann"}, c.Metadata)
	}
	assert.Equal(t, []string{"6", "5", "4", "1"}, ids)
	six, err := s.Get(t.Context(), checkpoint.Key{Thread: "thread"})
	require.NoError(t, err)
	assert.Equal(t, []string{"entry 1", "1", "entry 2", "2", "entry 5", "5", "entry 6", "6"}, lineageData(six.Lineage))
	assert.Equal(t, []checkpoint.Write{
		{Task: "", Index: -1, Channel: "$ask", Data: []byte("write -1")},
		{Task: "a", Index: 0, Channel: "log", Kind: 2, Data: []byte("write a0")},
		{Task: "a", Index: 1, Channel: "$done", Data: []byte("write a1")},
	}, six.Writes)
	four, err := s.Get(t.Context(), checkpoint.Key{Thread: "thread", ID: "4"})
	require.NoError(t, err)
	assert.Equal(t, []string{"whole 4"}, lineageData(four.Lineage))
	assert.Equal(t, "1", four.Parent)
	other, err := s.Get(t.Context(), checkpoint.Key{Thread: "other"})
	require.NoError(t, err)
	assert.Equal(t, "control 7", string(other.Control))
}

func lineageData(lineage []checkpoint.Delta) []string {
	var data []string
	for _, d := range lineage {
		for _, c := range d.Changes {
			data = append(data, string(c.Data))
		}
	}
	return data
}

// Every form that was ever stored must stay readable.
func TestEncryptedReadsStoredForms(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"testdata/sealed_form1.json", "testdata/sealed_form2.json"} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			inner := newInner()
			putStored(t, inner, path)
			wantStored(t, mustEncrypt(t, inner, oldRing()))
		})
	}
}

func TestEncryptedReadsAndContinuesTheOldForm(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	inner := newInner()
	putOldForm(t, inner)
	store := mustEncrypt(t, inner, oldRing())
	wantStored(t, store)
	k := checkpoint.Key{Thread: "thread", ID: "6"}
	require.NoError(t, store.PutWrites(ctx, k, []checkpoint.Write{{Task: "new", Channel: "c", Data: []byte("new")}}))
	six, err := store.Get(ctx, k)
	require.NoError(t, err)
	assert.Len(t, six.Writes, 4)

	// Read and write with different stores, so that the writing store has no cached digests.
	for _, id := range []string{"8", "9"} {
		store = mustEncrypt(t, inner, oldRing())
		head, err := store.Get(ctx, checkpoint.Key{Thread: "thread"})
		require.NoError(t, err)
		next := threadStep(id, head.ID, 9)
		next.Thread = "thread"
		require.NoError(t, mustEncrypt(t, inner, oldRing()).Put(ctx, next, head.ID))
	}
	nine, err := store.Get(ctx, checkpoint.Key{Thread: "thread"})
	require.NoError(t, err)
	assert.Equal(t, []string{
		"entry 1", "1", "entry 2", "2", "entry 5", "5", "entry 6", "6", "first 8", "second 8", "first 9", "second 9",
	}, lineageData(nine.Lineage))
}

// Replacing a frame of form 2 by one of form 1 is an error.
func TestEncryptedRefusesDowngrade(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	k := checkpoint.Key{Thread: "thread", ID: "6"}
	inner := newInner()
	putOldForm(t, inner)
	old, err := inner.Get(ctx, k)
	require.NoError(t, err)

	// Convert the thread to form 2 by two copies. Its checkpoints keep their ids.
	store := mustEncrypt(t, inner, oldRing())
	require.NoError(t, store.CopyThread(ctx, "thread", "copy"))
	back := mustEncrypt(t, inner, oldRing())
	require.NoError(t, back.DeleteThread(ctx, "thread"))
	require.NoError(t, back.CopyThread(ctx, "copy", "thread"))
	fresh, err := inner.Get(ctx, k)
	require.NoError(t, err)

	tests := []struct {
		name  string
		alter func(c *checkpoint.Checkpoint)
	}{
		{"control", func(c *checkpoint.Checkpoint) { c.Control = old.Control }},
		{"changes", func(c *checkpoint.Checkpoint) { c.Changes = old.Changes }},
		{"control and changes", func(c *checkpoint.Checkpoint) { c.Control, c.Changes = old.Control, old.Changes }},
		{"writes", func(c *checkpoint.Checkpoint) { c.Writes = old.Writes }},
		{"first ancestor", func(c *checkpoint.Checkpoint) { c.Lineage[0] = old.Lineage[0] }},
		{"middle ancestor", func(c *checkpoint.Checkpoint) { c.Lineage[2] = old.Lineage[2] }},
		{"an ancestor without changes", func(c *checkpoint.Checkpoint) { c.Lineage[2].Changes = nil }},
		{"all ancestors", func(c *checkpoint.Checkpoint) {
			copy(c.Lineage, old.Lineage[:len(old.Lineage)-1])
		}},
	}
	for _, tt := range tests {
		altering := &tamperingStore{innerStore: inner, alter: func(c *checkpoint.Checkpoint) {
			if c.ID == "6" {
				tt.alter(c)
			}
		}}
		_, err := mustEncrypt(t, altering, oldRing()).Get(ctx, k)
		assert.ErrorIs(t, err, checkpoint.ErrDecrypt, tt.name)
	}
	assert.Len(t, fresh.Lineage, len(old.Lineage))
}

// A checkpoint of form 1 after one of form 2 is an error, even if its frames are valid.
func TestEncryptedRefusesTheOldFormBehindTheNew(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	inner := newInner()
	putOldForm(t, inner)
	old, err := inner.Get(ctx, checkpoint.Key{Thread: "other"})
	require.NoError(t, err)
	require.NoError(t, inner.DeleteThread(ctx, "other"))
	store := mustEncrypt(t, inner, oldRing())
	first := threadStep("1", "", 0)
	first.Thread = "other"
	require.NoError(t, store.Put(ctx, first, ""))
	old.Parent = "1"
	require.NoError(t, inner.Put(ctx, old, "1"))
	_, err = store.Get(ctx, old.Key)
	require.ErrorIs(t, err, checkpoint.ErrDecrypt)
	assert.ErrorContains(t, err, "old form")
}

// An earlier version encrypted these values, with the key and for the checkpoint of
// TestEncryptedReadsOldGoldenBytes.
const (
	goldenControl  = "AQJrMcSy9YRONqaqoaleIIuroC8/IpPZ/HgoyYZNlq0cDiDbKAvX"
	goldenChange   = "AQJrMV1J1uM2fP0BnHizNZfPI+7iV3N9ORX690rL9chYIdxGvAQ="
	goldenSnapshot = "AQJrMaEMjYIKCXJ2amaVTSg5LqIssT4/ArrdoGqeijCK2Ey+/EFQBg=="
	goldenWrite    = "AQJrMVoNzR1McbiZFmgJlmQJX16CY7NK5aW4EBiRjR+H1b+VyA=="
)

func TestEncryptedReadsOldGoldenBytes(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	inner := newInner()
	keys := checkpoint.KeyRing{Active: "k1", Keys: map[string][]byte{"k1": key(7)}}
	k := checkpoint.Key{Thread: "thread", Namespace: "space", ID: "id"}
	stored := checkpoint.Checkpoint{
		Key:      k,
		Control:  decode(t, goldenControl),
		Changes:  []checkpoint.Change{{Channel: "a", Kind: 1, Data: decode(t, goldenChange)}},
		Snapshot: []checkpoint.Change{{Channel: "b", Kind: 2, Data: decode(t, goldenSnapshot)}},
	}
	require.NoError(t, inner.Put(ctx, stored, ""))
	require.NoError(t, inner.PutWrites(ctx, k, []checkpoint.Write{{Task: "task", Index: -1, Channel: "c", Kind: 3, Data: decode(t, goldenWrite)}}))
	got, err := mustEncrypt(t, inner, keys).Get(ctx, k)
	require.NoError(t, err)
	assert.Equal(t, "control", string(got.Control))
	assert.Equal(t, "change", string(got.Changes[0].Data))
	assert.Equal(t, "snapshot", string(got.Snapshot[0].Data))
	assert.Equal(t, "write", string(got.Writes[0].Data))

	stored.Control[0] = 9
	stored.ID = "id2"
	require.NoError(t, inner.Put(ctx, stored, "id"))
	_, err = mustEncrypt(t, inner, keys).Get(ctx, stored.Key)
	require.ErrorIs(t, err, checkpoint.ErrFormat)
	assert.ErrorContains(t, err, "control: encryption of form 9; a newer version wrote it, or the value is not encrypted")
}

// The error for a value that was stored before encryption was turned on says that the value is not encrypted.
func TestEncryptedRefusesAValueThatIsNotEncrypted(t *testing.T) {
	t.Parallel()
	for _, control := range []string{`{"v":1}`, "text", " "} {
		inner := newInner()
		k := checkpoint.Key{Thread: "thread", ID: "1"}
		require.NoError(t, inner.Put(t.Context(), checkpoint.Checkpoint{Key: k, Control: []byte(control)}, ""))
		_, err := mustEncrypt(t, inner, ring("a")).Get(t.Context(), k)
		require.ErrorIs(t, err, checkpoint.ErrFormat, control)
		assert.EqualError(t, err, `checkpoint: thread "thread", namespace "", checkpoint "1", control: the value is not encrypted`)
	}
}

func decode(t *testing.T, s string) []byte {
	t.Helper()
	b, err := base64.StdEncoding.DecodeString(s)
	require.NoError(t, err)
	return b
}

// A failed CopyThread removes its incomplete copy.
func TestEncryptedCopyThreadIsUndone(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	inner := &failingStore{innerStore: newInner(), left: -1}
	store := mustEncrypt(t, inner, ring("a"))
	putThread(t, store)
	for n := range 6 {
		inner.left = n
		err := store.CopyThread(ctx, "t", "copy")
		inner.left = -1
		require.ErrorIs(t, err, errFailing, "after %d puts", n)
		_, err = inner.Get(ctx, checkpoint.Key{Thread: "copy"})
		require.ErrorIs(t, err, checkpoint.ErrNotFound, "after %d puts", n)
	}
	require.NoError(t, store.CopyThread(ctx, "t", "copy"))
}

var errFailing = errors.New("the disk is gone")

// A failingStore decrements left at each Put, and fails every Put once left is zero. If left
// is negative, no Put fails.
type failingStore struct {
	*innerStore
	left int
}

func (f *failingStore) fail() error {
	if f.left == 0 {
		return errFailing
	}
	if f.left > 0 {
		f.left--
	}
	return nil
}

func (f *failingStore) Put(ctx context.Context, c checkpoint.Checkpoint, head string) error {
	if err := f.fail(); err != nil {
		return err
	}
	return f.innerStore.Put(ctx, c, head)
}
