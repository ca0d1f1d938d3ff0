package checkpoint

import (
	"errors"
	"testing"
)

// No bytes but those that were sealed open.
func FuzzOpen(f *testing.F) {
	s, err := newSealer(KeyRing{Active: "key", Keys: map[string][]byte{"key": make([]byte, KeySize)}})
	if err != nil {
		f.Fatal(err)
	}
	p := &place{key: Key{Thread: "t", ID: "1"}, what: sealedControl}
	f.Add([]byte{})
	f.Add([]byte{sealFormat})
	f.Add([]byte{sealFormat, 255})
	f.Add([]byte{sealFormat, 3, 'k', 'e', 'y'})
	f.Add([]byte{2, 3, 'k', 'e', 'y', 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0})
	f.Add(s.seal([]byte("value"), p)[:30])
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := s.open(b, p)
		if !errors.Is(err, ErrDecrypt) && !errors.Is(err, ErrFormat) {
			t.Errorf("%x: got %q, %v want ErrDecrypt or ErrFormat", b, got, err)
		}
		sealed := s.seal(b, p)
		if got, err := s.open(sealed, p); err != nil || string(got) != string(b) {
			t.Errorf("sealed %x: got %x, %v", b, got, err)
		}
	})
}
