package state

import "fmt"

// An Update is what a node, an input or an outside edit does to the state:
// writes, applied in order.
type Update []Write

// A Write is one change to one channel, or a [Signal] to the engine. Channels
// make them; the zero Write does nothing. A Write is immutable and may be used
// more than once.
type Write struct {
	verb *verb // nil for a signal
	data any
}

// A verb is what a write does, and to which channel. Each channel has its own, so
// that a write, of which every node makes some, is small.
type verb struct {
	ch   channel
	of   *traits // those of ch
	kind Kind
	many bool // of updates: data is a slice of them, and not one
}

// verbs are those of a channel by their kinds; the first, whose number is no
// kind's, is for several updates at once.
type verbs [KindOverwrite + 1]verb

func (v *verbs) bind(c channel) {
	for k := range v {
		v[k] = verb{ch: c, of: c.info(), kind: Kind(k)}
	}
	v[0] = verb{ch: c, of: c.info(), kind: KindUpdate, many: true}
}

// write returns a write of a kind.
func (v *verbs) write(k Kind, data any) Write { return Write{&v[k], data} }

// A Signal is a write that is meant for the engine and not for a channel, such
// as where to go next.
type Signal interface {
	// Signal describes it, for errors and traces: "goto review".
	Signal() string
}

// NewSignal wraps a signal as a write.
func NewSignal(s Signal) Write { return Write{data: s} }

// Signal returns the signal that w carries, or nil when w is for a channel.
func (w Write) Signal() Signal {
	if w.verb != nil {
		return nil
	}
	s, _ := w.data.(Signal)
	return s
}

// Channel returns the name of the channel that w is for; empty for a signal.
func (w Write) Channel() string {
	if w.verb == nil {
		return ""
	}
	return w.verb.of.name
}

// String describes the write without its value.
func (w Write) String() string {
	switch {
	case w.verb != nil:
		return fmt.Sprintf("%s %s", w.verb.kind, w.verb.of.name)
	case w.Signal() != nil:
		return w.Signal().Signal()
	}
	return "nothing"
}

// A Kind is how a change applies to a channel. The numbers are part of the
// storage format and never change.
type Kind uint8

// The kinds of change.
const (
	KindSet       Kind = 1 // the value is replaced
	KindAppend    Kind = 2 // elements are appended
	KindPut       Kind = 3 // elements replace those of their id, or are appended
	KindRemove    Kind = 4 // the elements of these ids go
	KindMerge     Kind = 5 // entries are added or replaced
	KindClear     Kind = 6 // the value goes
	KindUpdate    Kind = 7 // updates that have yet to pass the reducer
	KindOverwrite Kind = 8 // a value that has yet to replace what is there
)

func (k Kind) String() string {
	names := [...]string{KindSet: "set", KindAppend: "append", KindPut: "put", KindRemove: "remove", KindMerge: "merge", KindClear: "clear", KindUpdate: "update", KindOverwrite: "overwrite"}
	if int(k) < len(names) && names[k] != "" {
		return names[k]
	}
	return fmt.Sprintf("kind(%d)", uint8(k))
}

// putting returns a write of updates, of which there is one at least. One, the
// common case, is boxed by itself, to save memory.
func putting[U any](v *verbs, updates []U, clone func(U) U) Write {
	if len(updates) == 1 {
		return v.write(KindUpdate, box(cloned(updates[0], clone)))
	}
	return v.write(0, copyOf(updates, clone))
}

// put returns the updates that putting was given: the first, and the rest.
func put[U any](w *Write) (first U, rest []U) {
	if !w.verb.many {
		return unbox[U](w.data), nil
	}
	all := w.data.([]U)
	return all[0], all[1:]
}

// puts returns all of them.
func puts[U any](w *Write) []U {
	if !w.verb.many {
		return []U{unbox[U](w.data)}
	}
	return w.data.([]U)
}
