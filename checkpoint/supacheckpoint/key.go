package supacheckpoint

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/golang-jwt/jwt/v5"
)

// CheckServiceKey returns nil for an API key with the rights of the service role, and
// [ErrAnonKey] for the anon key or a publishable key. A key that is a token must belong
// to the project URL and must be signed with the secret, unless these are empty.
// Otherwise the error is [ErrKey]. Errors do not contain the key.
func CheckServiceKey(key, project string, secret []byte) error {
	if err := checkServiceKey(key, project, secret); err != nil {
		return fmt.Errorf("supacheckpoint: service key: %w", err)
	}
	return nil
}

func checkServiceKey(key, project string, secret []byte) error {
	switch {
	case strings.HasPrefix(key, "sb_secret_"):
		return nil
	case strings.HasPrefix(key, "sb_publishable_"):
		return fmt.Errorf("it begins with sb_publishable_: %w", ErrAnonKey)
	case len(key) > maxToken:
		return fmt.Errorf("it has %d bytes: %w", len(key), ErrKey)
	}
	claims := jwt.MapClaims{}
	parser := jwt.NewParser(jwt.WithValidMethods([]string{jwt.SigningMethodHS256.Alg()}))
	// Check the role before the signature, so that the error says which key was set.
	if _, _, err := parser.ParseUnverified(key, claims); err != nil {
		return fmt.Errorf("neither sb_secret_ nor a token: %w", ErrKey)
	}
	role, _ := claims["role"].(string)
	switch role {
	case roleService:
	case "anon":
		return fmt.Errorf("its role is anon: %w", ErrAnonKey)
	default:
		return fmt.Errorf("its role is %.40q and not %s: %w", role, roleService, ErrKey)
	}
	if ref, ok := claims["ref"].(string); ok && !sameProject(project, ref) {
		return fmt.Errorf("it is for the project %.40q: %w", ref, ErrKey)
	}
	if len(secret) > 0 {
		if _, err := parser.Parse(key, func(*jwt.Token) (any, error) { return secret, nil }); err != nil {
			return fmt.Errorf("%w: %w", ErrKey, err)
		}
	}
	return nil
}

// sameProject reports whether a token can belong to the project at a URL. The argument ref is
// the project reference in the token. sameProject returns false only if the URL is the
// supabase.co address of another project.
func sameProject(project, ref string) bool {
	u, err := url.Parse(project)
	if err != nil {
		return true
	}
	name, hosted := strings.CutSuffix(u.Hostname(), ".supabase.co")
	return !hosted || name == ref
}
