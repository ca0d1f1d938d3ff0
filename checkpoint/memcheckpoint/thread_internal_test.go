package memcheckpoint

import (
	"fmt"
	"hash/maphash"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
)

// TestIDsWithEqualHashesAreFound proves that a checkpoint is found although its id has the hash of
// another id, and that an absent id is not found.
func TestIDsWithEqualHashesAreFound(t *testing.T) {
	t.Parallel()
	th, head := newThread(), ""
	put := func(id string) {
		require.NoError(t, th.put(&checkpoint.Checkpoint{Key: checkpoint.Key{Thread: "t", ID: id}, Parent: head}, head))
		head = id
	}
	for i := range short + 1 {
		put(fmt.Sprint(i))
	}
	hash := maphash.String(seed, "a")
	th.byID[hash], th.byID[hash+1] = 0, 1 // as if the ids 0 and 1 had these hashes
	put("a")
	assert.Equal(t, int32(short+1), th.withID("a"))
	hash = maphash.String(seed, "b")
	th.byID[hash] = 0
	assert.Equal(t, int32(none), th.withID("b"))
}
