package supacheckpoint

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"sync"
	"time"
)

const (
	// keysFor is the time after which keys are fetched again. keysWait is the minimum
	// time between two fetches for unknown key ids. It is needed because anybody can send
	// tokens with unknown key ids.
	keysFor  = 10 * time.Minute
	keysWait = 30 * time.Second

	// keysKept is the maximum age of keys that are used while they cannot be fetched again.
	keysKept = 24 * time.Hour

	maxKeys = 1 << 20 // bytes
)

// A keySet caches the public keys of a project.
type keySet struct {
	address string
	client  *http.Client

	turn    chan struct{} // holds one value while a goroutine fetches; others wait to send
	mu      sync.Mutex
	keys    []publicKey
	fetched time.Time
	tried   time.Time
}

// A publicKey is a key for one signing method. The type of the key determines the method.
type publicKey struct {
	id, method string
	key        any
}

// A fetchError is a failure to fetch the keys.
type fetchError struct{ err error }

func (e *fetchError) Error() string { return "fetch the keys of the project: " + e.err.Error() }
func (e *fetchError) Unwrap() error { return e.err }

var errNoKey = errors.New("no such key")

// find returns the key with an id for a signing method. With an empty id, it returns the
// key for the method if there is exactly one.
func (s *keySet) find(ctx context.Context, id, method string) (any, error) {
	key, fresh := s.lookUp(id, method)
	if key != nil && fresh {
		return key, nil
	}
	if err := s.refresh(ctx, key == nil); err != nil {
		// Use the cached key until keysKept has passed.
		if key != nil {
			return key, nil
		}
		return nil, &fetchError{err}
	}
	if key, _ = s.lookUp(id, method); key != nil {
		return key, nil
	}
	return nil, fmt.Errorf("%w: %.60q for %s", errNoKey, id, method)
}

// lookUp returns a cached key, or nil, and reports whether the cache is younger than keysFor.
func (s *keySet) lookUp(id, method string) (key any, fresh bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	age := time.Since(s.fetched)
	if age > keysKept {
		return nil, false
	}
	n := 0
	for _, k := range s.keys {
		if k.method == method && (k.id == id || id == "") {
			key = k.key
			n++
		}
	}
	if n != 1 {
		return nil, age < keysFor
	}
	return key, age < keysFor
}

// refresh fetches the keys if the cache is empty, if it is older than keysFor, or if missing is
// true, which means that the cache lacks the key of a token. It does not fetch them within
// keysWait of the last attempt, unless the cache is empty.
func (s *keySet) refresh(ctx context.Context, missing bool) error {
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	s.mu.Lock()
	tried, fetched := time.Since(s.tried), time.Since(s.fetched)
	known := s.keys != nil
	s.mu.Unlock()
	if known && (tried < keysWait || !missing && fetched < keysFor) {
		return nil
	}
	keys, err := s.fetch(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tried = time.Now()
	if err != nil {
		return err
	}
	s.keys, s.fetched = keys, s.tried
	return nil
}

func (s *keySet) fetch(ctx context.Context) (keys []publicKey, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.address, nil)
	if err != nil {
		return nil, err
	}
	response, err := s.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, response.Body.Close()) }()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answered %s", s.address, response.Status)
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, maxKeys+1))
	if err != nil {
		return nil, err
	}
	if len(body) > maxKeys {
		return nil, fmt.Errorf("%s answered more than %d bytes", s.address, maxKeys)
	}
	return parseKeys(body)
}

// A jwk is a JSON Web Key of RFC 7517 and 7518.
type jwk struct {
	Kid, Kty, Alg, Use, Crv string
	X, Y, N, E              string
}

// parseKeys returns the signing keys of supported types and skips all others.
func parseKeys(body []byte) ([]publicKey, error) {
	var set struct{ Keys []jwk }
	if err := json.Unmarshal(body, &set); err != nil {
		return nil, fmt.Errorf("the key set is not JSON: %w", err)
	}
	keys := make([]publicKey, 0, len(set.Keys))
	for _, k := range set.Keys {
		p := publicKey{id: k.Kid}
		var err error
		switch {
		case k.Use != "" && k.Use != "sig":
			continue
		case k.Kty == "EC" && k.Crv == "P-256":
			p.method = "ES256"
			p.key, err = ecKey(k)
		case k.Kty == "RSA":
			p.method = "RS256"
			p.key, err = rsaKey(k)
		default:
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("key %.60q: %w", k.Kid, err)
		}
		if k.Alg == "" || k.Alg == p.method {
			keys = append(keys, p)
		}
	}
	return keys, nil
}

const coordinate = 32 // size of a P-256 coordinate in bytes

func ecKey(k jwk) (*ecdsa.PublicKey, error) {
	x, errX := base64.RawURLEncoding.DecodeString(k.X)
	y, errY := base64.RawURLEncoding.DecodeString(k.Y)
	if err := errors.Join(errX, errY); err != nil {
		return nil, err
	}
	if len(x) != coordinate || len(y) != coordinate {
		return nil, fmt.Errorf("coordinates of %d and %d bytes", len(x), len(y))
	}
	// This also checks that the point is on the curve.
	return ecdsa.ParseUncompressedPublicKey(elliptic.P256(), append(append([]byte{4}, x...), y...))
}

// minModulus and maxModulus are in bits.
const (
	minModulus = 2048
	maxModulus = 8192
)

func rsaKey(k jwk) (*rsa.PublicKey, error) {
	n, errN := base64.RawURLEncoding.DecodeString(k.N)
	e, errE := base64.RawURLEncoding.DecodeString(k.E)
	if err := errors.Join(errN, errE); err != nil {
		return nil, err
	}
	modulus, exponent := new(big.Int).SetBytes(n), new(big.Int).SetBytes(e)
	if bits := modulus.BitLen(); bits < minModulus || bits > maxModulus {
		return nil, fmt.Errorf("a modulus of %d bits", bits)
	}
	if !exponent.IsInt64() || exponent.Int64() < 3 || exponent.Int64() >= 1<<31 || exponent.Bit(0) == 0 {
		return nil, errors.New("a bad exponent")
	}
	return &rsa.PublicKey{N: modulus, E: int(exponent.Int64())}, nil
}
