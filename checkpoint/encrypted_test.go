package checkpoint_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/memcheckpoint"
)

func key(fill byte) []byte { return bytes.Repeat([]byte{fill}, checkpoint.KeySize) }

func mustEncrypt(t *testing.T, inner checkpoint.Store, keys checkpoint.KeyRing) *checkpoint.EncryptedStore {
	t.Helper()
	store, err := checkpoint.Encrypted(inner, keys)
	if err != nil {
		t.Fatal(err)
	}
	return store
}

func TestEncryptedRefusesBadKeys(t *testing.T) {
	t.Parallel()
	inner := memcheckpoint.New(memcheckpoint.Options{})
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
		if _, err := checkpoint.Encrypted(inner, tt.keys); !errors.Is(err, checkpoint.ErrInvalid) {
			t.Errorf("%s: got %v want ErrInvalid", tt.name, err)
		}
	}
	good := checkpoint.KeyRing{Active: "a", Keys: map[string][]byte{"a": key(1), strings.Repeat("i", 255): key(1)}}
	if _, err := checkpoint.Encrypted(nil, good); !errors.Is(err, checkpoint.ErrInvalid) {
		t.Errorf("no store: got %v want ErrInvalid", err)
	}
	mustEncrypt(t, inner, good)
}

const secret = "a secret that must not be seen"

// secretCheckpoint has the secret in every value.
func secretCheckpoint(k checkpoint.Key) checkpoint.Checkpoint {
	return checkpoint.Checkpoint{
		Key: k, Source: checkpoint.Loop, Run: "r", Metadata: map[string]string{"plain": "yes"},
		Control:  []byte(secret),
		Changes:  []checkpoint.Change{{Channel: "a", Kind: 1, Data: []byte(secret)}, {Channel: "a", Kind: 1, Data: []byte(secret)}},
		Snapshot: []checkpoint.Change{{Channel: "a", Kind: 1, Data: []byte(secret)}},
	}
}

func TestEncryptedKeepsNothingInPlain(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	inner := memcheckpoint.New(memcheckpoint.Options{})
	store := mustEncrypt(t, inner, checkpoint.KeyRing{Active: "a", Keys: map[string][]byte{"a": key(1)}})
	k := checkpoint.Key{Thread: "t", ID: "1"}
	if err := store.Put(ctx, secretCheckpoint(k), ""); err != nil {
		t.Fatal(err)
	}
	if err := store.PutWrites(ctx, k, []checkpoint.Write{{Task: "t", Channel: "a", Data: []byte(secret)}}); err != nil {
		t.Fatal(err)
	}
	stored, err := inner.Get(ctx, k)
	if err != nil {
		t.Fatal(err)
	}
	if stored.Metadata["plain"] != "yes" || stored.Changes[0].Channel != "a" {
		t.Errorf("got metadata %q, changes %q want them in plain", stored.Metadata, stored.Changes)
	}
	sealed := [][]byte{stored.Control, stored.Changes[0].Data, stored.Changes[1].Data, stored.Snapshot[0].Data, stored.Writes[0].Data}
	for _, d := range stored.Lineage {
		sealed = append(sealed, d.Changes[0].Data)
	}
	for i, value := range sealed {
		if bytes.Contains(value, []byte("secret")) || len(value) != len(secret)+30+len("a") {
			t.Errorf("value %d: stored as %q", i, value)
		}
	}
	if bytes.Equal(stored.Changes[0].Data, stored.Changes[1].Data) {
		t.Error("equal values are stored as equal bytes")
	}
	got, err := store.Get(ctx, k)
	if err != nil || string(got.Control) != secret || string(got.Writes[0].Data) != secret || string(got.Snapshot[0].Data) != secret {
		t.Errorf("got %+v, %v", got, err)
	}
}

