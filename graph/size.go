package graph

import (
	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/state"
)

// size decides when a snapshot is worth its bytes.
type size struct {
	rows  int // changes stored since the last snapshot, itself included
	bytes int
	check int    // look again when bytes reach it
	least []live // what the state surely takes, by channel
}

// live is the least that one channel's value takes in storage.
type live struct {
	channel string
	bytes   int
}

const (
	snapshotRows  = 64
	snapshotBytes = 16 << 10
)

func (s *size) reset() { *s = size{least: s.least[:0]} }

func (s *size) add(changes []checkpoint.Change) {
	s.rows++
	for i := range changes {
		c := &changes[i]
		s.bytes += len(c.Data)
		at := s.channel(c.Channel)
		switch state.Kind(c.Kind) {
		case state.KindAppend:
			at.bytes += len(c.Data)
		case state.KindSet:
			at.bytes = len(c.Data)
		case state.KindClear, state.KindRemove:
			at.bytes = 0
		}
	}
}

func (s *size) channel(name string) *live {
	for i := range s.least {
		if s.least[i].channel == name {
			return &s.least[i]
		}
	}
	s.least = append(s.least, live{channel: name})
	return &s.least[len(s.least)-1]
}

// worth reports whether to look how long a snapshot would be: not when the
// state is known to take more than half of what replaying it does.
func (s *size) worth() bool {
	if s.rows < snapshotRows || s.bytes < max(s.check, snapshotBytes) {
		return false
	}
	least := 0
	for _, l := range s.least {
		least += l.bytes
	}
	return 2*least <= s.bytes
}

// snapshot adds the whole state to a checkpoint when reading it is half the
// work of replaying what came since the last one. So what is written stays
// within twice what was changed, and what is read within twice the state.
func (r *run) snapshot(c *checkpoint.Checkpoint, view state.View, source checkpoint.Source) error {
	s := &r.size
	s.add(c.Changes)
	if !s.worth() || r.parent != nil && source != checkpoint.Input {
		return nil
	}
	var whole []checkpoint.Change
	total := 0
	err := r.g.schema.Snapshot(view, func(channel string, k state.Kind, data []byte) {
		whole = append(whole, checkpoint.Change{Channel: channel, Kind: uint8(k), Data: data})
		total += len(data)
	})
	if err != nil {
		return err
	}
	if 2*total > s.bytes {
		s.check = 2 * s.bytes
		return nil
	}
	if whole == nil {
		whole = []checkpoint.Change{}
	}
	c.Snapshot = whole
	s.reset()
	s.add(whole)
	return nil
}
