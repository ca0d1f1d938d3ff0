package state

import (
	"github.com/weft-go/weft/internal/statecore"
)

// A View is a state that does not change. Read it through channels:
// Messages.Get(view). It is safe for concurrent use, and may be kept.
type View interface{ statecore.View }

// A Handle is any channel: a [Channel], [ListChannel], [KeyedChannel],
// [SetChannel] or [MapChannel].
type Handle interface {
	// Name is the channel's name in storage.
	Name() string
	statecore.Channel
}

// A Description describes a channel.
type Description struct {
	Name   string `json:"name"`
	Kind   string `json:"kind"`   // "last", "append", "sum", …
	Type   string `json:"type"`   // the Go type of its value
	Stored bool   `json:"stored"` // false for an untracked channel
}

// handle is the part of a channel that the engine sees.
type handle struct{ traits *statecore.Traits }

// Name returns the channel's name in storage.
func (h handle) Name() string { return h.traits.Name }

// Core is for package graph.
func (h handle) Core() *statecore.Traits { return h.traits }

// write returns the write that performs an action, or the zero Write if the
// action is empty.
func (h handle) write(a statecore.Action) Write {
	if a.Kind == 0 {
		return Write{}
	}
	return Write{statecore.NewWrite(h.traits, a)}
}

// An Update is the list of writes that a node, an input or an edit makes. They
// are applied in order.
type Update []Write

// A Write is one change to one channel, or a signal to the graph such as
// graph.Goto. Channels make writes. The zero Write does nothing. A Write is
// immutable and may be used more than once.
type Write struct{ statecore.Write }
