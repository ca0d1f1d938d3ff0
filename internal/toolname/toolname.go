// Package toolname makes names that every provider takes out of names that other
// systems give to their tools.
package toolname

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// Max is the longest name that a tool may have.
const Max = 64

// Of returns a name of 1 to 64 letters, digits, underscores and dashes: name
// itself if it is one, else one that is made of it and a part of its hash. It
// depends on nothing but name, so a tool is called the same whatever other tools
// there are, and two names do not become one.
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
