// Package uuid makes the ids of this module.
package uuid

import (
	"math/rand/v2"
	"time"
)

// New returns a version 7 UUID (RFC 9562): unique, and ordered by time to the
// millisecond. It is no secret: who sees some can guess others.
func New() string {
	high := uint64(time.Now().UnixMilli())<<16 | 0x7<<12 | rand.Uint64()&0xfff
	low := 0b10<<62 | rand.Uint64()>>2
	text := [36]byte{8: '-', 13: '-', 18: '-', 23: '-'}
	put(text[0:8], high>>32)
	put(text[9:13], high>>16)
	put(text[14:18], high)
	put(text[19:23], low>>48)
	put(text[24:36], low)
	return string(text[:])
}

// put fills dst with the last hexadecimal digits of n.
func put(dst []byte, n uint64) {
	const digits = "0123456789abcdef"
	for i := len(dst) - 1; i >= 0; i-- {
		dst[i] = digits[n&0xf]
		n >>= 4
	}
}
