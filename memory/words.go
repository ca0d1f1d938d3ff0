package memory

import (
	"time"

	"github.com/weft-go/weft/memory/internal/rank"
)

// termsOf returns the terms of a fact: the terms of its content and, for a fact of a
// conversation, the date of its ValidFrom.
func termsOf(f *Fact) []string {
	terms := rank.Terms(f.Content)
	if f.Conversation == "" {
		return terms
	}
	at := f.ValidFrom
	if at.IsZero() {
		at = time.Now() // the store sets ValidFrom to now
	}
	return append(terms, rank.DateTerms(at)...)
}
