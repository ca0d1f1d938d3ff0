package engine

import (
	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/internal/statecore"
	"github.com/weft-go/weft/state"
)

// A snapshotPolicy decides when a checkpoint gets a snapshot of the whole state:
// when reading the snapshot is at most half the work of replaying the changes
// since the last one. So the bytes written stay within twice the content, and the
// bytes read within twice the state.
type snapshotPolicy struct {
	rows  int // checkpoints since the last snapshot, itself included
	bytes int // of their changes
	// wait is the number of bytes below which a snapshot is not tried again.
	wait int
	// least is a lower bound of the bytes of each channel in a snapshot.
	least []channelSize
}

type channelSize struct {
	channel string
	bytes   int
}

// A snapshot is not worth its bytes below these sizes.
const (
	minSnapshotRows  = 64
	minSnapshotBytes = 16 << 10
)

func (s *snapshotPolicy) reset() { *s = snapshotPolicy{} }

// add counts the changes of a checkpoint.
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
	for i := range s.least {
		if s.least[i].channel == channel {
			return &s.least[i]
		}
	}
	s.least = append(s.least, channelSize{channel: channel})
	return &s.least[len(s.least)-1]
}

// worthTrying reports whether a snapshot may be small enough. It is not if the
// state is known to take more than half of the bytes that a replay reads.
func (s *snapshotPolicy) worthTrying() bool {
	if s.rows < minSnapshotRows || s.bytes < max(s.wait, minSnapshotBytes) {
		return false
	}
	least := 0
	for _, size := range s.least {
		least += size.bytes
	}
	return 2*least <= s.bytes
}

// addSnapshot adds the whole state to a checkpoint if the policy says so. In a
// subgraph only the checkpoint that begins a call may have one: the changes after
// it are replayed for the writes to the parent.
func (r *run) addSnapshot(c *checkpoint.Checkpoint, view state.View) error {
	s := &r.snapshots
	s.add(c.Changes)
	if !s.worthTrying() || r.parent != nil && c.Source != checkpoint.Input {
		return nil
	}
	whole := []checkpoint.Change{}
	total := 0
	err := r.plan.Schema.Snapshot(view, func(channel string, k statecore.Kind, data []byte) {
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
	c.Snapshot = whole
	s.reset()
	s.add(whole)
	return nil
}
