package supacheckpoint

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"github.com/weft-go/weft/checkpoint"
)

// The roles that a transaction may have. No other role is ever sent.
const (
	roleUser    = "authenticated"
	roleService = "service_role"
)

// A User is an authenticated user. [Verifier.Verify] returns one. A program that
// authenticates users itself sets only the ID.
type User struct {
	// ID is the user's UUID in auth.users.
	ID string
	// Role is the user's role in the database. It must be "authenticated" or empty, which means
	// "authenticated".
	Role string
	// Email is the email address in the token, or empty. It does not affect access.
	Email string
	// Claims has all claims of the token. Policies of the project read them with
	// auth.jwt(). Nil means the claims sub and role only.
	Claims json.RawMessage
}

// bound has the role, user id and claims that a link sets before a statement.
type bound struct {
	role, id, claims string
}

// bind checks a user and returns the role, id and claims for a link. The claims must belong to
// the user, because policies read them.
func (u *User) bind() (bound, error) {
	id, err := canonicalUUID(u.ID)
	if err != nil {
		return bound{}, fmt.Errorf("user id %.60q: %w", u.ID, err)
	}
	if u.Role != "" && u.Role != roleUser {
		return bound{}, fmt.Errorf("role %.60q of user %s: only %q may act for a user: %w", u.Role, id, roleUser, ErrRole)
	}
	if u.Claims == nil {
		b, err := json.Marshal(map[string]string{"sub": id, "role": roleUser})
		return bound{roleUser, id, string(b)}, err
	}
	// Decode into a map, because names of claims are case-sensitive in the database.
	claims := map[string]any{}
	if err := json.Unmarshal(u.Claims, &claims); err != nil {
		return bound{}, fmt.Errorf("claims of user %s: %w: %w", id, checkpoint.ErrInvalid, err)
	}
	sub, _ := claims["sub"].(string)
	if sub, err := canonicalUUID(sub); err != nil || sub != id {
		return bound{}, fmt.Errorf("the claim sub is not the user %s: %w", id, checkpoint.ErrInvalid)
	}
	if claims["role"] != roleUser {
		return bound{}, fmt.Errorf("claims of the role %.60q for user %s: %w", claims["role"], id, ErrRole)
	}
	return bound{roleUser, id, string(u.Claims)}, nil
}

var uuidPattern = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

// canonicalUUID returns a UUID in lower case, as the database prints it.
func canonicalUUID(text string) (string, error) {
	lower := strings.ToLower(text)
	if !uuidPattern.MatchString(lower) {
		return "", fmt.Errorf("not a UUID: %w", checkpoint.ErrInvalid)
	}
	return lower, nil
}
