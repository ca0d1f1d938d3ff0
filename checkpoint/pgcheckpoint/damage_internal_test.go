package pgcheckpoint

import (
	"errors"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/weft-go/weft/checkpoint"
)

// F11: every single bit of a thousand stored values counts. What is found with the
// first byte changed is of no format that there is.
func TestF11EveryBit(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(11, 0))
	bits, formats, values := 0, 0, 100
	if os.Getenv("WEFT_FAULTS") == "1" {
		values = 1000
	}
	for range values {
		data := make([]byte, r.IntN(400))
		for i := range data {
			data[i] = "abc "[r.IntN(4)] // some are worth compressing
		}
		b := packChanges(change(string(data)))
		for i := range len(b) * 8 {
			bits++
			b[i/8] ^= 1 << (i % 8)
			_, err := unpackChanges(b)
			switch {
			case errors.Is(err, checkpoint.ErrCorrupt):
			case errors.Is(err, checkpoint.ErrFormat) && i < 8:
				formats++
			default:
				t.Fatalf("a value of %d bytes with bit %d changed: got error %v", len(b), i, err)
			}
			b[i/8] ^= 1 << (i % 8)
		}
	}
	t.Logf("F11: %d bits of %d values changed, one at a time: all found (%d as unknown formats)", bits, values, formats)
}
