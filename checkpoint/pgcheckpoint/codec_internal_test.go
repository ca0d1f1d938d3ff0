package pgcheckpoint

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"github.com/weft-go/weft/checkpoint"
)

func change(data string) []checkpoint.Change {
	return []checkpoint.Change{{Channel: "messages", Kind: 2, Data: []byte(data)}}
}

func TestPack(t *testing.T) {
	t.Parallel()
	noise := make([]byte, 4000)
	random := rand.NewChaCha8([32]byte{})
	_, _ = random.Read(noise) // never fails
	for name, c := range map[string]struct {
		data   string
		packed bool
	}{
		"empty":          {"", false},
		"short":          {strings.Repeat("a", 200), false},
		"long":           {strings.Repeat("a", 300), true},
		"incompressible": {string(noise), false},
		"very long":      {strings.Repeat("abc", 1<<20), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := packChanges(change(c.data))
			if got := b[0] == formatPacked; got != c.packed {
				t.Errorf("packed: got %t want %t", got, c.packed)
			}
			if c.packed && len(b) >= len(c.data) {
				t.Errorf("got %d bytes of %d", len(b), len(c.data))
			}
			got, err := unpackChanges(b)
			if err != nil || len(got) != 1 || string(got[0].Data) != c.data {
				t.Errorf("came back as %d changes, error %v", len(got), err)
			}
		})
	}
}

// Every bit of a compressed value counts, and no part of one passes for it.
func TestDamagedPack(t *testing.T) {
	t.Parallel()
	b := packChanges(change(strings.Repeat("some text that is repeated. ", 40)))
	if b[0] != formatPacked {
		t.Fatal("not compressed")
	}
	for i := range len(b) * 8 {
		bad := bytes.Clone(b)
		bad[i/8] ^= 1 << (i % 8)
		if _, err := unpackChanges(bad); !errors.Is(err, checkpoint.ErrCorrupt) && !errors.Is(err, checkpoint.ErrFormat) {
			t.Fatalf("bit %d: got error %v", i, err)
		}
	}
	for n := range b {
		if _, err := unpackChanges(b[:n]); !errors.Is(err, checkpoint.ErrCorrupt) {
			t.Fatalf("%d bytes: got error %v", n, err)
		}
	}
	if _, err := unpackChanges(append([]byte{0x7f}, b...)); !errors.Is(err, checkpoint.ErrFormat) {
		t.Errorf("of an unknown format: got error %v", err)
	}
}

// sealed puts a checksum before what was made by hand.
func sealed(body []byte) []byte {
	b := make([]byte, packedHeader, packedHeader+len(body))
	b[0] = formatPacked
	binary.LittleEndian.PutUint32(b[1:], crc32.Checksum(body, castagnoli))
	return append(b, body...)
}

// A value that claims to be a monster is refused before it is one.
func TestMonster(t *testing.T) {
	t.Parallel()
	enc, _ := packers()
	bomb := enc.EncodeAll(make([]byte, 256<<20), nil)
	for name, size := range map[string]uint64{"honest": 256 << 20, "modest": 1000, "absurd": 1 << 62} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := unpackChanges(sealed(append(binary.AppendUvarint(nil, size), bomb...)))
		runtime.ReadMemStats(&after)
		if !errors.Is(err, checkpoint.ErrCorrupt) {
			t.Errorf("%s: got error %v", name, err)
		}
		if grown := after.TotalAlloc - before.TotalAlloc; grown > 128<<20 {
			t.Errorf("%s: %d MB were allocated", name, grown>>20)
		}
	}
}

func FuzzUnpack(f *testing.F) {
	f.Add([]byte{}, true)
	f.Add(packChanges(change(strings.Repeat("a", 300))), false)
	f.Add(packDeltas([]checkpoint.Delta{{ID: "a", Changes: change(strings.Repeat("a", 300))}}), false)
	f.Add([]byte{10, 0x28, 0xb5, 0x2f, 0xfd}, true)
	f.Fuzz(func(t *testing.T, b []byte, seal bool) {
		if seal {
			b = sealed(b)
		}
		if changes, err := unpackChanges(b); err == nil {
			again, err := unpackChanges(packChanges(changes))
			if err != nil || len(again) != len(changes) {
				t.Fatalf("%d changes came back as %d, error %v", len(changes), len(again), err)
			}
		} else if !errors.Is(err, checkpoint.ErrCorrupt) && !errors.Is(err, checkpoint.ErrFormat) {
			t.Fatalf("got error %v", err)
		}
		_, _ = unpackDeltas(b)
	})
}

func FuzzID(f *testing.F) {
	for _, seed := range []string{"", "a", "0190b5e4-7c1a-7e2f-8a3b-000000000001", "0190b5e4-7c1a-8e2f-8a3b-000000000001", "0190B5E4-7c1a-7e2f-8a3b-000000000001"} {
		f.Add(seed, seed)
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		for _, text := range []string{a, b} {
			if got, err := packID(text).text(); got != text || err != nil {
				t.Fatalf("%q came back as %q, error %v", text, got, err)
			}
		}
		if (packID(a).uuid == packID(b).uuid) != (a == b) {
			t.Fatalf("%q and %q have ids %v and %v", a, b, packID(a).uuid, packID(b).uuid)
		}
	})
}
