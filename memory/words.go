package memory

import (
	"time"

	"github.com/weft-go/weft/memory/internal/rank"
)

// termsOf returns the words that a fact is found by: those of its content and, for a fact of a
// conversation, the date from which on it is so.
func termsOf(f *Fact) []string {
	terms := rank.Terms(f.Content)
	if f.Conversation == "" {
		return terms
	}
	at := f.ValidFrom
	if at.IsZero() {
		at = time.Now() // as the store sets it
	}
	return append(terms, rank.DateTerms(at)...)
}
