package main

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/weft-go/weft/checkpoint"
)

// readKeys reads a file with the keys of a store of [checkpoint.Encrypted]. A line has the id of a key and
// the key in base64. The errors contain no keys.
func readKeys(path string) (checkpoint.KeyRing, error) {
	ring := checkpoint.KeyRing{Keys: map[string][]byte{}}
	data, err := os.ReadFile(path)
	if err != nil {
		return ring, fmt.Errorf("read the keys: %w", err)
	}
	for i, line := range strings.Split(string(data), "\n") {
		fields := strings.Fields(line)
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		if len(fields) != 2 {
			return ring, fmt.Errorf("read the keys: %s, line %d: a line has the id of a key and the key in base64", path, i+1)
		}
		key, err := base64.StdEncoding.DecodeString(fields[1])
		if err != nil || len(key) != checkpoint.KeySize {
			return ring, fmt.Errorf("read the keys: %s, line %d: the key %q is not %d bytes in base64", path, i+1, fields[0], checkpoint.KeySize)
		}
		ring.Keys[fields[0]] = key
		if ring.Active == "" {
			ring.Active = fields[0]
		}
	}
	if ring.Active == "" {
		return ring, fmt.Errorf("read the keys: %s has none", path)
	}
	return ring, nil
}

// decrypted returns a store that decrypts the values of inner with the file keys, or inner if keys is empty. It returns
// an error if the keys do not fit the values, or if keys is empty and the values are encrypted.
func decrypted(ctx context.Context, inner checkpoint.Store, keys string) (checkpoint.Store, error) {
	ring := checkpoint.KeyRing{Active: "none", Keys: map[string][]byte{"none": make([]byte, checkpoint.KeySize)}}
	_, _ = rand.Read(ring.Keys["none"]) // it never fails
	if keys != "" {
		var err error
		if ring, err = readKeys(keys); err != nil {
			return nil, err
		}
	}
	store, err := checkpoint.Encrypted(inner, ring)
	if err != nil {
		return nil, err
	}
	err = readOne(ctx, store)
	switch {
	case keys == "" && errors.Is(err, checkpoint.ErrDecrypt):
		return nil, fmt.Errorf("the values of this store are encrypted: give -keys FILE, with a line ID BASE64 for each key of the program that wrote them: %w", err)
	case keys == "":
		return inner, nil // the command reports any other error when it reads the thread
	case isPlain(err):
		return nil, fmt.Errorf("%w: %w", errNotEncrypted, err)
	case err != nil:
		return nil, fmt.Errorf("the keys of %s do not decrypt this store: %w", keys, err)
	}
	return store, nil
}

var errNotEncrypted = errors.New("the values of this store are not encrypted: leave out -keys")

// isPlain reports whether err is about a value that is not encrypted.
func isPlain(err error) bool {
	var plain interface{ Unencrypted() }
	return errors.As(err, &plain)
}

// readOne reads the newest checkpoint of the first thread that is not damaged, and returns the error. It returns nil if
// there is no such thread.
func readOne(ctx context.Context, s *checkpoint.EncryptedStore) error {
	for t, err := range s.ListThreads(ctx, "") {
		if err != nil && t.ID != "" && errors.Is(err, checkpoint.ErrCorrupt) {
			continue
		}
		if err != nil {
			return err
		}
		for _, err := range s.List(ctx, checkpoint.Query{Thread: t.ID, AllNamespaces: true, Limit: 1}) {
			if !errors.Is(err, checkpoint.ErrCorrupt) {
				return err
			}
		}
	}
	return nil
}
