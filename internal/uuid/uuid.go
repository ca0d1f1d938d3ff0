// Package uuid makes and packs the ids of this module.
package uuid

import (
	"encoding/binary"
	"encoding/hex"
	"math/rand/v2"
	"time"
)

// New returns a version 7 UUID (RFC 9562) in lower case. Ids are ordered by time, with a
// resolution of a quarter of a microsecond (section 6.2, method 3). They are not secret,
// since the random part is not cryptographic. New is safe for concurrent use.
func New() string {
	return Unpack(random())
}

// A Series makes version 7 UUIDs that ascend strictly. Each id is the previous id plus one
// (RFC 9562, section 6.2, method 2), so every id contains the time of the first id. The zero
// Series is ready to use. It is not safe for concurrent use.
type Series struct {
	last  [size]byte // the text of the last id
	texts string     // the next ids, which share one allocation
}

// Next returns the next id of the series.
func (s *Series) Next() string {
	if s.texts == "" {
		var texts [4 * size]byte
		for i := 0; i < len(texts); i += size {
			s.increment()
			copy(texts[i:], s.last[:])
		}
		s.texts = string(texts[:])
	}
	id := s.texts[:size]
	s.texts = s.texts[size:]
	return id
}

// increment adds one to the last id. It changes the text, because formatting a new text takes longer. The first
// id is random, and so is the id after the greatest.
func (s *Series) increment() {
	for i := size - 1; i >= variantAt; i-- {
		switch digit := s.last[i]; {
		case digit == '-':
		case digit == 'f':
			s.last[i] = '0' // and the digit before it is incremented
		case digit == 0, i == variantAt && digit == 'b': // there is no id yet, or all random bits were 1
			s.last = format(random())
			return
		case digit == '9':
			s.last[i] = 'a'
			return
		default:
			s.last[i]++
			return
		}
	}
}

// The digit at variantAt is 8, 9, a or b: the two bits of the variant, and the first two random bits of the lower half.
const (
	variantAt = 19
	variant   = 0b10
)

// random returns a version 7 UUID with the current time.
func random() (id [16]byte) {
	now := uint64(time.Now().UnixNano())
	milliseconds, fraction := now/1e6, now%1e6<<12/1e6
	binary.BigEndian.PutUint64(id[:8], milliseconds<<16|7<<12|fraction)
	binary.BigEndian.PutUint64(id[8:], variant<<62|rand.Uint64()>>2)
	return id
}

const size = 36 // the length of a UUID as text

// Pack returns the 16 bytes of a UUID in its standard text form in lower case. It reports
// false for any other text, so that Unpack restores the text exactly.
func Pack(s string) (id [16]byte, ok bool) {
	if len(s) != size {
		return id, false
	}
	var digits [32]byte
	copy(digits[:], s[:8])
	copy(digits[8:], s[9:13])
	copy(digits[12:], s[14:18])
	copy(digits[16:], s[19:23])
	copy(digits[20:], s[24:])
	if _, err := hex.Decode(id[:], digits[:]); err != nil {
		return id, false
	}
	// The comparison rejects upper case and missing dashes.
	text := format(id)
	return id, string(text[:]) == s
}

// Unpack returns the standard text form of a UUID in lower case.
func Unpack(id [16]byte) string {
	text := format(id)
	return string(text[:])
}

func format(id [16]byte) (text [size]byte) {
	hex.Encode(text[:8], id[:4])
	hex.Encode(text[9:13], id[4:6])
	hex.Encode(text[14:18], id[6:8])
	hex.Encode(text[19:23], id[8:10])
	hex.Encode(text[24:], id[10:])
	text[8], text[13], text[18], text[23] = '-', '-', '-', '-'
	return text
}
