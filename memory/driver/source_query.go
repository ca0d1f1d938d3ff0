package driver

import (
	"fmt"
	"strings"

	"github.com/weft-go/weft/memory/internal/input"
)

// SourceQuery selects the sources of its scopes that meet all of its conditions.
type SourceQuery struct {
	Reach
	// URIs, if not empty, selects the sources with one of at most 1000 URIs. Prefix selects the
	// sources whose URI begins with it.
	URIs   []string
	Prefix string
	// Where selects the sources whose metadata meet all conditions.
	Where []Condition
	// Trusted selects the sources that were ingested with [knowledge.Document.Trusted]. Set it if untrusted
	// content must not influence the result. A program that answers questions from documents does not need it.
	Trusted bool
}

const maxURIs = 1000

// Validate returns [ErrInvalid] for an invalid query.
func (q *SourceQuery) Validate() error {
	facts := FactQuery{Reach: q.Scope.Only(), Where: q.Where}
	if err := facts.Validate(); err != nil {
		return err
	}
	if len(q.URIs) > maxURIs || len(q.Prefix) > MaxURI || !input.Storable(q.Prefix) {
		return fmt.Errorf("%d URIs, and a prefix of %d bytes: %w", len(q.URIs), len(q.Prefix), ErrInvalid)
	}
	for _, uri := range q.URIs {
		if !input.Storable(uri) || len(uri) > MaxURI {
			return fmt.Errorf("URI %.60q is not UTF-8, has a NUL or is too long: %w", uri, ErrInvalid)
		}
	}
	return nil
}

// Match reports whether the query selects a source. Stores without a query language use it.
func (q *SourceQuery) Match(s *Source) bool {
	if !q.Has(s.Scope) || q.Trusted && s.Trust == Untrusted || !strings.HasPrefix(s.URI, q.Prefix) {
		return false
	}
	named := len(q.URIs) == 0
	for _, uri := range q.URIs {
		named = named || uri == s.URI
	}
	for _, c := range q.Where {
		named = named && c.Match(s.Metadata)
	}
	return named
}
