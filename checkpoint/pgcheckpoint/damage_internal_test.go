package pgcheckpoint

import (
	"math/rand/v2"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
)

// If one bit of a stored value is flipped, parsing the value returns an error. The error is
// ErrCorrupt, except for some bits of the first byte, which is the format.
func TestEveryFlippedBitOfAValueIsFound(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(11, 0))
	values := 100
	if os.Getenv("WEFT_FAULTS") == "1" {
		values = 1000
	}
	for range values {
		data := make([]byte, r.IntN(400))
		for i := range data {
			data[i] = "abc "[r.IntN(4)] // some values are compressed
		}
		sum := valueSum(tiedChanges, "id", "loop", "before")
		stored := tie(packChanges(change(string(data))), sum)
		for i := range len(stored) * 8 {
			b := append([]byte(nil), stored...)
			b[i/8] ^= 1 << (i % 8)
			untie(b, sum)
			_, err := unpackChanges(b)
			if i < 8 && err != nil {
				continue
			}
			require.ErrorIs(t, err, checkpoint.ErrCorrupt, "bit %d of a value of %d bytes", i, len(b))
		}
	}
}

func TestValueIsTiedToItsRow(t *testing.T) {
	t.Parallel()
	sum := valueSum(tiedChanges, "id", "loop", "before")
	for name, other := range map[string]uint32{
		"another kind":        valueSum(tiedSnapshot, "id", "loop", "before"),
		"another id":          valueSum(tiedChanges, "ie", "loop", "before"),
		"another source":      valueSum(tiedChanges, "id", "loot", "before"),
		"another delta":       valueSum(tiedChanges, "id", "loop", "befora"),
		"a border moved":      valueSum(tiedChanges, "idl", "oop", "before"),
		"a pending write":     writeSum("id", "task", 0),
		"another task":        writeSum("id", "tasl", 0),
		"another write index": writeSum("id", "task", 1),
	} {
		stored := tie(packChanges(change("data")), sum)
		untie(stored, other)
		_, err := unpackChanges(stored)
		require.ErrorIs(t, err, checkpoint.ErrCorrupt, name)
	}
	stored := tie(packChanges(change("data")), sum)
	untie(stored, sum)
	untie(stored, sum) // a value that is not tied stays as it is
	changes, err := unpackChanges(stored)
	require.NoError(t, err)
	require.Equal(t, change("data"), changes)
}
