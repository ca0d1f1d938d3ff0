// Package inmemory stores a memory in the process, for tests and for small programs. The data is lost
// when the process ends.
//
//	m, err := memory.New(inmemory.New(inmemory.Options{}), memory.Options{})
package inmemory

import "github.com/weft-go/weft/memory/driver"

// Options configures [New]. The zero value has no limits.
type Options struct {
	// MaxFacts is the maximum number of valid facts of a scope, MaxValues the maximum number of values
	// of a scope, and MaxMessages the maximum number of messages of a session. Zero means no limit. A
	// change that would exceed a limit returns [driver.ErrQuota].
	MaxFacts, MaxValues, MaxMessages int
}

// New returns an empty backend. Searches read all facts, values and messages of their scopes and compare
// all vectors, so it suits tens of thousands of texts.
func New(o Options) driver.Stores {
	return driver.Stores{
		FactStore: NewFacts(o), ValueStore: NewValues(o), DocumentStore: NewDocuments(),
		ConversationStore: NewConversations(o), TurnStore: NewTurns(),
	}
}

// Fill returns a backend with the given stores. Each nil store is replaced by a store in memory.
func Fill(s driver.Stores) driver.Stores {
	in := New(Options{})
	if s.FactStore == nil {
		s.FactStore = in.FactStore
	}
	if s.ValueStore == nil {
		s.ValueStore = in.ValueStore
	}
	if s.DocumentStore == nil {
		s.DocumentStore = in.DocumentStore
	}
	if s.ConversationStore == nil {
		s.ConversationStore = in.ConversationStore
	}
	if s.TurnStore == nil {
		s.TurnStore = in.TurnStore
	}
	return s
}
