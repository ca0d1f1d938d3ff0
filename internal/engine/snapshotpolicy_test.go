package engine

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/internal/statecore"
)

func TestSnapshotIsTriedWhenReplayReadsTwiceTheState(t *testing.T) {
	t.Parallel()
	set := func(n int) checkpoint.Change {
		return checkpoint.Change{Channel: "last", Kind: uint8(statecore.KindSet), Data: make([]byte, n)}
	}
	add := func(n int) checkpoint.Change {
		return checkpoint.Change{Channel: "list", Kind: uint8(statecore.KindAppend), Data: make([]byte, n)}
	}
	emptied := checkpoint.Change{Channel: "list", Kind: uint8(statecore.KindClear)}
	for name, c := range map[string]struct {
		rows    int
		changes []checkpoint.Change
		want    bool
	}{
		"a value that is replaced":            {64, []checkpoint.Change{set(1024)}, true},
		"too few checkpoints":                 {63, []checkpoint.Change{set(1024)}, false},
		"too few bytes":                       {64, []checkpoint.Change{set(128)}, false},
		"a list that only grows":              {1000, []checkpoint.Change{add(1024)}, false},
		"a list beside a value of equal size": {1000, []checkpoint.Change{add(512), set(520)}, true},
		"a list that is emptied":              {64, []checkpoint.Change{add(1024), emptied}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var s snapshotPolicy
			for range c.rows {
				s.add(c.changes)
			}
			assert.Equal(t, c.want, s.worthTrying())
			s.reset()
			assert.False(t, s.worthTrying(), "after a snapshot")
		})
	}
}
