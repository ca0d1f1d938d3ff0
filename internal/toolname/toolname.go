// Package toolname converts names of tools from other systems to names that every model
// provider accepts.
package toolname

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// Max is the maximum length of a tool name, in bytes.
const Max = 64

// Of returns a name of 1 to 64 ASCII letters, digits, underscores and dashes. It returns a
// valid name unchanged. Otherwise it replaces the invalid characters and appends a part of
// the SHA-256 hash of name, so that different names stay different. The result depends on
// name only.
func Of(name string) string {
	mapped := strings.Map(portable, name)
	if mapped == name && name != "" && len(name) <= Max {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	tail := "_" + hex.EncodeToString(sum[:4])
	return mapped[:min(len(mapped), Max-len(tail))] + tail
}

func portable(r rune) rune {
	switch {
	case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '_', r == '-':
		return r
	}
	return '_'
}
