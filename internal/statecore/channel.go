package statecore

import "reflect"

// A Channel is a handle of a channel. Package state makes them.
type Channel interface {
	// Name is the channel's name in storage.
	Name() string
	// Core returns the engine's description of the channel. The same pointer
	// means the same channel.
	Core() *Traits
}

// Traits describe a channel to the engine. They do not change once a schema has
// the channel.
type Traits struct {
	Name   string
	Kind   string       // "append", "sum", …: for descriptions
	Value  reflect.Type // the type of the value
	Update reflect.Type // the type of an update; for a list the type of an element
	List   bool         // the value is a list of updates
	Err    error        // why the channel cannot be used, or nil
	Codec  Codec

	Exclusive        bool // only one task of a superstep may write to it
	Ephemeral        bool // the value lasts for one superstep
	Untracked        bool // the value is never stored
	Prunes           bool // Codec is a Pruner that has a function to call
	ChangesAreWrites bool // each stored change has the effect of one write
	Checked          bool // some values of the type cannot be stored; see [Tx.Check]
}

// A Codec applies, stores and restores the changes of one channel. It is free of
// the channel's Go types.
type Codec interface {
	// Fold applies an action. It may change in place a value that m says it owns.
	Fold(s Slot, m *Mark, a Action) (Slot, error)
	// Changes emits the changes that a transaction recorded in m.
	Changes(s Slot, m *Mark, to *ChangeWriter) error
	// Snapshot emits one change that builds the value from nothing.
	Snapshot(s Slot, to *ChangeWriter) error
	// Replay applies a stored change.
	Replay(s Slot, m *Mark, k Kind, data []byte) (Slot, error)
	// EncodeWrite returns the stored form of an action.
	EncodeWrite(a Action) (Kind, []byte, error)
	// DecodeWrite reads what EncodeWrite returned.
	DecodeWrite(k Kind, data []byte) (Action, error)
	// WriteFromChange returns the action that has the effect of a stored change.
	// It reports false if the change cannot be expressed as one action.
	WriteFromChange(k Kind, data []byte) (a Action, ok bool, err error)
	// ParseInput reads the JSON of an update that does not come from storage.
	ParseInput(data []byte) (Action, error)
	// Describe returns the name of an action and the JSON of its value, for a
	// person. The value may be nil.
	Describe(a Action) (op string, value []byte, err error)
}

// A Pruner is a [Codec] that changes the value once more after the writes of a
// superstep.
type Pruner interface {
	Prune(s Slot, m *Mark) (Slot, error)
}

// A Slot is a state's value of one channel. The zero Slot means that the channel
// is absent. A slot that a view holds does not change.
//
// N holds a list's length or a sum, so that a change of it does not allocate.
type Slot struct {
	Value any
	N     int64
}

// Absent reports whether the channel was never written, or was cleared.
func (s Slot) Absent() bool { return s.Value == nil }

// A Mark is a transaction's record of one slot. Its exported fields belong to
// the channel.
type Mark struct {
	Log    any  // what changed, in the channel's own form
	From   int  // where the appended elements of a list begin
	Owned  bool // the value belongs to this transaction and may change in place
	Whole  bool // the changes are stored as the whole value
	Detach bool // do not append to a buffer that the view shares

	dirty       bool
	overwritten bool
	task        int // the last task that wrote
	overTask    int // the task that overwrote
}
