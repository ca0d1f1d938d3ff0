// Package driver has what a backend of a memory implements: the stores of facts, values, documents,
// conversations and turns, and the types that pass through them. Package memory checks what it
// gives to a store, so a store need not check again. Package drivertest tests a backend.
//
// Packages inmemory, sqlitememory and pgmemory are backends.
package driver

// A Backend stores a memory. It returns nil for a part that it does not have. Its stores are
// safe for use by any number of goroutines.
type Backend interface {
	Facts() FactStore
	Values() ValueStore
	Documents() DocumentStore
	Conversations() ConversationStore
	Turns() TurnStore
}

// Stores is a [Backend] of stores that need not belong together. A field that is nil is a part
// that the backend does not have.
type Stores struct {
	FactStore         FactStore
	ValueStore        ValueStore
	DocumentStore     DocumentStore
	ConversationStore ConversationStore
	TurnStore         TurnStore
}

// Facts implements [Backend].
func (s Stores) Facts() FactStore { return s.FactStore }

// Values implements [Backend].
func (s Stores) Values() ValueStore { return s.ValueStore }

// Documents implements [Backend].
func (s Stores) Documents() DocumentStore { return s.DocumentStore }

// Conversations implements [Backend].
func (s Stores) Conversations() ConversationStore { return s.ConversationStore }

// Turns implements [Backend].
func (s Stores) Turns() TurnStore { return s.TurnStore }
