package checkpoint_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/memcheckpoint"
)

// innerStore is the store that the tests of Encrypted wrap.
type innerStore = memcheckpoint.Store

func newInner() *innerStore { return memcheckpoint.New(memcheckpoint.Options{}) }

func key(fill byte) []byte { return bytes.Repeat([]byte{fill}, checkpoint.KeySize) }

// ring returns a key ring with the ids, the first of which is active. The first byte of an
// id determines its key.
func ring(ids ...string) checkpoint.KeyRing {
	keys := checkpoint.KeyRing{Active: ids[0], Keys: map[string][]byte{}}
	for _, id := range ids {
		keys.Keys[id] = key(id[0])
	}
	return keys
}

func mustEncrypt(t *testing.T, inner checkpoint.Store, keys checkpoint.KeyRing) *checkpoint.EncryptedStore {
	t.Helper()
	store, err := checkpoint.Encrypted(inner, keys)
	require.NoError(t, err)
	return store
}

func TestEncryptedRefusesBadKeys(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		keys checkpoint.KeyRing
	}{
		{"no keys", checkpoint.KeyRing{}},
		{"no active key", checkpoint.KeyRing{Keys: map[string][]byte{"a": key(1)}}},
		{"active key missing", checkpoint.KeyRing{Active: "b", Keys: map[string][]byte{"a": key(1)}}},
		{"short key", checkpoint.KeyRing{Active: "a", Keys: map[string][]byte{"a": key(1)[:16]}}},
		{"long key", checkpoint.KeyRing{Active: "a", Keys: map[string][]byte{"a": append(key(1), 1)}}},
		{"short old key", checkpoint.KeyRing{Active: "a", Keys: map[string][]byte{"a": key(1), "b": nil}}},
		{"empty id", checkpoint.KeyRing{Active: "", Keys: map[string][]byte{"": key(1)}}},
		{"long id", checkpoint.KeyRing{Active: "a", Keys: map[string][]byte{"a": key(1), strings.Repeat("i", 256): key(1)}}},
	}
	for _, tt := range tests {
		_, err := checkpoint.Encrypted(newInner(), tt.keys)
		assert.ErrorIs(t, err, checkpoint.ErrInvalid, tt.name)
	}
	good := checkpoint.KeyRing{Active: "a", Keys: map[string][]byte{"a": key(1), strings.Repeat("i", 255): key(1)}}
	_, err := checkpoint.Encrypted(nil, good)
	require.ErrorIs(t, err, checkpoint.ErrInvalid, "no store")
	mustEncrypt(t, newInner(), good)
}

const secret = "a secret that must not be seen"

// secretCheckpoint returns a checkpoint with the secret in every value that is encrypted.
func secretCheckpoint(k checkpoint.Key) checkpoint.Checkpoint {
	return checkpoint.Checkpoint{
		Key: k, Source: checkpoint.Loop, Run: "r", Metadata: map[string]string{"plain": "yes"},
		Control:  []byte(secret),
		Changes:  []checkpoint.Change{{Channel: "a", Kind: 1, Data: []byte(secret)}, {Channel: "a", Kind: 1, Data: []byte(secret)}},
		Snapshot: []checkpoint.Change{{Channel: "a", Kind: 1, Data: []byte(secret)}},
	}
}

func TestEncryptedStoresNoValueInPlain(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	inner := newInner()
	store := mustEncrypt(t, inner, ring("a"))
	k := checkpoint.Key{Thread: "t", ID: "1"}
	require.NoError(t, store.Put(ctx, secretCheckpoint(k), ""))
	require.NoError(t, store.PutWrites(ctx, k, []checkpoint.Write{{Task: "t", Channel: "a", Data: []byte(secret)}}))

	stored, err := inner.Get(ctx, k)
	require.NoError(t, err)
	assert.Equal(t, "yes", stored.Metadata["plain"])
	assert.Equal(t, "a", stored.Changes[0].Channel)
	sealed := [][]byte{stored.Control, stored.Changes[0].Data, stored.Changes[1].Data, stored.Snapshot[0].Data, stored.Writes[0].Data}
	for _, d := range stored.Lineage {
		for _, c := range d.Changes {
			sealed = append(sealed, c.Data)
		}
	}
	for i, value := range sealed {
		assert.NotContains(t, string(value), "secret", "value %d", i)
	}
	assert.NotEqual(t, stored.Changes[0].Data, stored.Changes[1].Data, "equal values are stored as equal bytes")
	assert.Len(t, stored.Changes[0].Data, len(secret)+30+len("a"), "the documented size")
	assert.LessOrEqual(t, len(stored.Control), len(secret)+30+len("a")+60, "the documented size")
	assert.LessOrEqual(t, len(stored.Writes[0].Data), len(secret)+30+len("a")+60+len("t"), "the documented size")

	got, err := store.Get(ctx, k)
	require.NoError(t, err)
	assert.Equal(t, secret, string(got.Control))
	assert.Equal(t, secret, string(got.Writes[0].Data))
	assert.Equal(t, secret, string(got.Snapshot[0].Data))
	assert.Len(t, got.Changes, 2)
}

