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

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/supacheckpoint"
)

const (
	project = "https://abcdefgh.supabase.co"
	issuer  = project + "/auth/v1"
	secret  = "a secret of at least thirty-two bytes"
)

// Keys of the project, and of somebody else.
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

// claimsOf returns what the project says of ann, with changes. A nil removes.
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

// sign returns a token. An empty kid is left out.
func sign(tb testing.TB, method jwt.SigningMethod, key any, kid string, claims jwt.MapClaims) string {
	tb.Helper()
	token := jwt.NewWithClaims(method, claims)
	if kid != "" {
		token.Header["kid"] = kid
	}
	text, err := token.SignedString(key)
	if err != nil {
		tb.Fatal(err)
	}
	return text
}

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

// A keyServer answers with keys, and counts how often it is asked.
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

// RoundTrip answers without a network, so that a test may do as if time passed.
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
	if err != nil {
		tb.Fatal(err)
	}
	return v
}

func projectKeys() *keyServer {
	return serveKeys(jwkOf("ec-1", &ecOne.PublicKey), jwkOf("rsa-1", &rsaOne.PublicKey))
}

func TestVerify(t *testing.T) {
	t.Parallel()
	v := projectKeys().verifier(t, secret)
	for name, token := range map[string]string{
		"the shared secret":      sign(t, jwt.SigningMethodHS256, []byte(secret), "", claimsOf(nil)),
		"a key of ES256":         sign(t, jwt.SigningMethodES256, ecOne, "ec-1", claimsOf(nil)),
		"a key of RS256":         sign(t, jwt.SigningMethodRS256, rsaOne, "rsa-1", claimsOf(nil)),
		"the only key of ES256":  sign(t, jwt.SigningMethodES256, ecOne, "", claimsOf(nil)),
		"several audiences":      sign(t, jwt.SigningMethodES256, ecOne, "ec-1", claimsOf(jwt.MapClaims{"aud": []string{"other", "authenticated"}})),
		"the id in capitals":     sign(t, jwt.SigningMethodES256, ecOne, "ec-1", claimsOf(jwt.MapClaims{"sub": strings.ToUpper(ann)})),
		"from a clock ahead":     sign(t, jwt.SigningMethodES256, ecOne, "ec-1", claimsOf(jwt.MapClaims{"iat": time.Now().Add(time.Minute).Unix()})),
		"an anonymous person":    sign(t, jwt.SigningMethodES256, ecOne, "ec-1", claimsOf(jwt.MapClaims{"is_anonymous": true})),
		"without what is unread": sign(t, jwt.SigningMethodES256, ecOne, "ec-1", claimsOf(jwt.MapClaims{"iat": nil, "session_id": nil})),
	} {
		u, err := v.Verify(t.Context(), token)
		if err != nil || u.ID != ann || u.Email != "ann@example.com" || u.Role != "authenticated" {
			t.Errorf("%s: got user %+v, error %v", name, u, err)
			continue
		}
		var claims map[string]any
		if err := json.Unmarshal(u.Claims, &claims); err != nil || claims["iss"] != issuer {
			t.Errorf("%s: got claims %s, error %v", name, u.Claims, err)
		}
	}
}

// unsigned returns a token that says it has no signature.
func unsigned(header string, claims jwt.MapClaims) string {
	body, err := json.Marshal(claims)
	if err != nil {
		panic(err)
	}
	encode := base64.RawURLEncoding.EncodeToString
	return encode([]byte(header)) + "." + encode(body) + "."
}

// hostile are tokens that are to be refused.
func hostile(tb testing.TB) map[string]string {
	tb.Helper()
	es := func(changes jwt.MapClaims) string {
		return sign(tb, jwt.SigningMethodES256, ecOne, "ec-1", claimsOf(changes))
	}
	good := es(nil)
	parts := strings.Split(good, ".")
	pem, err := json.Marshal(jwkOf("ec-1", &ecOne.PublicKey))
	if err != nil {
		tb.Fatal(err)
	}
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

func TestVerifyRefuses(t *testing.T) {
	t.Parallel()
	v := projectKeys().verifier(t, secret)
	for name, token := range hostile(t) {
		u, err := v.Verify(t.Context(), token)
		if !errors.Is(err, supacheckpoint.ErrToken) || u.ID != "" {
			t.Errorf("%s: got user %q, error %v", name, u.ID, err)
		}
		for _, part := range strings.Split(token, ".") {
			if len(part) > 8 && strings.Contains(err.Error(), part) {
				t.Errorf("%s: the error has the token: %v", name, err)
			}
		}
	}
}

// A project that signs with one kind of key takes no other.
func TestVerifyOneKind(t *testing.T) {
	t.Parallel()
	hs := sign(t, jwt.SigningMethodHS256, []byte(secret), "", claimsOf(nil))
	es := sign(t, jwt.SigningMethodES256, ecOne, "ec-1", claimsOf(nil))
	bySecret, err := supacheckpoint.NewVerifier(supacheckpoint.VerifierOptions{Secret: []byte(secret), Issuer: issuer})
	if err != nil {
		t.Fatal(err)
	}
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
		if _, err := c.verifier.Verify(t.Context(), c.token); (err == nil) != c.ok {
			t.Errorf("%s: got error %v", c.name, err)
		}
	}
}

