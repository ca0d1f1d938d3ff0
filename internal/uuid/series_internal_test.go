package uuid

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// seriesAt returns a series whose last id has these random bits in its lower half.
func seriesAt(low uint64) Series {
	id := random()
	binary.BigEndian.PutUint64(id[8:], variant<<62|low)
	return Series{last: format(id)}
}

func TestSeriesCarriesIntoEveryByte(t *testing.T) {
	t.Parallel()
	for _, low := range []uint64{0, 0xff, 0xffff_ffff, 0xffff_ffff_ffff, 1<<60 - 1, 2<<60 - 1, 3<<60 - 1, 1<<62 - 3} {
		s := seriesAt(low)
		last := string(s.last[:])
		next := s.Next()
		require.Greater(t, next, last)
		id, ok := Pack(next)
		require.True(t, ok)
		assert.Equal(t, uint64(variant<<62|low)+1, binary.BigEndian.Uint64(id[8:]))
	}
}

func TestSeriesStartsAgainAfterTheGreatestID(t *testing.T) {
	t.Parallel()
	s := seriesAt(1<<62 - 1)
	last := string(s.last[:])
	next := s.Next()
	assert.NotEqual(t, last, next)
	id, ok := Pack(next)
	require.True(t, ok)
	assert.EqualValues(t, variant, id[8]>>6, "variant")
	assert.EqualValues(t, 7, id[6]>>4, "version")
}
