// Package driver defines the interfaces of a memory's backend: the stores of facts, values, documents,
// conversations and turns, and their types. Package memory checks the arguments of a store, so a store need
// not. Package drivertest tests a backend.
//
// Packages inmemory, sqlitememory and pgmemory are backends.
package driver

// A Backend has the stores of a memory. It returns nil for a store that it does not have. Its stores are
// safe for concurrent use.
type Backend interface {
	Facts() FactStore
	Values() ValueStore
	Documents() DocumentStore
	Conversations() ConversationStore
	Turns() TurnStore
}

// Stores is a [Backend] made of any stores. A nil field is a store that the backend does not have.
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
