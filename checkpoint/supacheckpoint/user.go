package supacheckpoint

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"github.com/weft-go/weft/checkpoint"
)

// The roles that a call may take on. Nothing else is ever sent as one.
const (
	roleUser    = "authenticated"
	roleService = "service_role"
)

// A User is who asks. It comes from [Verifier.Verify], or from a program that knows by
// other means who somebody is, which needs to give the ID only.
type User struct {
	// ID is the user's UUID in auth.users.
	ID string
	// Role is the user's role in the database. Only "authenticated" is taken, which
	// empty stands for.
	Role string
	// Email is what the token says of it, or empty. It decides nothing.
	Email string
	// Claims are all that the token says, as policies of the project may read it by
	// auth.jwt(). Nil stands for the ID and the Role.
	Claims json.RawMessage
}

// bound is what is sent of a user ahead of a call.
type bound struct {
	role, id, claims string
}

// bind checks a user. The claims have to be of this user: policies read them.
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
	// A map, as the names of claims are told apart by case in the database too.
	claims := map[string]any{}
	if err := json.Unmarshal(u.Claims, &claims); err != nil {
		return bound{}, fmt.Errorf("claims of user %s: %w: %w", id, checkpoint.ErrInvalid, err)
	}
	sub, _ := claims["sub"].(string)
	if sub, err := canonicalUUID(sub); err != nil || sub != id {
		return bound{}, fmt.Errorf("claims of another user than %s: %w", id, checkpoint.ErrInvalid)
	}
	if claims["role"] != roleUser {
		return bound{}, fmt.Errorf("claims of the role %.60q for user %s: %w", claims["role"], id, ErrRole)
	}
	return bound{roleUser, id, string(u.Claims)}, nil
}

var uuidPattern = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

// canonicalUUID returns the spelling that the database uses.
func canonicalUUID(text string) (string, error) {
	lower := strings.ToLower(text)
	if !uuidPattern.MatchString(lower) {
		return "", fmt.Errorf("no UUID: %w", checkpoint.ErrInvalid)
	}
	return lower, nil
}
