package llm

// Identity identifies messages by their ids. It implements state.Identity.
type Identity struct{}

// ByID is for the channel of a conversation: state.Keyed("messages", llm.ByID).
var ByID Identity

// ID returns the id of the message. It is empty if the message has none yet.
func (Identity) ID(m Message) string { return m.ID }

// WithID returns the message with the given id.
func (Identity) WithID(m Message, id string) Message {
	m.ID = id
	return m
}
