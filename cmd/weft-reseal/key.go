package main

import (
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/weft-go/weft/checkpoint"
)

// readKey reads the key of a -key flag. No error contains a part of a key.
func readKey(text string, getenv func(string) string) (id string, key []byte, err error) {
	id, source, ok := strings.Cut(text, "=")
	kind, name, named := strings.Cut(source, ":")
	if !ok || !named || id == "" || name == "" {
		return "", nil, errors.New("a -key must be ID=file:PATH or ID=env:NAME")
	}
	var data []byte
	switch kind {
	case "file":
		if data, err = os.ReadFile(name); err != nil {
			return "", nil, fmt.Errorf("key %q: %w", id, err)
		}
	case "env":
		if data = []byte(getenv(name)); len(data) == 0 {
			return "", nil, fmt.Errorf("key %q: the environment variable %s is not set", id, name)
		}
	default:
		return "", nil, fmt.Errorf("key %q: want file:PATH or env:NAME after the =", id)
	}
	if key = decodeKey(data); key == nil {
		return "", nil, fmt.Errorf("key %q: %s %s has no key of %d bytes, neither as it is nor in hexadecimal or base64", id, kind, name, checkpoint.KeySize)
	}
	return id, key, nil
}

// decodeKey returns the key in data: raw bytes, hexadecimal or base64. It returns nil if data is no key.
func decodeKey(data []byte) []byte {
	if len(data) == checkpoint.KeySize {
		return data
	}
	text := strings.TrimSpace(string(data))
	for _, decode := range []func(string) ([]byte, error){
		hex.DecodeString, base64.StdEncoding.DecodeString, base64.RawStdEncoding.DecodeString,
		base64.URLEncoding.DecodeString, base64.RawURLEncoding.DecodeString,
	} {
		if key, err := decode(text); err == nil && len(key) == checkpoint.KeySize {
			return key
		}
	}
	return nil
}
