package statecore

import "reflect"

// A Channel is a handle of a channel. Package state implements it.
type Channel interface {
	// Name returns the name of the channel in storage.
	Name() string
	// Core returns the description of the channel. Handles of one channel return
	// the same pointer.
	Core() *Traits
}

// Traits describe a channel to the engine.
// They must not change after the channel is part of a schema.
type Traits struct {
	Name   string
	Kind   string       // "append", "sum", …; used in descriptions only
	Value  reflect.Type // the type of the value
	Update reflect.Type // the type of an update; for a list, the type of an element
	List   bool         // the value is a list of updates
	Err    error        // the reason why the channel cannot be used, or nil
	Codec  Codec

	Replaces         bool // an update replaces the value; otherwise it is merged into the value
	Exclusive        bool // only one task of a superstep may write to it
	Ephemeral        bool // the value lasts for one superstep
	Untracked        bool // the value is never stored
	Internal         bool // an implementation detail of nodes, which only Go code writes
	Prunes           bool // Codec is a Pruner, and its Prune must be called
	ChangesAreWrites bool // each stored change has the effect of one write
	Checked          bool // Codec inspects each value, or reads it back; see [Tx.Check]
}

// A Codec applies, stores and restores the changes of one channel. The signatures of its
// methods do not depend on the Go types of the channel.
type Codec interface {
	// Initial returns the value before the first write. It is absent for a channel whose value
	// is not a list, set or map, and that has no default.
	Initial() Slot
	// Fold applies an action and returns the new value. It may change the value in
	// place if m.Owned is true.
	Fold(s Slot, m *Mark, a Action) (Slot, error)
	// Changes emits the stored form of the changes of a transaction. The slot s has the new
	// value, and m has the record of the changes.
	Changes(s Slot, m *Mark, to *ChangeWriter) error
	// Snapshot emits one change that restores the value into an absent channel.
	Snapshot(s Slot, to *ChangeWriter) error
	// Replay applies a stored change and returns the next slot.
	Replay(s Slot, m *Mark, k Kind, data []byte) (Slot, error)
	// EncodeWrite returns the stored form of an action.
	EncodeWrite(a Action) (Kind, []byte, error)
	// DecodeWrite decodes the result of EncodeWrite.
	DecodeWrite(k Kind, data []byte) (Action, error)
	// WriteFromChange returns an action with the same effect as a stored change. It
	// reports false if no single action has this effect.
	WriteFromChange(k Kind, data []byte) (a Action, ok bool, err error)
	// ParseInput decodes the JSON of an update that a user wrote.
	ParseInput(data []byte) (Action, error)
	// ParseRemove decodes the JSON array of keys to remove that a user wrote.
	ParseRemove(data []byte) (Action, error)
	// Describe returns the name of an action and the JSON of its value, for
	// [Write.MarshalJSON] and [Write.String]. The value may be nil.
	Describe(a Action) (op string, value []byte, err error)
}

// A Pruner is a [Codec] with a method that removes elements after the writes of a
// superstep.
type Pruner interface {
	Prune(s Slot, m *Mark) (Slot, error)
}

// A Slot holds the value of one channel in a state. The zero Slot means that the
// channel is absent. The slots of a view do not change.
//
// N holds the length of a list or the value of a sum, to save an allocation.
type Slot struct {
	Value any
	N     int64
}

// Absent reports whether the channel was never written, or was cleared.
func (s Slot) Absent() bool { return s.Value == nil }

// A Mark records how a transaction changed one slot.
// The codec of the channel uses the exported fields.
// The transaction uses the other fields.
type Mark struct {
	Log    any  // the changes, in a form that the codec defines
	From   int  // the position of the first appended element of a list
	Owned  bool // no view holds the value, so it may change in place
	Whole  bool // the stored change is the whole value
	Detach bool // do not append to a buffer that a view shares

	dirty       bool
	overwritten bool
	task        int // the last task that wrote to the channel
	overTask    int // the task that overwrote the channel
}
