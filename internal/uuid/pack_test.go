package uuid_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/internal/uuid"
)

// Pack accepts only texts in the standard form. Unpack restores the text.
func FuzzPack(f *testing.F) {
	for _, s := range []string{
		"", "0190b5e4-7c1a-7e2f-8a3b-000000000001", "0190B5E4-7c1a-7e2f-8a3b-000000000001", "0190b5e4-7c1a-7e2f-8a3b-00000000000g",
		"0190b5e4-7c1a-7e2f-8a3b_000000000001", "0190b5e47c1a-7e2f-8a3b-0000000000012", "ffffffff-ffff-ffff-ffff-ffffffffffff",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		packed, ok := uuid.Pack(s)
		require.Equal(t, canonical(s), ok, "%q", s)
		if ok {
			assert.Equal(t, s, uuid.Unpack(packed))
		}
	})
}

func canonical(s string) bool {
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

func TestPackChecksEveryByte(t *testing.T) {
	t.Parallel()
	const id = "0189abcd-ef01-7e2f-8a3b-56789abcdef0"
	for at := range id {
		for b := range 256 {
			s := id[:at] + string([]byte{byte(b)}) + id[at+1:]
			packed, ok := uuid.Pack(s)
			require.Equal(t, canonical(s), ok, "%q", s)
			if ok {
				require.Equal(t, s, uuid.Unpack(packed))
			}
		}
	}
}
