package checkpoint

import (
	"crypto/aes"
	"crypto/cipher"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// KeySize is the length of a key in bytes, as AES-256 requires.
const KeySize = 32

// A KeyRing holds the keys of an [Encrypted] store. Formatting a KeyRing prints only the
// ids of its keys.
//
// To rotate keys, add a key with a new id, make it the active one, and call
// [EncryptedStore.Reseal]. Keep an old key in the ring until then, because existing values
// are still encrypted with it.
type KeyRing struct {
	// Active is the id of the key that encrypts new values.
	Active string
	// Keys holds the keys by id, including the active one. An id has 1 to 255 bytes
	// and is stored unencrypted. A key is [KeySize] random bytes. Do not encrypt more
	// than 2³² values with one key. Never use the id of an old key for a new key.
	Keys map[string][]byte
}

// Format implements [fmt.Formatter].
func (k KeyRing) Format(f fmt.State, _ rune) {
	ids := slices.Sorted(maps.Keys(k.Keys))
	_, _ = fmt.Fprintf(f, "keys %s, active %q", strings.Join(ids, " "), k.Active)
}

// A sealer encrypts and decrypts with the keys of a key ring.
type sealer struct {
	active string
	keys   map[string]cipher.AEAD
}

func newSealer(k KeyRing) (*sealer, error) {
	s := &sealer{active: k.Active, keys: map[string]cipher.AEAD{}}
	for id, key := range k.Keys {
		if id == "" || len(id) > 255 {
			return nil, fmt.Errorf("checkpoint: key ring: a key id has %d bytes; use 1 to 255: %w", len(id), ErrInvalid)
		}
		if len(key) != KeySize {
			return nil, fmt.Errorf("checkpoint: key ring: key %q has %d bytes; use %d: %w", id, len(key), KeySize, ErrInvalid)
		}
		block, err := aes.NewCipher(key)
		if err != nil {
			return nil, fmt.Errorf("checkpoint: key ring: key %q: %w", id, err)
		}
		if s.keys[id], err = cipher.NewGCMWithRandomNonce(block); err != nil {
			return nil, fmt.Errorf("checkpoint: key ring: key %q: %w", id, err)
		}
	}
	if s.keys[s.active] == nil {
		return nil, fmt.Errorf("checkpoint: key ring: the active key %q is not in Keys: %w", s.active, ErrInvalid)
	}
	return s, nil
}
