package statecore

import "fmt"

// A Write is one change to one channel, or a [Signal].
// The zero Write does nothing.
// A Write is immutable and may be applied more than once.
type Write struct {
	channel *Traits // nil for a signal
	action  Action
}

// An Action is the content of a write to a channel.
// The kind of the channel defines the type of Data.
type Action struct {
	Kind Kind
	Data any
}

// A Signal is an instruction to the engine, such as the next node to run.
// A write carries either a signal or a change to a channel.
// Package graph defines the signals.
type Signal interface {
	// Signal returns a description for errors and traces, such as "goto review".
	Signal() string
}

// A Source holds a Write. An example is state.Write.
type Source interface{ Core() Write }

// NewWrite returns a write to a channel.
func NewWrite(channel *Traits, a Action) Write { return Write{channel, a} }

// SignalWrite returns a write that carries a signal.
func SignalWrite(s Signal) Write { return Write{action: Action{Data: s}} }

// Core returns w.
func (w Write) Core() Write { return w }

// Signal returns the signal that w carries, or nil if w changes a channel.
func (w Write) Signal() Signal {
	if w.channel != nil {
		return nil
	}
	s, _ := w.action.Data.(Signal)
	return s
}

// Channel returns the name of the channel that w changes, or "" for a signal.
func (w Write) Channel() string {
	if w.channel == nil {
		return ""
	}
	return w.channel.Name
}

// IsNoop reports whether w does nothing.
func (w Write) IsNoop() bool { return w.channel == nil && w.action.Data == nil }

// A Kind is the effect of a change on a channel. The numbers are part of the storage
// format and never change.
type Kind uint8

// The kinds of stored changes and writes.
const (
	KindSet       Kind = 1 // replace the value by the stored value
	KindAppend    Kind = 2 // append elements to a list
	KindPut       Kind = 3 // replace elements with known ids, and append the others
	KindRemove    Kind = 4 // remove the elements or entries with these keys
	KindMerge     Kind = 5 // add entries to a map or replace them
	KindClear     Kind = 6 // make the channel absent, or the list empty
	KindUpdate    Kind = 7 // pass updates to the reducer, or append them to a list
	KindOverwrite Kind = 8 // replace the value without a call of the reducer
)

var kindNames = [...]string{
	KindSet: "set", KindAppend: "append", KindPut: "put", KindRemove: "remove",
	KindMerge: "merge", KindClear: "clear", KindUpdate: "update", KindOverwrite: "overwrite",
}

func (k Kind) String() string {
	if int(k) < len(kindNames) && kindNames[k] != "" {
		return kindNames[k]
	}
	return fmt.Sprintf("kind(%d)", uint8(k))
}
