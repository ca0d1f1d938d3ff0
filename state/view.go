package state

import (
	"encoding/json"

	"github.com/weft-go/weft/internal/statecore"
)

// A View is a state that does not change. Read it through channels:
// Messages.Get(view). It is safe for concurrent use, and may be kept.
type View interface{ statecore.View }

// NewView returns the state of a graph with these channels after writes, which
// are applied in order, as the writes of one task. Use it to test a node or a
// reducer without a graph. Its error is a [ChannelError], or joins several.
func NewView(channels []Handle, writes ...Write) (View, error) {
	schema, err := statecore.NewSchema(channels...)
	if err != nil {
		return nil, err
	}
	tx := schema.Begin(schema.Empty())
	if err := statecore.Apply(tx, 0, writes); err != nil {
		return nil, err
	}
	return tx.Finish(false)
}

// Values returns the JSON of the value of each channel that v has. Channels that
// were never written, and [Untracked] channels, are left out.
func Values(v View) (map[string]json.RawMessage, error) { return statecore.ValuesOf(v) }

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