func TestNewVerifierRefuses(t *testing.T) {
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
		if _, err := supacheckpoint.NewVerifier(o); !errors.Is(err, checkpoint.ErrInvalid) || strings.Contains(err.Error(), "short\"") {
			t.Errorf("%s: got error %v", name, err)
		}
	}
}

// Keys are fetched once for many tokens, and again when one is new or they are old, but
// not as often as anybody likes.
func TestKeysAreKept(t *testing.T) {
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
			if !errors.Is(err, want) || server.asked.Load() != asked {
				t.Errorf("%s: got error %v, asked %d times; want %v, %d", what, err, server.asked.Load(), want, asked)
			}
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
		// The project takes a new key, and later drops the old one.
		server.set(jwkOf("one", &ecOne.PublicKey), jwkOf("two", &ecTwo.PublicKey))
		time.Sleep(31 * time.Second)
		want("a new key", verify(ecTwo, "two"), nil, 3)
		want("the old key", verify(ecOne, "one"), nil, 3)
		server.set(jwkOf("two", &ecTwo.PublicKey))
		want("the old key, dropped just now", verify(ecOne, "one"), nil, 3)
		time.Sleep(11 * time.Minute)
		want("the old key, dropped", verify(ecOne, "one"), supacheckpoint.ErrToken, 4)
		want("the new key", verify(ecTwo, "two"), nil, 4)
		// The project can not be reached: keys stay good for a day.
		server.fail(true)
		time.Sleep(time.Hour)
		want("out of reach", verify(ecTwo, "two"), nil, 5)
		want("out of reach, at once", verify(ecTwo, "two"), nil, 5)
		time.Sleep(24 * time.Hour)
		if err := verify(ecTwo, "two"); err == nil || errors.Is(err, supacheckpoint.ErrToken) {
			t.Errorf("out of reach for a day: got error %v, want one that blames no token", err)
		}
		server.fail(false)
		time.Sleep(time.Minute)
		if err := verify(ecTwo, "two"); err != nil {
			t.Errorf("back again: %v", err)
		}
	})
}

// What is no key of use is passed over or refused, and never taken for one.
func TestOddKeys(t *testing.T) {
	t.Parallel()
	change := func(name, value string) map[string]string {
		k := jwkOf("one", &ecOne.PublicKey)
		k[name] = value
		return k
	}
	weak := jwkOf("one", &rsaOne.PublicKey)
	weak["n"] = base64.RawURLEncoding.EncodeToString(make([]byte, 256))
	for name, key := range map[string]map[string]string{
		"to encrypt with":     change("use", "enc"),
		"for another method":  change("alg", "ES384"),
		"of another curve":    change("crv", "P-384"),
		"of another kind":     change("kty", "oct"),
		"not on the curve":    change("x", jwkOf("", &ecTwo.PublicKey)["x"]),
		"of another length":   change("x", "AAAA"),
		"no base64":           change("y", "%"),
		"a modulus of zeroes": weak,
	} {
		_, err := serveKeys(key).verifier(t, "").Verify(t.Context(), sign(t, jwt.SigningMethodES256, ecOne, "one", claimsOf(nil)))
		if err == nil {
			t.Errorf("%s: was taken", name)
		}
	}
	// Two keys of one name, or two for a token without a name, are none.
	two := serveKeys(jwkOf("one", &ecOne.PublicKey), jwkOf("two", &ecTwo.PublicKey)).verifier(t, "")
	if _, err := two.Verify(t.Context(), sign(t, jwt.SigningMethodES256, ecOne, "", claimsOf(nil))); !errors.Is(err, supacheckpoint.ErrToken) {
		t.Errorf("a token without a name of its key, for two: got error %v", err)
	}
}

func TestKeysOverHTTP(t *testing.T) {
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
			_, _ = io.WriteString(w, c.body) // who asked may have heard enough
		}))
		v, err := supacheckpoint.NewVerifier(supacheckpoint.VerifierOptions{URL: project, JWKS: server.URL, Client: server.Client()})
		if err != nil {
			t.Fatal(err)
		}
		_, err = v.Verify(t.Context(), sign(t, jwt.SigningMethodES256, ecOne, "one", claimsOf(nil)))
		if (err == nil) != c.ok || errors.Is(err, supacheckpoint.ErrToken) {
			t.Errorf("%s: got error %v", name, err)
		}
		server.Close()
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := projectKeys().verifier(t, "").Verify(ctx, sign(t, jwt.SigningMethodES256, ecOne, "ec-1", claimsOf(nil)))
	if !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: got error %v", err)
	}
}

func keysJSON() string {
	body, err := json.Marshal(map[string]any{"keys": []any{jwkOf("one", &ecOne.PublicKey)}})
	if err != nil {
		panic(err)
	}
	return string(body)
}

// Whatever is sent as a token, only what the project has signed is one.
func FuzzVerify(f *testing.F) {
	for _, token := range hostile(f) {
		f.Add(token)
	}
	good := sign(f, jwt.SigningMethodES256, ecOne, "ec-1", claimsOf(nil))
	f.Add(good)
	v := projectKeys().verifier(f, secret)
	f.Fuzz(func(t *testing.T, token string) {
		if u, err := v.Verify(t.Context(), token); err == nil && token != good {
			t.Errorf("%q was taken as user %s", token, u.ID)
		}
	})
}
