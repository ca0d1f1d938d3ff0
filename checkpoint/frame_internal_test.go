package checkpoint

import (
	"bytes"
	"errors"
	"runtime"
	"testing"
)

// FuzzFrame seals what it is given, so that hostile lengths get past the
// checksum.
func FuzzFrame(f *testing.F) {
	for _, body := range []string{"", "\x00", "\x01", "\x02\x01a\x00\x02x", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "\x02\xff\xff\xff\xff\x0f"} {
		f.Add([]byte(body))
	}
	f.Add(AppendChanges(nil, []Change{{Channel: "a", Kind: 1, Data: []byte("x")}, {}})[frameHeader:])
	f.Add(AppendDeltas(nil, []Delta{{ID: "1", Source: Loop, Snapshot: true, Changes: []Change{{Channel: "a"}}}, {}})[frameHeader:])
	f.Fuzz(func(t *testing.T, body []byte) {
		frame := append(appendHeader(nil), body...)
		changes, err := ParseChanges(sealFrame(frame, 0, frameChanges))
		if checkParsed(t, err) && !bytes.Equal(AppendChanges(nil, changes), frame) {
			t.Errorf("%x is a second spelling of %+v", frame, changes)
		}
		deltas, err := ParseDeltas(sealFrame(frame, 0, frameDeltas))
		if checkParsed(t, err) && !bytes.Equal(AppendDeltas(nil, deltas), frame) {
			t.Errorf("%x is a second spelling of %+v", frame, deltas)
		}
		if _, err := ParseChanges(body); err != nil && !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrFormat) {
			t.Errorf("unsealed: %v", err)
		}
	})
}

func checkParsed(t *testing.T, err error) bool {
	t.Helper()
	if err != nil && !errors.Is(err, ErrCorrupt) {
		t.Errorf("got %v want ErrCorrupt", err)
	}
	return err == nil
}

// A frame of a few bytes that claims millions of parts must not cost more than
// its own size allows. Not parallel: others would be counted too.
func TestFrameHostileLengths(t *testing.T) {
	huge := []byte{0xff, 0xff, 0xff, 0xff, 0x0f}
	bodies := [][]byte{huge, append([]byte{2}, huge...), append([]byte{2, 0, 0}, huge...), append([]byte{2, 0, 0, 0}, huge...)}
	for _, body := range bodies {
		frame := append(appendHeader(nil), body...)
		before := allocated()
		if _, err := ParseChanges(sealFrame(frame, 0, frameChanges)); !errors.Is(err, ErrCorrupt) {
			t.Errorf("changes %x: got %v want ErrCorrupt", body, err)
		}
		if _, err := ParseDeltas(sealFrame(frame, 0, frameDeltas)); !errors.Is(err, ErrCorrupt) {
			t.Errorf("deltas %x: got %v want ErrCorrupt", body, err)
		}
		if n := allocated() - before; n > 1<<16 {
			t.Errorf("%x: %d bytes allocated", body, n)
		}
	}
}

func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}
