package engine

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/weft-go/weft/checkpoint"
)

// A list returns copies of all changes in order, whatever their size, and an addition to the data
// of one change does not change another.
func TestChangeListCopiesChangesInOrder(t *testing.T) {
	t.Parallel()
	var (
		list changeList
		want []checkpoint.Change
	)
	assert.Equal(t, []checkpoint.Change{}, list.all(), "an empty list")
	for size := range 300 {
		data := bytes.Repeat([]byte{byte(size)}, size*size)
		list.add([]checkpoint.Change{{Channel: "a", Kind: 1, Data: data}, {Channel: "b", Kind: 2, Data: []byte("2")}})
		want = append(want, checkpoint.Change{Channel: "a", Kind: 1, Data: bytes.Clone(data)}, checkpoint.Change{Channel: "b", Kind: 2, Data: []byte("2")})
		clear(data) // the caller uses the memory again
	}
	got := list.all()
	for _, c := range got {
		_ = append(c.Data, "x"...)
	}
	assert.Equal(t, len(want), len(got))
	for i := range want {
		assert.True(t, want[i].Channel == got[i].Channel && want[i].Kind == got[i].Kind && bytes.Equal(want[i].Data, got[i].Data), "change %d", i)
	}

	list.add([]checkpoint.Change{{Channel: "a", Kind: 6}, {Channel: "a", Kind: 1, Data: []byte{}}})
	got = list.all()[len(want):]
	assert.Nil(t, got[0].Data)
	assert.NotNil(t, got[1].Data)
}
