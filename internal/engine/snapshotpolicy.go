package engine

import (
	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/internal/statecore"
	"github.com/weft-go/weft/state"
)

// A snapshotPolicy decides which checkpoints get a snapshot of the whole state.
// A snapshot is added if it is at most half as large as the last snapshot and the changes
// after that snapshot together.
// So all snapshots together add at most as many bytes as the changes themselves.
// A read of the state stays within a small multiple of the size of the state.
type snapshotPolicy struct {
	rows  int // the number of checkpoints from the last snapshot on
	bytes int // the size of the last snapshot and of the changes after it
	// wait is the value that the field bytes must reach before a snapshot is tried again.
	wait int
	// minSizes are lower bounds of the sizes of the channels in a snapshot.
	minSizes []channelSize
}

type channelSize struct {
	channel string
	bytes   int
}

// No snapshot is added below these sizes.
const (
	minSnapshotRows  = 64
	minSnapshotBytes = 16 << 10
)

func (s *snapshotPolicy) reset() { *s = snapshotPolicy{} }

// add counts one more checkpoint, which has the given changes.
func (s *snapshotPolicy) add(changes []checkpoint.Change) {
	s.rows++
	for i := range changes {
		c := &changes[i]
		s.bytes += len(c.Data)
		size := s.sizeOf(c.Channel)
		switch statecore.Kind(c.Kind) {
		case statecore.KindAppend:
			size.bytes += len(c.Data)
		case statecore.KindSet:
			size.bytes = len(c.Data)
		case statecore.KindClear, statecore.KindRemove:
			size.bytes = 0
		}
	}
}

func (s *snapshotPolicy) sizeOf(channel string) *channelSize {
	for i := range s.minSizes {
		if s.minSizes[i].channel == channel {
			return &s.minSizes[i]
		}
	}
	s.minSizes = append(s.minSizes, channelSize{channel: channel})
	return &s.minSizes[len(s.minSizes)-1]
}

// worthTrying reports whether a snapshot may be small enough to be added.
// It returns false if the lower bound of its size is already too large.
func (s *snapshotPolicy) worthTrying() bool {
	if s.rows < minSnapshotRows || s.bytes < max(s.wait, minSnapshotBytes) {
		return false
	}
	least := 0
	for _, size := range s.minSizes {
		least += size.bytes
	}
	return 2*least <= s.bytes
}

// addSnapshot adds a snapshot to a checkpoint if the policy allows it.
// In a subgraph, only the first checkpoint of a call may have a snapshot.
// The changes of the later checkpoints must be replayed to find the writes for the parent.
func (r *run) addSnapshot(c *checkpoint.Checkpoint, view state.View) error {
	s := &r.snapshots
	s.add(c.Changes)
	if !s.worthTrying() || r.parent != nil && c.Source != checkpoint.Input {
		return nil
	}
	whole := []checkpoint.Change{}
	total := 0
	err := r.plan.Schema.Snapshot(view, s.bytes/2, func(channel string, k statecore.Kind, data []byte) {
		whole = append(whole, checkpoint.Change{Channel: channel, Kind: uint8(k), Data: data})
		total += len(data)
	})
	if err != nil {
		return err
	}
	if 2*total > s.bytes {
		s.wait = 2 * s.bytes
		return nil
	}
	s.reset()
	s.add(whole)
	if r.parent != nil && r.log.mode == Exit {
		whole = append(whole, checkpoint.Change{Channel: changesFollow})
	}
	c.Snapshot = whole
	return nil
}
