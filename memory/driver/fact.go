package driver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/weft-go/weft/memory/internal/input"
)

// Kind says what sort of thing a fact is.
type Kind string

// The kinds of facts.
const (
	Preference   Kind = "preference"   // what somebody likes, or how they want things
	Plain        Kind = "fact"         // what is so
	Context      Kind = "context"      // what matters for what is going on
	Relationship Kind = "relationship" // who or what has to do with whom
	Episode      Kind = "episode"      // what happened
	Procedural   Kind = "procedural"   // how something is done
	Profile      Kind = "profile"      // what a user is, in one document
)

var kinds = []Kind{Preference, Plain, Context, Relationship, Episode, Procedural, Profile}

// Kinds returns all kinds.
func Kinds() []Kind { return slices.Clone(kinds) }

// Validate returns [ErrInvalid] for a kind that does not exist.
func (k Kind) Validate() error {
	if !slices.Contains(kinds, k) {
		return fmt.Errorf("kind %.40q is none of %q: %w", string(k), kinds, ErrInvalid)
	}
	return nil
}

// A Fact is one thing that is remembered.
type Fact struct {
	// ID is a UUIDv7 that [memory.Memory.Store] gives. A caller who gives one has to give
	// a UUID.
	ID string `json:"id"`
	// Scope is whose the fact is. Only [memory.Memory.Store] sets it.
	Scope Scope `json:"scope,omitzero"`
	// Kind is [Plain] where a caller leaves it out.
	Kind Kind `json:"kind"`
	// Content is the fact in words, at most 16 KB. Texts that differ in case, spaces and the
	// marks at the end of words alone are taken to say the same.
	Content string `json:"content"`
	// Metadata is a JSON object of the caller's own, at most 16 KB, or nil.
	Metadata json.RawMessage `json:"metadata,omitempty"`
	// Conversation and Turn say where it was said, if it is known: facts of turns
	// beside each other help each other to be found.
	Conversation string `json:"conversation,omitempty"`
	Turn         int64  `json:"turn,omitempty"`
	// Trust says how far the fact may be relied on. Its zero value is [Untrusted]: recall
	// leaves such a fact out unless [FactQuery.Untrusted] is set.
	Trust Trust `json:"trust,omitempty"`
	// Importance is between 0 and 1. Zero stands for 0.5.
	Importance float64 `json:"importance"`
	// ValidFrom is when it began to be so; zero stands for now. ValidTo is when that
	// ended, zero if it did not, and SupersededBy the fact that took its place.
	ValidFrom    time.Time `json:"valid_from"`
	ValidTo      time.Time `json:"valid_to,omitzero"`
	SupersededBy string    `json:"superseded_by,omitempty"`
	// ExpiresAt is when it is to be left out and, by [memory.Memory.Sweep], removed.
	// Zero means never.
	ExpiresAt time.Time `json:"expires_at,omitzero"`
	// CreatedAt and UpdatedAt are times of the store, and Version counts its changes
	// from 1.
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
	Version   int64     `json:"version"`
}

const (
	maxContent        = 16 << 10
	maxMetadata       = 16 << 10
	defaultImportance = 0.5
)

// Validate returns [ErrInvalid] for a fact that cannot be stored, as it is or with what
// [memory.Memory.Store] adds.
func (f Fact) Validate() error {
	_, err := f.Complete(f.Scope)
	return err
}

// Complete returns the fact as it is stored in a scope, with what was left out.
func (f Fact) Complete(s Scope) (Fact, error) {
	f.Scope = s
	if f.Kind == "" {
		f.Kind = Plain
	}
	if f.Importance == 0 {
		f.Importance = defaultImportance
	}
	f.Metadata = bytes.Clone(bytes.TrimSpace(f.Metadata))
	f.ValidFrom, f.ValidTo, f.ExpiresAt = input.Exact(f.ValidFrom), input.Exact(f.ValidTo), input.Exact(f.ExpiresAt)
	return f, f.checkFields()
}

func (f *Fact) checkFields() error {
	switch {
	case !input.Storable(f.Content):
		return fmt.Errorf("content is not UTF-8 or has a NUL: %w", ErrInvalid)
	case input.Blank(f.Content):
		return fmt.Errorf("no content: %w", ErrInvalid)
	case len(f.Content) > maxContent:
		return fmt.Errorf("content has %d bytes, and %d are allowed: %w", len(f.Content), maxContent, ErrInvalid)
	case !(f.Importance > 0 && f.Importance <= 1): // also NaN
		return fmt.Errorf("importance %v is not between 0 and 1: %w", f.Importance, ErrInvalid)
	case f.ID != "" && !input.ValidID(f.ID):
		return fmt.Errorf("id %.60q is no UUID: %w", f.ID, ErrInvalid)
	}
	for _, err := range []error{
		f.Kind.Validate(), f.Trust.Validate(), input.Name("conversation", f.Conversation), checkMetadata(f.Metadata), f.checkTimes(),
	} {
		if err != nil {
			return err
		}
	}
	return nil
}

