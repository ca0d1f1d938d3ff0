// Package state defines the state of a graph. A state consists of typed channels.
// Reducers fold updates into the channels. Nodes read the channels through views.
//
// Declare each channel once, as a package variable. The declaration defines the
// name, the type and the stored form of a part of the state. Nodes read and write
// that part through the variable:
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
// A channel is stored under its name. The name of the Go variable has no effect on
// stored threads. If the channel name changes, declare the old name in
// graph.Migrations, so that the graph can read stored threads. Two channels of a
// graph must not have the same name, even if their types are equal. Declare each
// channel once and share the variable.
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
// A reducer must be pure. For the same arguments, it must return the same result.
// It must have no side effects. It gets copies of its arguments and may change them.
//
// # Storage
//
// The stored form is JSON. The methods MarshalJSON and UnmarshalJSON of a type are
// used, and their output is read back and compared each time. A graph rejects a
// type that JSON cannot restore unchanged. A run of a thread fails with
// [ErrRoundTrip] for a value that JSON cannot restore unchanged, such as an int in
// an any, a string that is not UTF-8, or NaN. The error names the channel and the
// path of the value. A run without a thread checks only channels whose type holds an
// interface, a time or raw JSON, or has methods for JSON or text. Two losses are
// accepted, since a tag asks for them: fields tagged json:"-" are not stored, and
// omitempty makes an empty slice or map nil.
//
// A time.Time keeps its instant and its offset, but JSON does not hold the name of
// its location. Put therefore replaces the location by UTC or a fixed zone, and
// removes the monotonic clock reading. A node then reads the same value before and
// after a restart. If a program needs the rules of a location, such as daylight
// saving time, store the name of the location in another field. Times inside a type
// that has a MarshalJSON method are not changed.
//
// A stored thread is restored without calls of reducers. A channel with a custom
// reducer stores its whole value after each step that writes to it. For values that
// grow, use [Append], [Keyed], [Set] or [Map], which store only the changes.
//
// To change the type of a channel that has stored values, set a function that
// converts the old JSON; see [Channel.Upgrade].
//
// # Tests
//
// [NewView] makes a state from writes. Use it to test a node or a reducer without a
// graph. [Values] and [Update.Values] return a state and an update as JSON.
package state
