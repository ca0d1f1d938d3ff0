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

// Kind is the kind of a fact.
type Kind string

// The kinds of facts.
const (
	Preference   Kind = "preference"   // a like, a dislike or a wish
	Plain        Kind = "fact"         // any other statement
	Context      Kind = "context"      // a current situation or project
	Relationship Kind = "relationship" // a relation between people or things
	Episode      Kind = "episode"      // an event in the past
	Procedural   Kind = "procedural"   // a way to do something
	Profile      Kind = "profile"      // a description of a user in one document
)

var kinds = []Kind{Preference, Plain, Context, Relationship, Episode, Procedural, Profile}

// Kinds returns all kinds.
func Kinds() []Kind { return slices.Clone(kinds) }

// Validate returns [ErrInvalid] for an unknown kind.
func (k Kind) Validate() error {
	if !slices.Contains(kinds, k) {
		return fmt.Errorf("kind %.40q is none of %q: %w", string(k), kinds, ErrInvalid)
	}
	return nil
}

// A Fact is a statement that the memory keeps.
type Fact struct {
	// ID is a UUIDv7 from [memory.Memory.Store]. If the caller sets it, it must be a UUID.
	ID string `json:"id"`
	// Scope is the owner of the fact. Only [memory.Memory.Store] sets it.
	Scope Scope `json:"scope,omitzero"`
	// Kind is [Plain] if it is not set.
	Kind Kind `json:"kind"`
	// Content is the statement, at most 16 KB. Texts that differ only in case, white space and marks at the
	// ends of words have the same [FactRecord.Key].
	Content string `json:"content"`
	// Metadata is any JSON object of at most 16 KB, or nil.
	Metadata json.RawMessage `json:"metadata,omitempty"`
	// Conversation and Turn are the source of the fact, if known. In recall, facts of adjacent turns raise
	// each other's score.
	Conversation string `json:"conversation,omitempty"`
	Turn         int64  `json:"turn,omitempty"`
	// Trust is the degree of trust in the fact. Its zero value is [Untrusted]: recall leaves such a fact
	// out unless [FactQuery.Untrusted] is set.
	Trust Trust `json:"trust,omitempty"`
	// Importance is between 0 and 1. Zero means 0.5.
	Importance float64 `json:"importance"`
	// ValidFrom is the beginning of the fact's validity; zero means now. ValidTo is its end; zero means no
	// end. SupersededBy is the ID of the fact that replaced this one.
	ValidFrom    time.Time `json:"valid_from"`
	ValidTo      time.Time `json:"valid_to,omitzero"`
	SupersededBy string    `json:"superseded_by,omitempty"`
	// ExpiresAt is the time from which searches leave the fact out and [memory.Memory.Sweep] removes it.
	// Zero means never.
	ExpiresAt time.Time `json:"expires_at,omitzero"`
	// CreatedAt and UpdatedAt are times of the store's clock. Version counts the changes from 1.
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
	Version   int64     `json:"version"`
}

const (
	maxContent        = 16 << 10
	maxMetadata       = 16 << 10
	defaultImportance = 0.5
)

// Validate returns [ErrInvalid] for a fact that cannot be stored. Fields that [memory.Memory.Store] sets
// may be empty.
func (f Fact) Validate() error {
	_, err := f.Complete(f.Scope)
	return err
}

// Complete returns the fact with its defaults, as a store keeps it in a scope. It returns [ErrInvalid] for a
// fact that cannot be stored.
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
	case !(f.Importance > 0 && f.Importance <= 1): // also rejects NaN
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

// A surrogate escape in JSON is half of a rune, and some databases reject one without its other half. Metadata with such
// an escape is rejected, even if it only looks like one after an escaped backslash.
var (
	wholeRune = regexp.MustCompile(`(?i)\\ud[89ab][0-9a-f]{2}\\ud[c-f][0-9a-f]{2}`)
	halfRune  = regexp.MustCompile(`(?i)\\ud[89a-f][0-9a-f]{2}`)
)

// ValidAt reports whether a fact is valid at a time: from its ValidFrom on, and before its ValidTo if it
// has one. A fact whose ValidTo equals its ValidFrom was never valid.
func (f *Fact) ValidAt(at time.Time) bool {
	return !at.Before(f.ValidFrom) && (f.ValidTo.IsZero() || at.Before(f.ValidTo))
}

// never reports whether the fact was never valid: its ValidTo is not after its ValidFrom.
func (f *Fact) never() bool { return !f.ValidTo.IsZero() && !f.ValidTo.After(f.ValidFrom) }

// Repeats reports whether f has the same text and kind as a known fact, and a validity that overlaps. An
// untrusted fact does not repeat a trusted fact, nor the reverse, because an untrusted fact must not prevent
// a user from stating the same. No fact repeats a superseded fact that is not valid now, because another
// fact has replaced it.
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

// Join returns the known fact f, extended by a fact that repeats it. The result is valid from the earlier
// beginning of the two to the later end, and expires at the later expiry. Join does not move the beginning
// before floor, and does not move the end of a superseded fact.
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
