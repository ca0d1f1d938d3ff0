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

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
)

func change(data string) []checkpoint.Change {
	return []checkpoint.Change{{Channel: "messages", Kind: 2, Data: []byte(data)}}
}

func TestLongValuesArePackedIfThatIsShorter(t *testing.T) {
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
			assert.Equal(t, c.packed, b[0] == formatPacked)
			if c.packed {
				assert.Less(t, len(b), len(c.data))
			}
			got, err := unpackChanges(b)
			require.NoError(t, err)
			assert.Len(t, got, 1)
			assert.Equal(t, c.data, string(got[0].Data))
		})
	}
}

// Parsing a compressed value fails if one bit was changed or if its end is missing.
func TestDamageOfAPackedValueIsFound(t *testing.T) {
	t.Parallel()
	b := packChanges(change(strings.Repeat("some text that is repeated. ", 40)))
	require.EqualValues(t, formatPacked, b[0])
	for i := range len(b) * 8 {
		bad := bytes.Clone(b)
		bad[i/8] ^= 1 << (i % 8)
		_, err := unpackChanges(bad)
		if !errors.Is(err, checkpoint.ErrFormat) {
			require.ErrorIs(t, err, checkpoint.ErrCorrupt, "bit %d", i)
		}
	}
	for n := range b {
		_, err := unpackChanges(b[:n])
		require.ErrorIs(t, err, checkpoint.ErrCorrupt, "%d bytes", n)
	}
	_, err := unpackChanges(append([]byte{0x7f}, b...))
	assert.ErrorIs(t, err, checkpoint.ErrFormat)
}

// sealed returns a compressed value with a valid checksum and an arbitrary body.
func sealed(body []byte) []byte {
	b := make([]byte, packedHeader, packedHeader+len(body))
	b[0] = formatPacked
	binary.LittleEndian.PutUint32(b[1:], crc32.Checksum(body, castagnoli))
	return append(b, body...)
}

// Parsing a small value that decompresses to 256 MB returns [checkpoint.ErrCorrupt], and
// allocates at most 128 MB.
func TestDecompressionIsBounded(t *testing.T) {
	t.Parallel()
	enc, _ := packers()
	bomb := enc.EncodeAll(make([]byte, 256<<20), nil)
	for name, size := range map[string]uint64{"honest": 256 << 20, "modest": 1000, "absurd": 1 << 62} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := unpackChanges(sealed(append(binary.AppendUvarint(nil, size), bomb...)))
		runtime.ReadMemStats(&after)
		assert.ErrorIs(t, err, checkpoint.ErrCorrupt, name)
		assert.LessOrEqual(t, after.TotalAlloc-before.TotalAlloc, uint64(128<<20), name)
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
			require.NoError(t, err)
			require.Len(t, again, len(changes))
		} else if !errors.Is(err, checkpoint.ErrFormat) {
			require.ErrorIs(t, err, checkpoint.ErrCorrupt)
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
			got, err := packID(text).text()
			require.NoError(t, err)
			require.Equal(t, text, got)
		}
		require.Equal(t, (a == b), (packID(a).uuid == packID(b).uuid))
	})
}
