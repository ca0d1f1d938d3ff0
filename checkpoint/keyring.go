package checkpoint

import (
	"crypto/aes"
	"crypto/cipher"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// KeySize is the length of a key in bytes, that of AES-256.
const KeySize = 32

// A KeyRing holds the keys of an [Encrypted] store. Printing one shows the ids
// of its keys, and no key.
//
// To rotate, add a key under a new id and make it the active one. The old key has
// to stay in the ring for as long as something is stored that it encrypted:
// [EncryptedStore.CopyThread] encrypts a whole thread anew, after which the old
// thread can be deleted.
type KeyRing struct {
	// Active is the id of the key that encrypts what is written.
	Active string
	// Keys are the keys to read with, the active one among them, by an id of
	// 1 to 255 bytes. The ids are stored in plain; the keys are [KeySize] random
	// bytes each. One key should encrypt no more than 2³² values.
	Keys map[string][]byte
}

// Format implements [fmt.Formatter].
func (k KeyRing) Format(f fmt.State, _ rune) {
	ids := slices.Sorted(maps.Keys(k.Keys))
	_, _ = fmt.Fprintf(f, "keys %s, active %q", strings.Join(ids, " "), k.Active)
}

// A sealer is a key ring ready for use.
type sealer struct {
	active string
	keys   map[string]cipher.AEAD
}

func newSealer(k KeyRing) (*sealer, error) {
	s := &sealer{active: k.Active, keys: map[string]cipher.AEAD{}}
	for id, key := range k.Keys {
		if id == "" || len(id) > 255 {
			return nil, fmt.Errorf("checkpoint: key id of %d bytes: %w", len(id), ErrInvalid)
		}
		if len(key) != KeySize {
			return nil, fmt.Errorf("checkpoint: key %q has %d bytes, not %d: %w", id, len(key), KeySize, ErrInvalid)
		}
		block, err := aes.NewCipher(key)
		if err != nil {
			return nil, fmt.Errorf("checkpoint: key %q: %w", id, err)
		}
		if s.keys[id], err = cipher.NewGCMWithRandomNonce(block); err != nil {
			return nil, fmt.Errorf("checkpoint: key %q: %w", id, err)
		}
	}
	if s.keys[s.active] == nil {
		return nil, fmt.Errorf("checkpoint: active key %q is not in the ring: %w", s.active, ErrInvalid)
	}
	return s, nil
}
