package uuid

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestSeriesCarriesIntoEveryByte(t *testing.T) {
	t.Parallel()
	for _, low := range []uint64{0, 0xff, 0xffff_ffff, 0xffff_ffff_ffff, 1<<62 - 3} {
		s := Series{last: random()}
		binary.BigEndian.PutUint64(s.last[8:], variant<<62|low)
		last := Unpack(s.last)
		next := s.Next()
		require.Greater(t, next, last)
		id, ok := Pack(next)
		require.True(t, ok)
		assert.Equal(t, uint64(variant<<62|low)+1, binary.BigEndian.Uint64(id[8:]))
	}
}

func TestSeriesStartsAgainAfterTheGreatestID(t *testing.T) {
	t.Parallel()
	s := Series{last: random()}
	binary.BigEndian.PutUint64(s.last[8:], variant<<62|(1<<62-1))
	last := Unpack(s.last)
	next := s.Next()
	assert.NotEqual(t, last, next)
	id, ok := Pack(next)
	require.True(t, ok)
	assert.EqualValues(t, variant, id[8]>>6, "variant")
	assert.EqualValues(t, 7, id[6]>>4, "version")
}
