// Package state is what a graph remembers: typed channels, the reducers that
// fold updates into them, and the views that nodes read.
//
// A channel is declared once, as a package variable, and is schema, accessor
// and codec in one. Nothing is looked up by name in user code:
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
// The rules to know:
//
//   - The name of a channel is its name in storage. Renaming the Go variable
//     loses nothing; renaming the string does.
//   - A [View] never changes. What Get returns is the caller's own copy, and
//     what Put is given is copied too, so no reader, writer or sibling can alter
//     a state in place. The copy follows slices, maps, pointers and exported
//     fields; a type with other references is copied by its Clone method, else
//     through its stored form. A handle in a field tagged json:"-", such as a
//     pointer to a client or a lock, is handed on as it is.
//   - A reducer is pure: it returns the same for the same arguments. It gets
//     copies, so one that appends in place does no harm.
//   - JSON is the stored form; a type's own MarshalJSON and UnmarshalJSON are
//     the hook, and what they write is read back each time and compared. A type
//     that would lose something is refused by [NewSchema], a value that would is
//     refused when it is stored, both with the name of the channel and the path
//     of what would be lost: an int in an any, a string that is not UTF-8, a
//     NaN. Only what a tag asks for is let go: what json:"-" leaves out, and that
//     omitempty turns an empty slice or map into nil.
//   - Built-in channels are rebuilt from storage without user code. A channel
//     with a custom reducer stores its whole value whenever it is written, so
//     long lists belong in [Append] or [Keyed].
//
// [Schema] and [Tx] are the engine's side: package graph uses them, and a test
// of a reducer can.
package state
