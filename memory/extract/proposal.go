package extract

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/weft-go/weft/memory"
)

// A Proposal is a fact that an [Extractor] found in a turn.
type Proposal struct {
	// Kind is read without regard to case and plural. An unknown kind is [memory.Plain].
	Kind memory.Kind
	// Content is the text of the fact.
	Content string
	// Evidence is a verbatim span of the user's words in the turn, at most 2,000 bytes. Only
	// white space and the Unicode form (NFC or NFD) may differ. A proposal without such a
	// span is dropped.
	Evidence string
	// Importance is between 0 and 1. Other values are set to the nearer limit.
	Importance float64
	// ExpiresAt is the time at which the fact expires. Zero means never.
	ExpiresAt time.Time
}

// Reason says why a proposal was dropped.
type Reason string

// The reasons.
const (
	Unquoted Reason = "unquoted" // the evidence is not a verbatim span of the user's words
	Refused  Reason = "refused"  // the verifier does not support the fact
	Invalid  Reason = "invalid"  // the fact or its evidence is too long, empty or cannot be stored
)

// A Rejection is the error for a proposal that is not stored. Its text can be shown to the
// model that made the proposal.
// See https://github.com/weft-go/weft/blob/main/docs/troubleshooting.md#extractrejection.
type Rejection struct {
	Reason Reason
	// Doubt is the objection of the verifier. It is empty for other reasons.
	Doubt string
	// Err is the cause, or nil.
	Err error
}

// Error says what to do about the rejection.
func (r *Rejection) Error() string {
	switch r.Reason {
	case Unquoted:
		return "the evidence is not in the user's words of this turn: copy one continuous part of them exactly"
	case Refused:
		if r.Doubt != "" {
			return fmt.Sprintf("the user's words do not support the fact (%s): leave it out, or write only what the user states", r.Doubt)
		}
		return "the user's words do not support the fact: leave it out, or write only what the user states"
	}
	if r.Err != nil {
		return fmt.Sprintf("the fact cannot be stored: %v", r.Err)
	}
	return fmt.Sprintf("the fact cannot be stored: its evidence has more than %d bytes", maxQuote)
}

// Unwrap returns the cause.
func (r *Rejection) Unwrap() error { return r.Err }

// Fact returns the fact of a proposal, with its evidence and with [Lowest] trust. It returns
// a [*Rejection] if the evidence is not a verbatim span of t.User, or if the fact cannot be
// stored.
func (t Turn) Fact(p Proposal) (memory.Fact, error) {
	t.User = clean(t.User)
	p = p.normal()
	if len(p.Evidence) > maxQuote {
		return memory.Fact{}, &Rejection{Reason: Invalid}
	}
	q, ok := t.quote(p.Evidence)
	if !ok {
		return memory.Fact{}, &Rejection{Reason: Unquoted}
	}
	metadata, err := q.metadata()
	f := memory.Fact{
		Kind: p.Kind, Content: p.Content, Metadata: metadata, Conversation: t.Conversation, Turn: t.Number,
		Importance: p.Importance, ExpiresAt: p.ExpiresAt, ValidFrom: t.At,
	}
	f.Trust = TrustOf(f, Provenance{})
	if err == nil {
		err = f.Validate()
	}
	if err != nil {
		return memory.Fact{}, &Rejection{Reason: Invalid, Err: err}
	}
	return f, nil
}

// normal returns the proposal with corrected white space, kind and importance.
func (p Proposal) normal() Proposal {
	p.Content = strings.TrimSpace(p.Content)
	p.Kind = kindOf(p.Kind)
	if math.IsNaN(p.Importance) {
		p.Importance = 0
	}
	p.Importance = min(max(p.Importance, 0), 1)
	return p
}

// kindOf returns the kind that a model means, or [memory.Plain].
func kindOf(k memory.Kind) memory.Kind {
	name := strings.TrimSuffix(strings.ToLower(strings.TrimSpace(string(k))), "s")
	switch name {
	case "procedure":
		return memory.Procedural
	case "event":
		return memory.Episode
	case "relation":
		return memory.Relationship
	}
	if k = memory.Kind(name); k.Validate() != nil {
		return memory.Plain
	}
	return k
}
