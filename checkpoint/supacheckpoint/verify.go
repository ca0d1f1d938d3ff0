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

// VerifierOptions configures [NewVerifier]. A URL or a Secret is needed.
type VerifierOptions struct {
	// URL is the project's, such as https://abc.supabase.co. Tokens have to come
	// from it, and its public keys are fetched when they are needed.
	URL string
	// Secret is the project's shared secret, with which older projects sign (HS256).
	// Without one, such tokens are refused.
	Secret []byte
	// JWKS is where the public keys are. Empty stands for the place below URL.
	JWKS string
	// Issuer is who tokens have to come from. Empty stands for the place below URL.
	Issuer string
	// Audience is who tokens have to be for. Empty stands for "authenticated".
	Audience string
	// Leeway is how far the clocks of both sides may be apart. Zero means none.
	Leeway time.Duration
	// Client fetches the keys. Nil means one that gives up after 10 seconds.
	Client *http.Client
}

// Verifier checks the tokens of a project's users. It is safe for use by any number
// of goroutines, and is to be kept: it remembers the project's keys.
type Verifier struct {
	parser *jwt.Parser
	secret []byte
	keys   *keySet // nil when tokens are signed with the secret only
}

// maxToken bounds what is parsed at all.
const maxToken = 16 << 10

// NewVerifier returns a verifier. It fetches nothing yet.
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

// minSecret is what HS256 asks for, in bytes.
const minSecret = 32

// complete checks the options, and sets what follows from others.
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

// Verify returns the user that an access token is for. It returns [ErrToken] for one
// that is not signed by the project, by HS256, ES256 or RS256, has run out, comes from
// or is for somebody else, or is that of no user, as an API key is. Any other error
// says that the project's keys could not be fetched.
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
		// The parser quotes no token, and its sentinels say what was wrong.
		return User{}, fmt.Errorf("%w: %w", ErrToken, err)
	}
	return userOf(claims)
}

// key returns the key for a token whose method is one of those allowed. A key is used
// for its own method only, so none can stand in for another.
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
		return User{}, fmt.Errorf("it has the role %.60q, and is of no user: %w", role, ErrToken)
	}
	sub, _ := claims["sub"].(string)
	id, err := canonicalUUID(sub)
	if err != nil {
		return User{}, fmt.Errorf("its subject is no user: %w", ErrToken)
	}
	// Written anew, what the database reads is what was looked at here: a name that
	// comes twice is read in one way only.
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

// VerifyJWT returns the user that an access token is for, as [Verifier.Verify] does
// with that of [Options].
func (s *Store) VerifyJWT(ctx context.Context, token string) (User, error) {
	if s.options.Verifier == nil {
		return User{}, fmt.Errorf("supacheckpoint: verify: Options.Verifier is not set, nor SUPABASE_URL: %w", ErrNotConfigured)
	}
	return s.options.Verifier.Verify(ctx, token)
}
