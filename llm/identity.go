package llm

// Identity tells messages apart by their ids. It is what state.Keyed asks for.
type Identity struct{}

// ByID keeps a conversation in a graph: state.Keyed("messages", llm.ByID).
var ByID Identity

// ID returns the message's id, empty when it has none yet.
func (Identity) ID(m Message) string { return m.ID }

// WithID returns the message with an id.
func (Identity) WithID(m Message, id string) Message {
	m.ID = id
	return m
}