func (f *Fact) checkTimes() error {
	for _, at := range []time.Time{f.ValidFrom, f.ValidTo, f.ExpiresAt} {
		if year := at.Year(); year < 1 || year > 9999 {
			return fmt.Errorf("a time in the year %d: %w", year, ErrInvalid)
		}
	}
	if !f.ValidTo.IsZero() && !f.ValidTo.After(f.ValidFrom) {
		return fmt.Errorf("valid to %v, from %v: %w", f.ValidTo, f.ValidFrom, ErrInvalid)
	}
	return nil
}

func checkMetadata(data json.RawMessage) error {
	if len(data) == 0 {
		return nil
	}
	var object map[string]json.RawMessage
	switch err := json.Unmarshal(data, &object); {
	case len(data) > maxMetadata:
		return fmt.Errorf("metadata has %d bytes, and %d are allowed: %w", len(data), maxMetadata, ErrInvalid)
	case err != nil:
		return fmt.Errorf("metadata is no JSON object: %w: %w", ErrInvalid, err)
	case object == nil:
		return fmt.Errorf("metadata is null and no object: %w", ErrInvalid)
	case bytes.Contains(data, []byte(`\u0000`)):
		return fmt.Errorf("metadata has a NUL: %w", ErrInvalid)
	case !utf8.Valid(data) || halfRune.Match(wholeRune.ReplaceAll(data, nil)):
		return fmt.Errorf("metadata is not UTF-8, or has half of a rune: %w", ErrInvalid)
	}
	return nil
}

// What JSON calls a surrogate is half of a rune. Not every database takes one alone. An
// escaped backslash before it is none; such metadata is refused too.
var (
	wholeRune = regexp.MustCompile(`(?i)\\ud[89ab][0-9a-f]{2}\\ud[c-f][0-9a-f]{2}`)
	halfRune  = regexp.MustCompile(`(?i)\\ud[89a-f][0-9a-f]{2}`)
)

// ValidAt reports whether a fact is so at a time: from its ValidFrom on, and before its ValidTo
// if it has one. A fact whose ValidTo is its ValidFrom was so at no time.
func (f *Fact) ValidAt(at time.Time) bool {
	return !at.Before(f.ValidFrom) && (f.ValidTo.IsZero() || at.Before(f.ValidTo))
}

// never reports whether the fact was so at no time: it ends when it begins, or before.
func (f *Fact) never() bool { return !f.ValidTo.IsZero() && !f.ValidTo.After(f.ValidFrom) }

// Repeats reports whether f says the same as a fact that is known, for a time that overlaps the
// known fact's. What is untrusted stands apart: it must keep nobody from saying
// so. A fact that was superseded is not repeated once it has ended, as another is so instead.
func (f *Fact) Repeats(known *Fact, now time.Time) bool {
	switch {
	case f.Kind != known.Kind || (f.Trust == Untrusted) != (known.Trust == Untrusted),
		f.never() || known.never(),
		known.SupersededBy != "" && !known.ValidAt(now):
		return false
	}
	ends := func(end, begin time.Time) bool { return !end.IsZero() && !end.After(begin) }
	return !ends(known.ValidTo, f.ValidFrom) && !ends(f.ValidTo, known.ValidFrom) && input.SameText(f.Content, known.Content)
}

// Join returns the fact with the validity and the expiry that it has when another fact that it
// repeats is stored: it holds for as long as either of the two, and from floor on at the earliest.
// A fact that was superseded ends when it did.
func (f *Fact) Join(again *Fact, floor time.Time) Fact {
	joined := *f
	if again.ValidFrom.Before(f.ValidFrom) {
		joined.ValidFrom = again.ValidFrom
		if floor.After(joined.ValidFrom) {
			joined.ValidFrom = floor
		}
	}
	if f.SupersededBy == "" {
		joined.ValidTo = later(f.ValidTo, again.ValidTo)
	}
	joined.ExpiresAt = later(f.ExpiresAt, again.ExpiresAt)
	return joined
}
