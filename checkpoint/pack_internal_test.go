package checkpoint

import (
	"errors"
	"testing"
)

// What packs is what unpacks to the same text, and everything that a UUID's
// canonical spelling is.
func FuzzPackUUID(f *testing.F) {
	for _, s := range []string{
		"", "0190b5e4-7c1a-7e2f-8a3b-000000000001", "0190B5E4-7c1a-7e2f-8a3b-000000000001", "0190b5e4-7c1a-7e2f-8a3b-00000000000g",
		"0190b5e4-7c1a-7e2f-8a3b_000000000001", "0190b5e47c1a-7e2f-8a3b-0000000000012", "ffffffff-ffff-ffff-ffff-ffffffffffff",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		packed, ok := packUUID(s)
		if want := canonicalUUID(s); ok != want {
			t.Fatalf("%q: got %t want %t", s, ok, want)
		}
		if got := unpackUUID(packed[:]); ok && got != s {
			t.Errorf("got %q want %q", got, s)
		}
	})
}

func canonicalUUID(s string) bool {
	if len(s) != 36 {
		return false
	}
	for i, c := range []byte(s) {
		dash := i == 8 || i == 13 || i == 18 || i == 23
		digit := '0' <= c && c <= '9' || 'a' <= c && c <= 'f'
		if dash != (c == '-') || !dash && !digit {
			return false
		}
	}
	return true
}

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