// Every way to move a value to where it does not belong, as one who can write to
// the inner store could.
func TestEncryptedRefusesMovedValues(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		move func(c *checkpoint.Checkpoint, w []checkpoint.Write)
	}{
		{"thread", func(c *checkpoint.Checkpoint, _ []checkpoint.Write) { c.Thread = "u" }},
		{"namespace", func(c *checkpoint.Checkpoint, _ []checkpoint.Write) { c.Namespace = "child" }},
		{"checkpoint", func(c *checkpoint.Checkpoint, _ []checkpoint.Write) { c.ID = "2" }},
		{"thread and namespace", func(c *checkpoint.Checkpoint, _ []checkpoint.Write) { c.Thread, c.Namespace = "tn", "" }},
		{"channel", func(c *checkpoint.Checkpoint, _ []checkpoint.Write) { c.Changes[0].Channel = "b" }},
		{"kind", func(c *checkpoint.Checkpoint, _ []checkpoint.Write) { c.Changes[0].Kind = 2 }},
		{"order of changes", func(c *checkpoint.Checkpoint, _ []checkpoint.Write) {
			c.Changes[0], c.Changes[1] = c.Changes[1], c.Changes[0]
		}},
		{"fewer changes", func(c *checkpoint.Checkpoint, _ []checkpoint.Write) { c.Changes = c.Changes[:1] }},
		{"doubled change", func(c *checkpoint.Checkpoint, _ []checkpoint.Write) { c.Changes = append(c.Changes, c.Changes[0]) }},
		{"change as snapshot", func(c *checkpoint.Checkpoint, _ []checkpoint.Write) { c.Snapshot = c.Changes }},
		{"snapshot as change", func(c *checkpoint.Checkpoint, _ []checkpoint.Write) { c.Changes = c.Snapshot }},
		{"change as control", func(c *checkpoint.Checkpoint, _ []checkpoint.Write) { c.Control = c.Changes[0].Data }},
		{"no control", func(c *checkpoint.Checkpoint, _ []checkpoint.Write) { c.Control = nil }},
		{"write as change", func(c *checkpoint.Checkpoint, w []checkpoint.Write) { c.Changes[0].Data = w[0].Data }},
		{"task", func(_ *checkpoint.Checkpoint, w []checkpoint.Write) { w[0].Task = "other" }},
		{"index", func(_ *checkpoint.Checkpoint, w []checkpoint.Write) { w[0].Index = 1 }},
		{"channel of a write", func(_ *checkpoint.Checkpoint, w []checkpoint.Write) { w[0].Channel = "b" }},
		{"kind of a write", func(_ *checkpoint.Checkpoint, w []checkpoint.Write) { w[0].Kind = 9 }},
		{"change as write", func(c *checkpoint.Checkpoint, w []checkpoint.Write) { w[0].Data = c.Changes[0].Data }},
	}
	ctx := context.Background()
	keys := checkpoint.KeyRing{Active: "a", Keys: map[string][]byte{"a": key(1)}}
	k := checkpoint.Key{Thread: "t", Namespace: "n", ID: "1"}
	for _, tt := range tests {
		from := memcheckpoint.New(memcheckpoint.Options{})
		honest := mustEncrypt(t, from, keys)
		if err := honest.Put(ctx, secretCheckpoint(k), ""); err != nil {
			t.Fatal(err)
		}
		if err := honest.PutWrites(ctx, k, []checkpoint.Write{{Task: "task", Channel: "a", Kind: 1, Data: []byte(secret)}}); err != nil {
			t.Fatal(err)
		}
		stored, err := from.Get(ctx, k)
		if err != nil {
			t.Fatal(err)
		}
		to := memcheckpoint.New(memcheckpoint.Options{})
		tt.move(&stored, stored.Writes)
		if err := errors.Join(to.Put(ctx, stored, ""), to.PutWrites(ctx, stored.Key, stored.Writes)); err != nil {
			t.Fatal(err)
		}
		got, err := mustEncrypt(t, to, keys).Get(ctx, stored.Key)
		if !errors.Is(err, checkpoint.ErrDecrypt) {
			t.Errorf("%s: got %+v, %v want ErrDecrypt", tt.name, got, err)
		}
	}
}

// An ancestor's delta is bound to the ancestor, not to who reads it.
func TestEncryptedRefusesMovedLineage(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	keys := checkpoint.KeyRing{Active: "a", Keys: map[string][]byte{"a": key(1)}}
	from, to := memcheckpoint.New(memcheckpoint.Options{}), memcheckpoint.New(memcheckpoint.Options{})
	honest := mustEncrypt(t, from, keys)
	head := ""
	for _, id := range []string{"1", "2", "3"} {
		c := checkpoint.Checkpoint{Key: checkpoint.Key{Thread: "t", ID: id}, Parent: head, Changes: []checkpoint.Change{{Channel: "a", Data: []byte(id)}}}
		if err := honest.Put(ctx, c, head); err != nil {
			t.Fatal(err)
		}
		head = id
	}
	// The second takes the first one's values.
	head = ""
	for _, id := range []string{"1", "2", "3"} {
		c, err := from.Get(ctx, checkpoint.Key{Thread: "t", ID: id})
		if err != nil {
			t.Fatal(err)
		}
		if id == "2" {
			first, err := from.Get(ctx, checkpoint.Key{Thread: "t", ID: "1"})
			if err != nil {
				t.Fatal(err)
			}
			c.Changes = first.Changes
		}
		if err := to.Put(ctx, c, head); err != nil {
			t.Fatal(err)
		}
		head = id
	}
	store := mustEncrypt(t, to, keys)
	if _, err := store.Get(ctx, checkpoint.Key{Thread: "t", ID: "1"}); err != nil {
		t.Errorf("untouched: %v", err)
	}
	if _, err := store.Get(ctx, checkpoint.Key{Thread: "t", ID: "3"}); !errors.Is(err, checkpoint.ErrDecrypt) || !strings.Contains(err.Error(), `checkpoint "2"`) {
		t.Errorf("got %v want ErrDecrypt of checkpoint 2", err)
	}
}

