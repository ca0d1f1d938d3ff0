// Package uuid makes the ids of this module.
package uuid

import (
	"encoding/binary"
	"math/rand/v2"
	"time"
)

// New returns a version 7 UUID (RFC 9562): unique, and ordered by time to a
// quarter of a microsecond (method 3 of its section 6.2), since a store is
// quickest with ids that ascend. It is no secret: who sees some can guess others.
func New() string {
	high, low := begin()
	return format(high, low)
}

// A Series makes ids of one moment that ascend one by one (method 2 of that
// section), for less than New does. It is used by one goroutine.
type Series struct {
	high, low uint64
	text      [size]byte // of the last one
	ahead     string     // ids that were made with it, and not given yet
}

// together is how many ids share an allocation.
const together = 4

// Next returns an id behind those before. The first call is the moment; what it
// returns has an allocation of its own, as it may be kept for longer than the
// others.
func (s *Series) Next() string {
	if s.high == 0 {
		s.count()
		return string(s.text[:])
	}
	if s.ahead == "" {
		var ids [together * size]byte
		for at := 0; at < len(ids); at += size {
			s.count()
			copy(ids[at:], s.text[:])
		}
		s.ahead = string(ids[:])
	}
	id := s.ahead[:size]
	s.ahead = s.ahead[size:]
	return id
}

// count makes the text that of the next id.
func (s *Series) count() {
	if s.high == 0 {
		s.high, s.low = begin()
		write(&s.text, s.high, s.low)
	}
	s.low++
	all := s.low>>62 != 0b10 // counted through
	if all {
		s.high, s.low = begin()
	}
	if all || uint32(s.low) == 0 {
		write(&s.text, s.high, s.low)
	} else {
		binary.LittleEndian.PutUint64(s.text[size-8:], digits(uint32(s.low))) // the rest stays
	}
}

const size = 36 // of an id

func begin() (high, low uint64) {
	now := uint64(time.Now().UnixNano())
	return now/1e6<<16 | 0x7<<12 | now%1e6<<12/1e6, 0b10<<62 | rand.Uint64()>>2
}

func format(high, low uint64) string {
	var text [size]byte
	write(&text, high, low)
	return string(text[:])
}

func write(text *[size]byte, high, low uint64) {
	*text = [size]byte{8: '-', 13: '-', 18: '-', 23: '-'}
	put := binary.LittleEndian
	put.PutUint64(text[0:], digits(uint32(high>>32)))
	last := digits(uint32(high))
	put.PutUint32(text[9:], uint32(last))
	put.PutUint32(text[14:], uint32(last>>32))
	first := digits(uint32(low >> 32))
	put.PutUint32(text[19:], uint32(first))
	put.PutUint32(text[24:], uint32(first>>32))
	put.PutUint64(text[28:], digits(uint32(low)))
}
