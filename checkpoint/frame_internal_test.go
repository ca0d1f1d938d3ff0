package checkpoint

import (
	"errors"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzFrame checks that the parsers of frames return [ErrCorrupt] for an invalid body, and
// that a valid body has only one form. Each body gets a valid checksum, so that the parsers
// read its lengths.
func FuzzFrame(f *testing.F) {
	for _, body := range []string{"", "\x00", "\x01", "\x02\x01a\x00\x02x", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "\x02\xff\xff\xff\xff\x0f"} {
		f.Add([]byte(body))
	}
	f.Add(AppendChanges(nil, []Change{{Channel: "a", Kind: 1, Data: []byte("x")}, {}})[frameHeader:])
	f.Add(AppendDeltas(nil, []Delta{{ID: "1", Source: Loop, Snapshot: true, Changes: []Change{{Channel: "a"}}}, {}})[frameHeader:])
	f.Fuzz(func(t *testing.T, body []byte) {
		frame := append(appendHeader(nil), body...)
		changes, err := ParseChanges(sealFrame(frame, 0, frameChanges))
		if wantParsed(t, err) {
			require.Equal(t, frame, AppendChanges(nil, changes), "a second form of %+v", changes)
		}
		deltas, err := ParseDeltas(sealFrame(frame, 0, frameDeltas))
		if wantParsed(t, err) {
			require.Equal(t, frame, AppendDeltas(nil, deltas), "a second form of %+v", deltas)
		}
		if _, err := ParseChanges(body); err != nil {
			require.True(t, errors.Is(err, ErrCorrupt) || errors.Is(err, ErrFormat), "without a checksum: %v", err)
		}
	})
}

// wantParsed fails the test for errors other than [ErrCorrupt]. It reports whether err is nil.
func wantParsed(t *testing.T, err error) bool {
	t.Helper()
	if err != nil {
		require.ErrorIs(t, err, ErrCorrupt)
	}
	return err == nil
}

// A short frame that claims millions of elements must not allocate much memory. The test
// is not parallel because it counts allocations.
func TestHostileLengthsDoNotAllocateMuch(t *testing.T) {
	huge := []byte{0xff, 0xff, 0xff, 0xff, 0x0f}
	bodies := [][]byte{huge, append([]byte{2}, huge...), append([]byte{2, 0, 0}, huge...), append([]byte{2, 0, 0, 0}, huge...)}
	for _, body := range bodies {
		frame := append(appendHeader(nil), body...)
		before := allocated()
		_, changesErr := ParseChanges(sealFrame(frame, 0, frameChanges))
		_, deltasErr := ParseDeltas(sealFrame(frame, 0, frameDeltas))
		n := allocated() - before
		require.ErrorIs(t, changesErr, ErrCorrupt, "changes %x", body)
		require.ErrorIs(t, deltasErr, ErrCorrupt, "deltas %x", body)
		require.LessOrEqual(t, n, uint64(1<<16), "bytes allocated for %x", body)
	}
}

func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}