func TestEncryptedWrongKeys(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	inner := memcheckpoint.New(memcheckpoint.Options{})
	k := checkpoint.Key{Thread: "thread-7", ID: "id-7"}
	c := checkpoint.Checkpoint{Key: k, Changes: []checkpoint.Change{{Channel: "channel-7", Data: []byte(secret)}}}
	store := mustEncrypt(t, inner, checkpoint.KeyRing{Active: "key-7", Keys: map[string][]byte{"key-7": []byte("this-is-the-key-which-is-secret!")}})
	if err := store.Put(ctx, c, ""); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name string
		keys checkpoint.KeyRing
	}{
		{"other key of the same id", checkpoint.KeyRing{Active: "key-7", Keys: map[string][]byte{"key-7": []byte("this-is-another-key-with-the-id!")}}},
		{"same key of another id", checkpoint.KeyRing{Active: "key-8", Keys: map[string][]byte{"key-8": []byte("this-is-the-key-which-is-secret!")}}},
	}
	for _, tt := range tests {
		_, err := mustEncrypt(t, inner, tt.keys).Get(ctx, k)
		if !errors.Is(err, checkpoint.ErrDecrypt) {
			t.Fatalf("%s: got %v want ErrDecrypt", tt.name, err)
		}
		for _, part := range []string{`"thread-7"`, `"id-7"`, `"key-7"`} {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s: %q does not name %s", tt.name, err, part)
			}
		}
		for _, shown := range []string{err.Error(), fmt.Sprintf("%v %+v %#v %s", tt.keys, tt.keys, tt.keys, &tt.keys)} {
			if strings.Contains(shown, "this-is") || strings.Contains(shown, fmt.Sprint([]byte("this-is"))[1:20]) {
				t.Errorf("%s: %q shows a key", tt.name, shown)
			}
		}
	}
	stored, err := inner.Get(ctx, k)
	if err != nil {
		t.Fatal(err)
	}
	stored.ID, stored.Parent = "8", "id-7"
	stored.Control = reseal(t, inner, store, checkpoint.Key{Thread: "thread-7", ID: "9"})
	if err := inner.Put(ctx, stored, "9"); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Get(ctx, stored.Key); !errors.Is(err, checkpoint.ErrDecrypt) {
		t.Errorf("control of another checkpoint: got %v want ErrDecrypt", err)
	}
}

// reseal returns the stored Control of a new checkpoint.
func reseal(t *testing.T, inner *memcheckpoint.Store, store *checkpoint.EncryptedStore, k checkpoint.Key) []byte {
	t.Helper()
	newest, err := inner.Get(context.Background(), checkpoint.Key{Thread: k.Thread})
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Put(context.Background(), checkpoint.Checkpoint{Key: k}, newest.ID); err != nil {
		t.Fatal(err)
	}
	c, err := inner.Get(context.Background(), k)
	if err != nil {
		t.Fatal(err)
	}
	return c.Control
}

func TestEncryptedRotation(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	inner := memcheckpoint.New(memcheckpoint.Options{})
	old := checkpoint.KeyRing{Active: "old", Keys: map[string][]byte{"old": key(1)}}
	both := checkpoint.KeyRing{Active: "new", Keys: map[string][]byte{"old": key(1), "new": key(2)}}
	only := checkpoint.KeyRing{Active: "new", Keys: map[string][]byte{"new": key(2)}}

	c := secretCheckpoint(checkpoint.Key{Thread: "t", ID: "1"})
	if err := mustEncrypt(t, inner, old).Put(ctx, c, ""); err != nil {
		t.Fatal(err)
	}
	rotating := mustEncrypt(t, inner, both)
	next := checkpoint.Checkpoint{Key: checkpoint.Key{Thread: "t", ID: "2"}, Parent: "1"}
	if err := rotating.Put(ctx, next, "1"); err != nil {
		t.Fatal(err)
	}
	if _, err := rotating.Get(ctx, next.Key); err != nil {
		t.Errorf("with both keys: %v", err)
	}
	if _, err := mustEncrypt(t, inner, only).Get(ctx, next.Key); !errors.Is(err, checkpoint.ErrDecrypt) {
		t.Errorf("without the old key: got %v want ErrDecrypt", err)
	}
	if err := errors.Join(rotating.CopyThread(ctx, "t", "t2"), rotating.DeleteThread(ctx, "t")); err != nil {
		t.Fatal(err)
	}
	got, err := mustEncrypt(t, inner, only).Get(ctx, checkpoint.Key{Thread: "t2", ID: "1"})
	if err != nil || string(got.Control) != secret {
		t.Errorf("copied: got %s, %v", got.Control, err)
	}
}

