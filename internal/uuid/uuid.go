// Package uuid makes the ids of this module.
package uuid

import (
	"encoding/hex"
	"math/rand/v2"
	"time"
)

// New returns a version 7 UUID (RFC 9562): unique, and ordered by time to the
// millisecond. It is no secret: who sees some can guess others.
func New() string {
	var b [16]byte
	ms := time.Now().UnixMilli()
	r1, r2 := rand.Uint64(), rand.Uint64()
	for i := range 6 {
		b[i] = byte(ms >> (40 - 8*i))
	}
	b[6] = 0x70 | byte(r1>>8)&0x0f
	b[7] = byte(r1)
	for i := range 8 {
		b[8+i] = byte(r2 >> (8 * i))
	}
	b[8] = 0x80 | b[8]&0x3f
	var text [36]byte
	hex.Encode(text[0:8], b[0:4])
	hex.Encode(text[9:13], b[4:6])
	hex.Encode(text[14:18], b[6:8])
	hex.Encode(text[19:23], b[8:10])
	hex.Encode(text[24:36], b[10:16])
	text[8], text[13], text[18], text[23] = '-', '-', '-', '-'
	return string(text[:])
}
