package supacheckpoint

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/weft-go/weft/checkpoint"
)

// VerifierOptions configures [NewVerifier]. It needs a URL or a Secret.
type VerifierOptions struct {
	// URL is the URL of the project, such as https://abc.supabase.co. It determines the
	// default Issuer and JWKS.
	URL string
	// Secret is the shared secret with which older projects sign tokens (HS256).
	// Without it, HS256 tokens are rejected.
	Secret []byte
	// JWKS is the URL of the public keys. Empty means the default path below URL.
	JWKS string
	// Issuer is the required claim iss. Empty means the default path below URL.
	Issuer string
	// Audience is the required claim aud. Empty means "authenticated".
	Audience string
	// Leeway is the accepted difference between clocks. Zero means none.
	Leeway time.Duration
	// Client fetches the keys. Nil means a client with a timeout of 10 seconds.
	Client *http.Client
}

// Verifier checks the tokens of a project's users. It is safe for concurrent use. Reuse
// it, because it caches the keys of the project.
type Verifier struct {
	parser *jwt.Parser
	secret []byte
	keys   *keySet // nil without JWKS
}

// maxToken is the maximum size of a token in bytes.
const maxToken = 16 << 10

// NewVerifier returns a verifier. It makes no request: Verify fetches keys when it needs them.
func NewVerifier(o VerifierOptions) (*Verifier, error) {
	if err := o.complete(); err != nil {
		return nil, fmt.Errorf("supacheckpoint: verifier: %w", err)
	}
	v := &Verifier{secret: bytes.Clone(o.Secret)}
	var methods []string
	if len(o.Secret) > 0 {
		methods = append(methods, jwt.SigningMethodHS256.Alg())
	}
	if o.JWKS != "" {
		methods = append(methods, jwt.SigningMethodES256.Alg(), jwt.SigningMethodRS256.Alg())
		v.keys = &keySet{address: o.JWKS, client: o.Client, turn: make(chan struct{}, 1)}
	}
	v.parser = jwt.NewParser(
		jwt.WithValidMethods(methods), jwt.WithIssuer(o.Issuer), jwt.WithAudience(o.Audience),
		jwt.WithExpirationRequired(), jwt.WithLeeway(o.Leeway), jwt.WithStrictDecoding(),
	)
	return v, nil
}

// minSecret is the minimum size of an HS256 secret in bytes.
const minSecret = 32

// complete checks the options and sets defaults.
func (o *VerifierOptions) complete() error {
	if o.URL != "" {
		if err := checkAddress(o.URL); err != nil {
			return err
		}
		base := strings.TrimRight(o.URL, "/") + "/auth/v1"
		o.Issuer = cmp.Or(o.Issuer, base)
		o.JWKS = cmp.Or(o.JWKS, base+"/.well-known/jwks.json")
	}
	switch {
	case o.JWKS == "" && len(o.Secret) == 0:
		return fmt.Errorf("neither a URL nor a secret: %w", checkpoint.ErrInvalid)
	case len(o.Secret) > 0 && len(o.Secret) < minSecret:
		return fmt.Errorf("a secret of %d bytes, and %d are needed: %w", len(o.Secret), minSecret, checkpoint.ErrInvalid)
	case o.Issuer == "":
		return fmt.Errorf("no URL and no issuer: %w", checkpoint.ErrInvalid)
	case o.Leeway < 0:
		return fmt.Errorf("leeway %v: %w", o.Leeway, checkpoint.ErrInvalid)
	}
	o.Audience = cmp.Or(o.Audience, roleUser)
	o.Client = cmp.Or(o.Client, &http.Client{Timeout: defaultTimeout})
	if o.JWKS == "" {
		return nil
	}
	return checkAddress(o.JWKS)
}

func checkAddress(text string) error {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return fmt.Errorf("%.200q is no URL of http: %w", text, checkpoint.ErrInvalid)
	}
	return nil
}

// Verify returns the user of an access token. It returns [ErrToken] if the token has no valid
// HS256, ES256 or RS256 signature of the project, is expired, or has another issuer or
// audience. It also returns [ErrToken] for a token without a user, such as an API key. Any
// other error means that fetching the keys of the project failed.
func (v *Verifier) Verify(ctx context.Context, token string) (User, error) {
	u, err := v.verify(ctx, token)
	if err != nil {
		return User{}, fmt.Errorf("supacheckpoint: verify: %w", err)
	}
	return u, nil
}

func (v *Verifier) verify(ctx context.Context, token string) (User, error) {
	if len(token) > maxToken {
		return User{}, fmt.Errorf("it has %d bytes: %w", len(token), ErrToken)
	}
	claims := jwt.MapClaims{}
	_, err := v.parser.ParseWithClaims(token, claims, func(t *jwt.Token) (any, error) { return v.key(ctx, t) })
	if fetching, ok := errors.AsType[*fetchError](err); ok {
		return User{}, fetching
	}
	if err != nil {
		// Errors of the parser do not contain the token.
		return User{}, fmt.Errorf("%w: %w", ErrToken, err)
	}
	return userOf(claims)
}

// key returns the key for a token. The parser has already checked the signing method. Each
// key is used for one method only, which prevents algorithm confusion.
func (v *Verifier) key(ctx context.Context, t *jwt.Token) (any, error) {
	if t.Method == jwt.SigningMethodHS256 {
		return v.secret, nil
	}
	kid, _ := t.Header["kid"].(string)
	return v.keys.find(ctx, kid, t.Method.Alg())
}

func userOf(claims jwt.MapClaims) (User, error) {
	role, _ := claims["role"].(string)
	if role != roleUser {
		return User{}, fmt.Errorf("its role is %.60q and not that of a user: %w", role, ErrToken)
	}
	sub, _ := claims["sub"].(string)
	id, err := canonicalUUID(sub)
	if err != nil {
		return User{}, fmt.Errorf("the claim sub is not a user id: %w", ErrToken)
	}
	// Encode the decoded claims again, because PostgreSQL could read a duplicate name in
	// the original text differently.
	text, err := json.Marshal(claims)
	if err != nil {
		return User{}, err
	}
	if bytes.Contains(text, []byte(`\u0000`)) {
		return User{}, fmt.Errorf("a claim has a NUL: %w", ErrToken)
	}
	email, _ := claims["email"].(string)
	return User{ID: id, Role: role, Email: email, Claims: text}, nil
}

// VerifyJWT returns the user of an access token. It calls [Verifier.Verify] of
// [Options.Verifier].
func (s *Store) VerifyJWT(ctx context.Context, token string) (User, error) {
	if s.options.Verifier == nil {
		return User{}, fmt.Errorf("supacheckpoint: verify: set Options.Verifier, or SUPABASE_URL for FromEnv: %w", ErrNotConfigured)
	}
	return s.options.Verifier.Verify(ctx, token)
}
