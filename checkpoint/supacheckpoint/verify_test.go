package supacheckpoint_test

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/supacheckpoint"
)

const (
	project = "https://abcdefgh.supabase.co"
	issuer  = project + "/auth/v1"
	secret  = "a secret of at least thirty-two bytes"
)

// Signing keys. The project does not know ecOther.
var (
	ecOne, ecTwo, ecOther = newEC(), newEC(), newEC()
	rsaOne                = newRSA()
)

func newEC() *ecdsa.PrivateKey {
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	return k
}

func newRSA() *rsa.PrivateKey {
	k, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	return k
}

// claimsOf returns the claims of a valid token of ann, with changes. Nil removes a claim.
func claimsOf(changes jwt.MapClaims) jwt.MapClaims {
	now := time.Now()
	claims := jwt.MapClaims{
		"iss": issuer, "aud": "authenticated", "role": "authenticated", "sub": ann, "email": "ann@example.com",
		"iat": now.Unix(), "exp": now.Add(time.Hour).Unix(), "session_id": "s", "is_anonymous": false,
	}
	for name, value := range changes {
		claims[name] = value
		if value == nil {
			delete(claims, name)
		}
	}
	return claims
}

// sign returns a signed token. With an empty kid, the token does not name its key.
func sign(tb testing.TB, method jwt.SigningMethod, key any, kid string, claims jwt.MapClaims) string {
	tb.Helper()
	token := jwt.NewWithClaims(method, claims)
	if kid != "" {
		token.Header["kid"] = kid
	}
	text, err := token.SignedString(key)
	require.NoError(tb, err)
	return text
}

// jwkOf returns a public key as a JSON Web Key.
func jwkOf(kid string, key crypto.PublicKey) map[string]string {
	encode := base64.RawURLEncoding.EncodeToString
	switch k := key.(type) {
	case *ecdsa.PublicKey:
		point, err := k.Bytes()
		if err != nil {
			panic(err)
		}
		return map[string]string{"kid": kid, "kty": "EC", "crv": "P-256", "alg": "ES256", "use": "sig", "x": encode(point[1:33]), "y": encode(point[33:])}
	case *rsa.PublicKey:
		return map[string]string{"kid": kid, "kty": "RSA", "alg": "RS256", "n": encode(k.N.Bytes()), "e": encode(big.NewInt(int64(k.E)).Bytes())}
	}
	panic("another kind of key")
}

// A keyServer serves a JSON Web Key Set and counts the requests.
type keyServer struct {
	mu    sync.Mutex
	body  string
	fails bool
	asked atomic.Int64
}

func serveKeys(keys ...map[string]string) *keyServer {
	s := &keyServer{}
	s.set(keys...)
	return s
}

