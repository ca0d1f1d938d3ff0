package state

import (
	"encoding/json"

	"github.com/weft-go/weft/internal/statecore"
)

// A View is an immutable state. Read it through channels: Messages.Get(view). A
// view is safe for concurrent use. It stays valid after the node returns.
type View interface{ statecore.View }

// NewView returns the state of a graph with these channels. It applies the writes
// in order, as one task would. Use it to test a node or a reducer without a graph, or to
// read the update of a task. NewView leaves out writes to an internal channel that is not in channels; see
// [Channel.Internal]. A write to any other channel that is not in channels is an error.
// An error is a [ChannelError], or joins several of them.
func NewView(channels []Handle, writes ...Write) (View, error) {
	schema, err := statecore.NewSchema(channels...)
	if err != nil {
		return nil, err
	}
	tx := schema.Begin(schema.Empty())
	if err := statecore.Apply(tx, 0, statecore.Known(schema, writes)); err != nil {
		return nil, err
	}
	return tx.Finish(false)
}

// Apply returns the state v after the writes of one task, in order. It does not change v.
// Signals such as graph.Goto have no effect. An error is a [ChannelError].
func Apply(v View, writes ...Write) (View, error) { return statecore.After(v, writes) }

// Values returns the value of each channel of v as JSON, by channel name. It omits
// [Untracked] channels and channels without a value: those that were never written, and an
// [Ephemeral] channel whose value has ended.
func Values(v View) (map[string]json.RawMessage, error) { return statecore.ValuesOf(v) }

// A Handle is any channel: a [Channel], [ListChannel], [KeyedChannel],
// [SetChannel] or [MapChannel].
type Handle interface {
	// Name returns the name of the channel in storage.
	Name() string
	statecore.Channel
}

// A Description contains the name and the types of a channel, for display.
type Description struct {
	Name   string `json:"name"`
	Kind   string `json:"kind"`   // "last", "append", "sum", …
	Type   string `json:"type"`   // the Go type of the value
	Stored bool   `json:"stored"` // whether the value is stored; false for an untracked channel
	// Replaces says that an update replaces the value, as for [Last]. Otherwise the update is
	// merged into the value.
	Replaces bool `json:"replaces,omitempty"`
	// Initial is the JSON of the value before the first write: the default, or an empty list,
	// set or map. The default of [Sum] and [Max] is zero unless set. Initial is nil if the channel has no
	// default, if the default is null, or if the channel is not stored.
	Initial json.RawMessage `json:"initial,omitempty"`
	// Internal says that the channel is an implementation detail of nodes; see [Channel.Internal].
	Internal bool `json:"internal,omitempty"`
}

// handle implements Handle for the kinds of channels that embed it.
type handle struct{ traits *statecore.Traits }

// Name returns the name of the channel in storage.
func (h handle) Name() string { return h.traits.Name }

// Core returns the traits of the channel. Only package graph needs it.
func (h handle) Core() *statecore.Traits { return h.traits }

// write returns the write that performs an action, or the zero Write if the
// action is empty.
func (h handle) write(a statecore.Action) Write {
	if a.Kind == 0 {
		return Write{}
	}
	return Write{statecore.NewWrite(h.traits, a)}
}