func TestEncryptedWrongKeys(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	inner := newInner()
	k := checkpoint.Key{Thread: "thread-7", ID: "id-7"}
	c := checkpoint.Checkpoint{Key: k, Changes: []checkpoint.Change{{Channel: "channel-7", Data: []byte(secret)}}}
	store := mustEncrypt(t, inner, checkpoint.KeyRing{Active: "key-7", Keys: map[string][]byte{"key-7": []byte("this-is-the-key-which-is-secret!")}})
	require.NoError(t, store.Put(ctx, c, ""))
	tests := []struct {
		name string
		keys checkpoint.KeyRing
	}{
		{"other key of the same id", checkpoint.KeyRing{Active: "key-7", Keys: map[string][]byte{"key-7": []byte("this-is-another-key-with-the-id!")}}},
		{"same key of another id", checkpoint.KeyRing{Active: "key-8", Keys: map[string][]byte{"key-8": []byte("this-is-the-key-which-is-secret!")}}},
	}
	for _, tt := range tests {
		_, err := mustEncrypt(t, inner, tt.keys).Get(ctx, k)
		require.ErrorIs(t, err, checkpoint.ErrDecrypt, tt.name)
		for _, part := range []string{`"thread-7"`, `"id-7"`, `"key-7"`} {
			assert.ErrorContains(t, err, part, tt.name)
		}
		for _, shown := range []string{err.Error(), fmt.Sprintf("%v %+v %#v %s", tt.keys, tt.keys, tt.keys, &tt.keys)} {
			assert.NotContains(t, shown, "this-is", tt.name)
			assert.NotContains(t, shown, fmt.Sprint([]byte("this-is"))[1:20], tt.name)
		}
	}
}

func TestEncryptedReadsOldKeysAfterRotation(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	inner := newInner()
	c := secretCheckpoint(checkpoint.Key{Thread: "t", ID: "1"})
	require.NoError(t, mustEncrypt(t, inner, ring("old")).Put(ctx, c, ""))
	rotating := mustEncrypt(t, inner, ring("new", "old"))
	next := checkpoint.Checkpoint{Key: checkpoint.Key{Thread: "t", ID: "2"}, Parent: "1"}
	require.NoError(t, rotating.Put(ctx, next, "1"))
	_, err := rotating.Get(ctx, next.Key)
	require.NoError(t, err)
	_, err = mustEncrypt(t, inner, ring("new")).Get(ctx, next.Key)
	require.ErrorIs(t, err, checkpoint.ErrDecrypt)
	assert.ErrorContains(t, err, `"old"`, "names the key that is needed")

	require.NoError(t, rotating.CopyThread(ctx, "t", "t2"))
	require.NoError(t, rotating.DeleteThread(ctx, "t"))
	got, err := mustEncrypt(t, inner, ring("new")).Get(ctx, checkpoint.Key{Thread: "t2", ID: "1"})
	require.NoError(t, err)
	assert.Equal(t, secret, string(got.Control))
}

// A value fits if it stays within the inner store's limit after the documented growth. A
// larger value is an error, and nothing is stored.
func TestEncryptedGrowthIsAsDocumented(t *testing.T) {
	t.Parallel()
	const limit, growth = 1000, 30 + len("a") + 60
	k := checkpoint.Key{Thread: "t", ID: "1"}
	tests := []struct {
		name string
		put  func(ctx context.Context, s checkpoint.Store, data []byte) error
	}{
		{"control", func(ctx context.Context, s checkpoint.Store, data []byte) error {
			return s.Put(ctx, checkpoint.Checkpoint{Key: k, Control: data}, "")
		}},
		{"change", func(ctx context.Context, s checkpoint.Store, data []byte) error {
			return s.Put(ctx, checkpoint.Checkpoint{Key: k, Changes: []checkpoint.Change{{Channel: "c", Data: data}}}, "")
		}},
		{"snapshot", func(ctx context.Context, s checkpoint.Store, data []byte) error {
			return s.Put(ctx, checkpoint.Checkpoint{Key: k, Snapshot: []checkpoint.Change{{Channel: "c", Data: data}}}, "")
		}},
		{"write", func(ctx context.Context, s checkpoint.Store, data []byte) error {
			if err := s.Put(ctx, checkpoint.Checkpoint{Key: k}, ""); err != nil {
				return err
			}
			return s.PutWrites(ctx, k, []checkpoint.Write{{Task: "", Channel: "c", Data: data}})
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			inner := memcheckpoint.New(memcheckpoint.Options{MaxValue: limit})
			assert.NoError(t, tt.put(t.Context(), mustEncrypt(t, inner, ring("a")), make([]byte, limit-growth)))
			inner = memcheckpoint.New(memcheckpoint.Options{MaxValue: limit})
			err := tt.put(t.Context(), mustEncrypt(t, inner, ring("a")), make([]byte, limit-29))
			require.ErrorIs(t, err, checkpoint.ErrTooLarge)
			got, err := inner.Get(t.Context(), k)
			if tt.name == "write" {
				require.NoError(t, err)
				assert.Empty(t, got.Writes)
				return
			}
			assert.ErrorIs(t, err, checkpoint.ErrNotFound)
		})
	}
}

// A repeated Put encrypts its values again but stores nothing. The thread must continue
// from the stored values.
func TestEncryptedContinuesAfterARepeatedPut(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	store := mustEncrypt(t, newInner(), ring("a"))
	for range 2 {
		require.NoError(t, store.Put(ctx, threadStep("1", "", 0), ""))
	}
	for range 2 {
		require.NoError(t, store.Put(ctx, threadStep("2", "1", 1), "1"))
	}
	require.NoError(t, store.Put(ctx, threadStep("3", "2", 2), "2"))
	got, err := store.Get(ctx, checkpoint.Key{Thread: "t"})
	require.NoError(t, err)
	assert.Len(t, got.Lineage, 3)
}
