package pgtest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestAbandonedReportsNamesOfOldTests(t *testing.T) {
	t.Parallel()
	later := time.Now().Add(abandonedAfter + time.Minute)
	for name, want := range map[string]bool{
		newName():              true,
		"weft_test_1_x":        true,
		"weft_test_9999999999": false,
		"weft_test_":           false,
		"weft_1_x":             false,
		"public":               false,
	} {
		assert.Equal(t, want, abandoned(name, later), name)
	}
	assert.False(t, abandoned(newName(), time.Now()))
}
