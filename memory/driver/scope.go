package driver

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/weft-go/weft/memory/internal/input"
)

// CompareScopes orders scopes by tenant, workspace, user and agent, each by its bytes.
func CompareScopes(a, b Scope) int {
	return cmp.Or(strings.Compare(a.Tenant, b.Tenant), strings.Compare(a.Workspace, b.Workspace),
		strings.Compare(a.User, b.User), strings.Compare(a.Agent, b.Agent))
}

// Covers reports whether forgetting s forgets other.
func (s Scope) Covers(other Scope) bool {
	return s.Tenant == other.Tenant && (s.Workspace == "" || s.Workspace == other.Workspace) &&
		(s.User == "" || s.User == other.User) && (s.Agent == "" || s.Agent == other.Agent)
}

// A Scope says whose facts are. Each part is any text, also none: a fact of no user is
// known for all of its workspace, one of no agent for all agents. Two scopes are the same if all parts
// are, byte by byte.
type Scope struct {
	Tenant    string `json:"tenant,omitempty"`
	Workspace string `json:"workspace,omitempty"`
	User      string `json:"user,omitempty"`
	Agent     string `json:"agent,omitempty"`
}

// Validate returns [ErrInvalid] for a scope that cannot be stored: with a part that is
// not UTF-8, has a NUL or is longer than 512 bytes.
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

// String names the scope for people: "tenant/workspace/user/agent", each part quoted
// where it has to be.
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
