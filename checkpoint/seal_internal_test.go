package checkpoint

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// FuzzOpen checks that open returns an error for arbitrary bytes, and decrypts the frames of
// seal only with the form and place with which they were encrypted.
func FuzzOpen(f *testing.F) {
	s, err := newSealer(KeyRing{Active: "key", Keys: map[string][]byte{"key": make([]byte, KeySize)}})
	require.NoError(f, err)
	places := []*place{
		{form: sealSingle, key: Key{Thread: "t", ID: "1"}, what: sealedControl},
		{form: sealBound, key: Key{Thread: "t", ID: "1"}, what: sealedControl, header: &Checkpoint{Metadata: map[string]string{"a": "b"}}},
	}
	f.Add([]byte{})
	f.Add([]byte{sealSingle})
	f.Add([]byte{sealBound, 255})
	f.Add([]byte{sealBound, 3, 'k', 'e', 'y'})
	f.Add([]byte{9, 3, 'k', 'e', 'y', 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0})
	f.Add(s.seal([]byte("value"), places[0])[:30])
	f.Add(s.seal([]byte("value"), places[1])[:30])
	f.Fuzz(func(t *testing.T, b []byte) {
		for i, p := range places {
			_, err := s.open(b, p)
			require.True(t, errors.Is(err, ErrDecrypt) || errors.Is(err, ErrFormat), "%x: %v", b, err)
			sealed := s.seal(b, p)
			got, err := s.open(sealed, p)
			require.NoError(t, err)
			require.Equal(t, string(b), string(got))
			_, err = s.open(sealed, places[1-i])
			require.ErrorIs(t, err, ErrDecrypt, "another form")
		}
	})
}

// FuzzBinding checks that parseBinding and parseNextWrite never panic. After valid data,
// they return the encoded value and the remaining bytes.
func FuzzBinding(f *testing.F) {
	full := &binding{digest: digest{1}, parent: "parent", parentDigest: &digest{2}, snapshot: true, noChanges: true, time: time.Unix(1, 2)}
	f.Add([]byte{})
	f.Add(full.append(nil))
	f.Add((&binding{}).append(nil))
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01})
	f.Fuzz(func(t *testing.T, data []byte) {
		if b, rest, ok := parseBinding(data); ok {
			again, _, ok := parseBinding(b.append(nil))
			require.True(t, ok)
			require.Equal(t, b, again)
			require.LessOrEqual(t, len(rest), len(data))
		}
		b, rest, ok := parseBinding(append(full.append(nil), data...))
		require.True(t, ok)
		require.Equal(t, full, b)
		require.Equal(t, string(data), string(rest))

		parseNextWrite(data)
		next, rest, ok := parseNextWrite(append(appendNextWrite(nil, &Write{Task: "t", Index: -3}), data...))
		require.True(t, ok)
		require.Equal(t, writeID{"t", -3}, next)
		require.Equal(t, string(data), string(rest))
	})
}

// Checkpoints that differ in their key, source, step, run, version, metadata or values have
// different digests. The parent is not part of the digest.
func TestDigestCoversContent(t *testing.T) {
	t.Parallel()
	seen := map[digest]string{}
	for name, edit := range map[string]func(c *Checkpoint){
		"same":            func(*Checkpoint) {},
		"thread":          func(c *Checkpoint) { c.Thread = "u" },
		"namespace":       func(c *Checkpoint) { c.Namespace = "u" },
		"id":              func(c *Checkpoint) { c.ID = "u" },
		"source":          func(c *Checkpoint) { c.Source = Fork },
		"step":            func(c *Checkpoint) { c.Step++ },
		"run":             func(c *Checkpoint) { c.Run = "u" },
		"version":         func(c *Checkpoint) { c.Version = "u" },
		"metadata":        func(c *Checkpoint) { c.Metadata = map[string]string{"a": "c"} },
		"control":         func(c *Checkpoint) { c.Control = []byte("u") },
		"channel":         func(c *Checkpoint) { c.Changes[0].Channel = "u" },
		"kind":            func(c *Checkpoint) { c.Changes[0].Kind++ },
		"data":            func(c *Checkpoint) { c.Changes[0].Data = []byte("u") },
		"changes":         func(c *Checkpoint) { c.Changes = nil },
		"empty changes":   func(c *Checkpoint) { c.Changes = c.Changes[:0] },
		"snapshot":        func(c *Checkpoint) { c.Snapshot = nil },
		"empty snapshot":  func(c *Checkpoint) { c.Snapshot = c.Snapshot[:0] },
		"moved to change": func(c *Checkpoint) { c.Changes, c.Snapshot = append(c.Changes, c.Snapshot...), nil },
	} {
		c := Checkpoint{
			Key: Key{Thread: "t", Namespace: "n", ID: "1"}, Source: Loop, Run: "r", Version: "v", Metadata: map[string]string{"a": "b"},
			Changes:  []Change{{Channel: "a", Kind: 1, Data: []byte("x")}},
			Snapshot: []Change{{Channel: "b", Kind: 1, Data: []byte("y")}},
		}
		edit(&c)
		d := digestOf(&c)
		assert.Empty(t, seen[d], "%s has the digest of it", name)
		seen[d] = name
		c.Parent = "p"
		assert.Equal(t, d, digestOf(&c), "%s with a parent", name)
	}
}
