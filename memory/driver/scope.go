package driver

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/weft-go/weft/memory/internal/input"
)

// CompareScopes orders scopes by the bytes of tenant, workspace, user and agent.
func CompareScopes(a, b Scope) int {
	return cmp.Or(strings.Compare(a.Tenant, b.Tenant), strings.Compare(a.Workspace, b.Workspace),
		strings.Compare(a.User, b.User), strings.Compare(a.Agent, b.Agent))
}

// Covers reports whether Forget(s) also forgets the scope other.
func (s Scope) Covers(other Scope) bool {
	return s.Tenant == other.Tenant && (s.Workspace == "" || s.Workspace == other.Workspace) &&
		(s.User == "" || s.User == other.User) && (s.Agent == "" || s.Agent == other.Agent)
}

// A Scope is the owner of data. Each part is any text and may be empty: a fact without a user belongs to
// the whole workspace, and a fact without an agent to all agents. Two scopes are equal if all parts are
// equal, byte by byte.
type Scope struct {
	Tenant    string `json:"tenant,omitempty"`
	Workspace string `json:"workspace,omitempty"`
	User      string `json:"user,omitempty"`
	Agent     string `json:"agent,omitempty"`
}

// Validate returns [ErrInvalid] for a scope that cannot be stored: a part is not UTF-8, has a NUL or is
// longer than 512 bytes.
func (s Scope) Validate() error {
	for _, part := range []struct{ name, text string }{
		{"tenant", s.Tenant}, {"workspace", s.Workspace}, {"user", s.User}, {"agent", s.Agent},
	} {
		if err := input.Name(part.name, part.text); err != nil {
			return err
		}
	}
	return nil
}

// String returns the scope as "tenant/workspace/user/agent", for people. Parts are quoted if necessary.
func (s Scope) String() string {
	parts := []string{s.Tenant, s.Workspace, s.User, s.Agent}
	for i, part := range parts {
		switch {
		case part == "":
			parts[i] = "-"
		case part == "-" || strings.ContainsAny(part, "/\"\n"):
			parts[i] = fmt.Sprintf("%.60q", part)
		}
	}
	return strings.Join(parts, "/")
}