// What an earlier version stored has to stay readable.
func TestEncryptedGolden(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	inner := memcheckpoint.New(memcheckpoint.Options{})
	keys := checkpoint.KeyRing{Active: "k1", Keys: map[string][]byte{"k1": key(7)}}
	decode := func(s string) []byte {
		b, err := base64.StdEncoding.DecodeString(s)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	k := checkpoint.Key{Thread: "thread", Namespace: "space", ID: "id"}
	stored := checkpoint.Checkpoint{
		Key:      k,
		Control:  decode(goldenControl),
		Changes:  []checkpoint.Change{{Channel: "a", Kind: 1, Data: decode(goldenChange)}},
		Snapshot: []checkpoint.Change{{Channel: "b", Kind: 2, Data: decode(goldenSnapshot)}},
	}
	writes := []checkpoint.Write{{Task: "task", Index: -1, Channel: "c", Kind: 3, Data: decode(goldenWrite)}}
	if err := errors.Join(inner.Put(ctx, stored, ""), inner.PutWrites(ctx, k, writes)); err != nil {
		t.Fatal(err)
	}
	got, err := mustEncrypt(t, inner, keys).Get(ctx, k)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []struct {
		got  []byte
		want string
	}{{got.Control, "control"}, {got.Changes[0].Data, "change"}, {got.Snapshot[0].Data, "snapshot"}, {got.Writes[0].Data, "write"}} {
		if string(part.got) != part.want {
			t.Errorf("got %q want %q", part.got, part.want)
		}
	}
	stored.Control[0]++
	stored.ID = "id2"
	if err := inner.Put(ctx, stored, "id"); err != nil {
		t.Fatal(err)
	}
	if _, err := mustEncrypt(t, inner, keys).Get(ctx, stored.Key); !errors.Is(err, checkpoint.ErrFormat) {
		t.Errorf("later format: got %v want ErrFormat", err)
	}
}

// A copy that can not be finished leaves nothing.
func TestEncryptedCopyIsUndone(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	inner := &failing{Store: memcheckpoint.New(memcheckpoint.Options{})}
	store := mustEncrypt(t, inner, checkpoint.KeyRing{Active: "a", Keys: map[string][]byte{"a": key(1)}})
	s := newStepper("t")
	for _, id := range uuids(5) {
		if err := s.put(store, id); err != nil {
			t.Fatal(err)
		}
	}
	for n := range 5 {
		inner.left = n
		inner.on = true
		if err := store.CopyThread(ctx, "t", "copy"); !errors.Is(err, errFailing) {
			t.Errorf("copy that fails after %d: got %v", n, err)
		}
		inner.on = false
		if _, err := inner.Get(ctx, checkpoint.Key{Thread: "copy"}); !errors.Is(err, checkpoint.ErrNotFound) {
			t.Errorf("copy that failed after %d: got %v want ErrNotFound", n, err)
		}
	}
	if err := store.CopyThread(ctx, "t", "copy"); err != nil {
		t.Error(err)
	}
}

var errFailing = errors.New("out of order")

// failing fails after some puts.
type failing struct {
	*memcheckpoint.Store
	on   bool
	left int
}

func (f *failing) Put(ctx context.Context, c checkpoint.Checkpoint, head string) error {
	if f.on {
		if f.left == 0 {
			return errFailing
		}
		f.left--
	}
	return f.Store.Put(ctx, c, head)
}

// Made with the key and the places of TestEncryptedGolden.
const (
	goldenControl  = "AQJrMcSy9YRONqaqoaleIIuroC8/IpPZ/HgoyYZNlq0cDiDbKAvX"
	goldenChange   = "AQJrMV1J1uM2fP0BnHizNZfPI+7iV3N9ORX690rL9chYIdxGvAQ="
	goldenSnapshot = "AQJrMaEMjYIKCXJ2amaVTSg5LqIssT4/ArrdoGqeijCK2Ey+/EFQBg=="
	goldenWrite    = "AQJrMVoNzR1McbiZFmgJlmQJX16CY7NK5aW4EBiRjR+H1b+VyA=="
)
