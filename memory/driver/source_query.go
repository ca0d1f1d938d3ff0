package driver

import (
	"fmt"
	"strings"

	"github.com/weft-go/weft/memory/internal/input"
)

// A Query selects the sources of its scope that fulfil all of its conditions.
type SourceQuery struct {
	// Scope is the scope to search.
	Scope Scope
	// AnyWorkspace, AnyUser and AnyAgent ignore that part of the scope. The tenant always
	// counts. Do not set AnyUser for the question of a user.
	AnyWorkspace, AnyUser, AnyAgent bool
	// Inherit also selects sources of wider scopes: a source without an agent, user or
	// workspace matches any.
	Inherit bool
	// URIs, if not empty, selects the sources with one of at most 1000 URIs. Prefix selects the
	// sources whose URI begins with it.
	URIs   []string
	Prefix string
	// Where selects the sources whose metadata fulfil all conditions.
	Where []Condition
	// Trusted selects the sources with [knowledge.Document.Trusted]. Set it if untrusted content must not
	// influence the result. Answers to questions from documents do not need it.
	Trusted bool
}

const maxURIs = 1000

// Validate returns [ErrInvalid] for an invalid query.
func (q *SourceQuery) Validate() error {
	facts := FactQuery{Scope: q.Scope, Where: q.Where}
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
	if s.Scope.Tenant != q.Scope.Tenant || q.Trusted && s.Trust == Untrusted || !strings.HasPrefix(s.URI, q.Prefix) {
		return false
	}
	for _, part := range []struct {
		has, want string
		any       bool
	}{
		{s.Scope.Workspace, q.Scope.Workspace, q.AnyWorkspace}, {s.Scope.User, q.Scope.User, q.AnyUser}, {s.Scope.Agent, q.Scope.Agent, q.AnyAgent},
	} {
		if !part.any && part.has != part.want && (!q.Inherit || part.has != "") {
			return false
		}
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
