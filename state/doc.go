// Package state declares the state of a graph: typed channels, the reducers that
// fold updates into them, and the views that nodes read.
//
// Declare a channel once, as a package variable. It defines the name, the type
// and the stored form of a part of the state, and it is how nodes read and write
// that part:
//
//	var (
//		Messages = state.Append[string]("messages")
//		Tokens   = state.Sum[int]("tokens")
//	)
//
//	func answer(ctx context.Context, s state.View) (state.Update, error) {
//		text := "you said: " + strings.Join(Messages.Get(s), ", ")
//		return state.Update{Messages.Put(text), Tokens.Put(len(text))}, nil
//	}
//
// # Names
//
// A channel is stored under its name. A new name of the Go variable does not affect
// stored threads, but a new name of the channel does. A graph compares channels by
// their handles. Two channels with one name are an error, so declare each channel
// once and share it.
//
// # Values
//
// A [View] does not change. Get returns a copy and Put makes a copy, so neither a
// reader nor a writer can change a state in place. The copy includes slices,
// maps, pointers and exported fields. A type with other references is copied by
// its Clone method or, without one, through its stored form. A field tagged
// json:"-" that points to a client, a lock or another value that cannot be copied
// is shared.
//
// A reducer is pure: the same arguments give the same result, and it has no side
// effects. It gets copies and may change them.
//
// # Storage
//
// The stored form is JSON. The methods MarshalJSON and UnmarshalJSON of a type are
// used, and their output is read back and compared each time. A graph rejects a
// type that JSON cannot restore unchanged. A run fails with [ErrRoundTrip] for a
// value that JSON cannot restore unchanged, such as an int in an any, a string that
// is not UTF-8, or NaN. The error names the channel and the path of the value. Two
// losses are accepted, since a tag asks for them: fields tagged json:"-" are not
// stored, and omitempty makes an empty slice or map nil.
//
// A time.Time keeps its instant and its offset, but JSON does not hold the name of
// its location. Put therefore replaces the location by UTC or a fixed zone, and
// removes the monotonic clock reading. A node then reads the same value before and
// after a restart. If a program needs the rules of a location, such as daylight
// saving time, store the name of the location in another field. Times inside a type
// that has a MarshalJSON method are not changed.
//
// Built-in channels are restored from storage without user code. A channel with a
// custom reducer stores its whole value whenever it is written, so use [Append],
// [Keyed] or [Map] for a value that grows.
//
// To change the type of a channel while there are stored threads, set an Upgrade
// function, which converts old JSON; see [Channel.Upgrade].
//
// # Tests
//
// [NewView] makes a state from writes, to test a node or a reducer without a
// graph. [Values] and [Update.Values] show a state and an update as JSON.
package state
