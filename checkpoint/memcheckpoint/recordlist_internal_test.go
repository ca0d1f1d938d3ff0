package memcheckpoint

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRecordsOfALongThreadAreFound proves that a list has each record at its index, also when it has many parts, and
// that a clone does not change with its source.
func TestRecordsOfALongThreadAreFound(t *testing.T) {
	t.Parallel()
	const n = 100_000
	var l recordList
	for i := range n {
		l.add(record{step: i})
	}
	clone := l.clone()
	l.add(record{step: -1})
	clone.add(record{step: -2})
	for i := range int32(n) {
		require.EqualValues(t, i, l.at(i).step)
		require.EqualValues(t, i, clone.at(i).step)
	}
	require.Equal(t, -1, l.at(n).step)
	require.Equal(t, -2, clone.at(n).step)
	next := int32(n)
	for i, r := range l.backward() {
		require.Equal(t, next, i)
		require.Same(t, l.at(i), r)
		next--
	}
}