func (s *keyServer) set(keys ...map[string]string) {
	body, err := json.Marshal(map[string]any{"keys": keys})
	if err != nil {
		panic(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.body = string(body)
}

func (s *keyServer) fail(fails bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fails = fails
}

// RoundTrip answers without a network, so that a synctest bubble can advance its clock.
func (s *keyServer) RoundTrip(r *http.Request) (*http.Response, error) {
	s.asked.Add(1)
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fails {
		return nil, errors.New("no route to the project")
	}
	if r.URL.String() != issuer+"/.well-known/jwks.json" {
		return &http.Response{StatusCode: 404, Status: "404 Not Found", Body: http.NoBody}, nil
	}
	return &http.Response{StatusCode: 200, Body: io.NopCloser(strings.NewReader(s.body))}, nil
}

func (s *keyServer) verifier(tb testing.TB, secret string) *supacheckpoint.Verifier {
	tb.Helper()
	v, err := supacheckpoint.NewVerifier(supacheckpoint.VerifierOptions{
		URL: project, Secret: []byte(secret), Client: &http.Client{Transport: s},
	})
	require.NoError(tb, err)
	return v
}

func projectKeys() *keyServer {
	return serveKeys(jwkOf("ec-1", &ecOne.PublicKey), jwkOf("rsa-1", &rsaOne.PublicKey))
}

func TestVerifyAcceptsTokensOfTheProject(t *testing.T) {
	t.Parallel()
	v := projectKeys().verifier(t, secret)
	for name, token := range map[string]string{
		"the shared secret":     sign(t, jwt.SigningMethodHS256, []byte(secret), "", claimsOf(nil)),
		"a key of ES256":        sign(t, jwt.SigningMethodES256, ecOne, "ec-1", claimsOf(nil)),
		"a key of RS256":        sign(t, jwt.SigningMethodRS256, rsaOne, "rsa-1", claimsOf(nil)),
		"the only key of ES256": sign(t, jwt.SigningMethodES256, ecOne, "", claimsOf(nil)),
		"several audiences":     sign(t, jwt.SigningMethodES256, ecOne, "ec-1", claimsOf(jwt.MapClaims{"aud": []string{"other", "authenticated"}})),
		"the id in capitals":    sign(t, jwt.SigningMethodES256, ecOne, "ec-1", claimsOf(jwt.MapClaims{"sub": strings.ToUpper(ann)})),
		"from a clock ahead":    sign(t, jwt.SigningMethodES256, ecOne, "ec-1", claimsOf(jwt.MapClaims{"iat": time.Now().Add(time.Minute).Unix()})),
		"an anonymous person":   sign(t, jwt.SigningMethodES256, ecOne, "ec-1", claimsOf(jwt.MapClaims{"is_anonymous": true})),
		"no optional claims":    sign(t, jwt.SigningMethodES256, ecOne, "ec-1", claimsOf(jwt.MapClaims{"iat": nil, "session_id": nil})),
	} {
		u, err := v.Verify(t.Context(), token)
		if !assert.NoError(t, err, name) {
			continue
		}
		assert.Equal(t, ann, u.ID, name)
		assert.Equal(t, "ann@example.com", u.Email, name)
		assert.Equal(t, "authenticated", u.Role, name)
		var claims map[string]any
		assert.NoError(t, json.Unmarshal(u.Claims, &claims), name)
		assert.Equal(t, issuer, claims["iss"], name)
	}
}

// unsigned returns a token with the given header and an empty signature.
func unsigned(header string, claims jwt.MapClaims) string {
	body, err := json.Marshal(claims)
	if err != nil {
		panic(err)
	}
	encode := base64.RawURLEncoding.EncodeToString
	return encode([]byte(header)) + "." + encode(body) + "."
}

// hostile returns tokens that Verify must reject, by name.
func hostile(tb testing.TB) map[string]string {
	tb.Helper()
	es := func(changes jwt.MapClaims) string {
		return sign(tb, jwt.SigningMethodES256, ecOne, "ec-1", claimsOf(changes))
	}
	good := es(nil)
	parts := strings.Split(good, ".")
	pem, err := json.Marshal(jwkOf("ec-1", &ecOne.PublicKey))
	require.NoError(tb, err)
	now := time.Now()
	return map[string]string{
		"empty":                        "",
		"no token":                     "ann",
		"alg none":                     unsigned(`{"alg":"none","typ":"JWT"}`, claimsOf(nil)),
		"alg None":                     unsigned(`{"alg":"None"}`, claimsOf(nil)),
		"alg none, of the library":     sign(tb, jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, "", claimsOf(nil)),
		"no alg":                       unsigned(`{"typ":"JWT"}`, claimsOf(nil)),
		"without its signature":        parts[0] + "." + parts[1] + ".",
		"with another's signature":     parts[0] + "." + parts[1] + "." + strings.Split(es(jwt.MapClaims{"sub": bob}), ".")[2],
		"other claims":                 parts[0] + "." + strings.Split(es(jwt.MapClaims{"sub": bob}), ".")[1] + "." + parts[2],
		"four parts":                   good + ".x",
		"spaces":                       " " + good,
		"a bearer":                     "Bearer " + good,
		"another project's key":        sign(tb, jwt.SigningMethodES256, ecOther, "ec-1", claimsOf(nil)),
		"an unknown key":               sign(tb, jwt.SigningMethodES256, ecOther, "ec-9", claimsOf(nil)),
		"another secret":               sign(tb, jwt.SigningMethodHS256, []byte(secret+"!"), "", claimsOf(nil)),
		"the public key as a secret":   sign(tb, jwt.SigningMethodHS256, pem, "ec-1", claimsOf(nil)),
		"an empty secret":              sign(tb, jwt.SigningMethodHS256, []byte{}, "", claimsOf(nil)),
		"HS512":                        sign(tb, jwt.SigningMethodHS512, []byte(secret), "", claimsOf(nil)),
		"RS512":                        sign(tb, jwt.SigningMethodRS512, rsaOne, "rsa-1", claimsOf(nil)),
		"PS256":                        sign(tb, jwt.SigningMethodPS256, rsaOne, "rsa-1", claimsOf(nil)),
		"a key of the wrong kind":      sign(tb, jwt.SigningMethodRS256, rsaOne, "ec-1", claimsOf(nil)),
		"expired":                      es(jwt.MapClaims{"exp": now.Add(-time.Second).Unix()}),
		"for ever":                     es(jwt.MapClaims{"exp": nil}),
		"expires never":                es(jwt.MapClaims{"exp": "never"}),
		"not yet":                      es(jwt.MapClaims{"nbf": now.Add(time.Minute).Unix()}),
		"another project":              es(jwt.MapClaims{"iss": "https://other.supabase.co/auth/v1"}),
		"an issuer that begins alike":  es(jwt.MapClaims{"iss": issuer + ".example.com"}),
		"no issuer":                    es(jwt.MapClaims{"iss": nil}),
		"another audience":             es(jwt.MapClaims{"aud": "anon"}),
		"no audience":                  es(jwt.MapClaims{"aud": nil}),
		"no subject":                   es(jwt.MapClaims{"sub": nil}),
		"a subject that is no id":      es(jwt.MapClaims{"sub": "' OR true --"}),
		"a subject that is a number":   es(jwt.MapClaims{"sub": 7}),
		"the anon key":                 sign(tb, jwt.SigningMethodHS256, []byte(secret), "", jwt.MapClaims{"iss": "supabase", "ref": "abcdefgh", "role": "anon", "exp": now.Add(time.Hour).Unix()}),
		"the service key":              sign(tb, jwt.SigningMethodHS256, []byte(secret), "", jwt.MapClaims{"iss": "supabase", "ref": "abcdefgh", "role": "service_role", "exp": now.Add(time.Hour).Unix()}),
		"a user with the service role": es(jwt.MapClaims{"role": "service_role"}),
		"a user with the role anon":    es(jwt.MapClaims{"role": "anon"}),
		"a user with no role":          es(jwt.MapClaims{"role": nil}),
		"two roles":                    es(jwt.MapClaims{"role": []string{"authenticated", "service_role"}}),
		"a NUL":                        es(jwt.MapClaims{"email": "a\x00b"}),
		"a large one":                  es(jwt.MapClaims{"email": strings.Repeat("a", 20_000)}),
		"an encrypted one":             `eyJhbGciOiJSU0EtT0FFUCIsImVuYyI6IkEyNTZHQ00ifQ.a.b.c.d`,
	}
}

func TestVerifyRejectsHostileTokens(t *testing.T) {
	t.Parallel()
	v := projectKeys().verifier(t, secret)
	for name, token := range hostile(t) {
		u, err := v.Verify(t.Context(), token)
		require.ErrorIs(t, err, supacheckpoint.ErrToken, name)
		assert.Empty(t, u.ID, name)
		for _, part := range strings.Split(token, ".") {
			if len(part) > 8 {
				assert.NotContains(t, err.Error(), part, name)
			}
		}
	}
}

// A verifier with a secret rejects tokens signed with a key pair. A verifier with public
// keys rejects tokens signed with the secret.
func TestVerifyAcceptsOnlyTheConfiguredKindOfKey(t *testing.T) {
	t.Parallel()
	hs := sign(t, jwt.SigningMethodHS256, []byte(secret), "", claimsOf(nil))
	es := sign(t, jwt.SigningMethodES256, ecOne, "ec-1", claimsOf(nil))
	bySecret, err := supacheckpoint.NewVerifier(supacheckpoint.VerifierOptions{Secret: []byte(secret), Issuer: issuer})
	require.NoError(t, err)
	byKeys := projectKeys().verifier(t, "")
	for _, c := range []struct {
		name     string
		verifier *supacheckpoint.Verifier
		token    string
		ok       bool
	}{
		{"the secret, by secret", bySecret, hs, true},
		{"the secret, by key", bySecret, es, false},
		{"keys, by key", byKeys, es, true},
		{"keys, by secret", byKeys, hs, false},
	} {
		_, err := c.verifier.Verify(t.Context(), c.token)
		if c.ok {
			assert.NoError(t, err, c.name)
		} else {
			assert.Error(t, err, c.name)
		}
	}
}

func TestNewVerifierRejectsInvalidOptions(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]supacheckpoint.VerifierOptions{
		"nothing":              {},
		"no URL":               {URL: "abcdefgh"},
		"another kind of URL":  {URL: "postgres://abcdefgh.supabase.co"},
		"a short secret":       {URL: project, Secret: []byte("short")},
		"a secret, no issuer":  {Secret: []byte(secret)},
		"keys that are no URL": {Issuer: issuer, JWKS: "keys.json"},
		"negative leeway":      {URL: project, Leeway: -time.Second},
	} {
		_, err := supacheckpoint.NewVerifier(o)
		require.ErrorIs(t, err, checkpoint.ErrInvalid, name)
		assert.NotContains(t, err.Error(), "short\"", name)
	}
}

// Keys are fetched once for many tokens. They are fetched again when a token names an
// unknown key or when they are old, but not more often than every 30 seconds.
func TestKeysAreCached(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := serveKeys(jwkOf("one", &ecOne.PublicKey))
		v := server.verifier(t, "")
		verify := func(key *ecdsa.PrivateKey, kid string) error {
			_, err := v.Verify(t.Context(), sign(t, jwt.SigningMethodES256, key, kid, claimsOf(nil)))
			return err
		}
		want := func(what string, err, want error, asked int64) {
			t.Helper()
			assert.ErrorIs(t, err, want, what)
			assert.Equal(t, asked, server.asked.Load(), what)
		}
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() { want("at first", verify(ecOne, "one"), nil, 1) })
		}
		wg.Wait()
		for i := range 100 {
			want("a guess", verify(ecTwo, fmt.Sprint("guess ", i)), supacheckpoint.ErrToken, 1)
		}
		time.Sleep(31 * time.Second)
		for i := range 100 {
			want("a guess, later", verify(ecTwo, fmt.Sprint("guess ", i)), supacheckpoint.ErrToken, 2)
		}
		// The project adds a key, and later removes the old one.
		server.set(jwkOf("one", &ecOne.PublicKey), jwkOf("two", &ecTwo.PublicKey))
		time.Sleep(31 * time.Second)
		want("a new key", verify(ecTwo, "two"), nil, 3)
		want("the old key", verify(ecOne, "one"), nil, 3)
		server.set(jwkOf("two", &ecTwo.PublicKey))
		want("the old key, dropped just now", verify(ecOne, "one"), nil, 3)
		time.Sleep(11 * time.Minute)
		want("the old key, dropped", verify(ecOne, "one"), supacheckpoint.ErrToken, 4)
		want("the new key", verify(ecTwo, "two"), nil, 4)
		// While the project is unreachable, the cached keys are valid for a day.
		server.fail(true)
		time.Sleep(time.Hour)
		want("out of reach", verify(ecTwo, "two"), nil, 5)
		want("out of reach, at once", verify(ecTwo, "two"), nil, 5)
		time.Sleep(24 * time.Hour)
		err := verify(ecTwo, "two")
		assert.Error(t, err, "out of reach for a day")
		assert.NotErrorIs(t, err, supacheckpoint.ErrToken, "out of reach for a day")
		server.fail(false)
		time.Sleep(time.Minute)
		assert.NoError(t, verify(ecTwo, "two"), "back again")
	})
}

