package uuid

import (
	"encoding/binary"
	"math/bits"
)

// Pack returns the bytes of a UUID as it is usually spelled, in lower case. Of any
// other text it reports false: what is packed unpacks to the same text.
func Pack(s string) (id [16]byte, ok bool) {
	if len(s) != size || s[8] != '-' || s[13] != '-' || s[18] != '-' || s[23] != '-' {
		return id, false
	}
	a, badA := number(eight(s[0:4], s[4:8]))
	b, badB := number(eight(s[9:13], s[14:18]))
	c, badC := number(eight(s[19:23], s[24:28]))
	d, badD := number(eight(s[28:32], s[32:36]))
	binary.BigEndian.PutUint32(id[0:4], a)
	binary.BigEndian.PutUint32(id[4:8], b)
	binary.BigEndian.PutUint32(id[8:12], c)
	binary.BigEndian.PutUint32(id[12:16], d)
	return id, badA|badB|badC|badD == 0
}

// Unpack returns the text of a UUID.
func Unpack(id [16]byte) string {
	return format(binary.BigEndian.Uint64(id[:8]), binary.BigEndian.Uint64(id[8:]))
}

// What follows works on eight characters at once, the first in the lowest byte
// of a word.
const each = 0x01_01_01_01_01_01_01_01 // times a byte: that byte, eight times

// eight returns two times four characters as a word.
func eight(a, b string) uint64 {
	_, _ = a[3], b[3]
	return uint64(a[0]) | uint64(a[1])<<8 | uint64(a[2])<<16 | uint64(a[3])<<24 |
		uint64(b[0])<<32 | uint64(b[1])<<40 | uint64(b[2])<<48 | uint64(b[3])<<56
}

// number reads eight hexadecimal digits. Bad is not zero for what is not spelled so.
func number(text uint64) (n uint32, bad uint64) {
	letters := text >> 6 & each
	values := text&(0xf*each) + 9*letters
	bad = text ^ spell(values) | values&(0xf0*each)
	pairs := (values<<4 | values>>8) & 0x00ff_00ff_00ff_00ff
	pairs = (pairs | pairs>>8) & 0x0000_ffff_0000_ffff
	return bits.ReverseBytes32(uint32(pairs | pairs>>16)), bad
}

// digits is the opposite of number.
func digits(n uint32) uint64 {
	pairs := uint64(bits.ReverseBytes32(n))
	pairs = (pairs | pairs<<16) & 0x0000_ffff_0000_ffff
	pairs = (pairs | pairs<<8) & 0x00ff_00ff_00ff_00ff
	return spell(pairs>>4&0x000f_000f_000f_000f | pairs<<8&0x0f00_0f00_0f00_0f00)
}

// spell makes digits of eight values below 16.
func spell(values uint64) uint64 {
	letters := (values + 6*each) >> 4 & each
	return values + '0'*each + ('a'-'9'-1)*letters
}