// A key that is invalid or of an unsupported kind does not verify a token.
func TestUnusableKeysVerifyNothing(t *testing.T) {
	t.Parallel()
	change := func(name, value string) map[string]string {
		k := jwkOf("one", &ecOne.PublicKey)
		k[name] = value
		return k
	}
	weak := jwkOf("one", &rsaOne.PublicKey)
	weak["n"] = base64.RawURLEncoding.EncodeToString(make([]byte, 256))
	for name, key := range map[string]map[string]string{
		"for encryption":      change("use", "enc"),
		"for another method":  change("alg", "ES384"),
		"of another curve":    change("crv", "P-384"),
		"of another kind":     change("kty", "oct"),
		"not on the curve":    change("x", jwkOf("", &ecTwo.PublicKey)["x"]),
		"of another length":   change("x", "AAAA"),
		"no base64":           change("y", "%"),
		"a modulus of zeroes": weak,
	} {
		_, err := serveKeys(key).verifier(t, "").Verify(t.Context(), sign(t, jwt.SigningMethodES256, ecOne, "one", claimsOf(nil)))
		assert.Error(t, err, name)
	}
	// A token that names no key is rejected if the project has two keys.
	two := serveKeys(jwkOf("one", &ecOne.PublicKey), jwkOf("two", &ecTwo.PublicKey)).verifier(t, "")
	_, err := two.Verify(t.Context(), sign(t, jwt.SigningMethodES256, ecOne, "", claimsOf(nil)))
	assert.ErrorIs(t, err, supacheckpoint.ErrToken)
}

func TestVerifyFailsWhenKeysCannotBeFetched(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status int
		body   string
		ok     bool
	}{
		"keys":           {200, keysJSON(), true},
		"an error":       {500, keysJSON(), false},
		"no keys":        {200, `[]`, false},
		"too much":       {200, `{"keys":[],"x":"` + strings.Repeat("x", 2<<20) + `"}`, false},
		"a page of HTML": {200, `<html>`, false},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(c.status)
			_, _ = io.WriteString(w, c.body) // fails if the client stops reading a long answer
		}))
		v, err := supacheckpoint.NewVerifier(supacheckpoint.VerifierOptions{URL: project, JWKS: server.URL, Client: server.Client()})
		require.NoError(t, err)
		_, err = v.Verify(t.Context(), sign(t, jwt.SigningMethodES256, ecOne, "one", claimsOf(nil)))
		if c.ok {
			assert.NoError(t, err, name)
		} else {
			assert.Error(t, err, name)
			assert.NotErrorIs(t, err, supacheckpoint.ErrToken, name)
		}
		server.Close()
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := projectKeys().verifier(t, "").Verify(ctx, sign(t, jwt.SigningMethodES256, ecOne, "ec-1", claimsOf(nil)))
	assert.ErrorIs(t, err, context.Canceled)
}

func keysJSON() string {
	body, err := json.Marshal(map[string]any{"keys": []any{jwkOf("one", &ecOne.PublicKey)}})
	if err != nil {
		panic(err)
	}
	return string(body)
}

// FuzzVerify checks that Verify accepts only the token that the project signed.
func FuzzVerify(f *testing.F) {
	for _, token := range hostile(f) {
		f.Add(token)
	}
	good := sign(f, jwt.SigningMethodES256, ecOne, "ec-1", claimsOf(nil))
	f.Add(good)
	v := projectKeys().verifier(f, secret)
	f.Fuzz(func(t *testing.T, token string) {
		_, err := v.Verify(t.Context(), token)
		if token != good {
			assert.Error(t, err, "%q", token)
		}
	})
}
