package wire

import (
	"crypto/sha256"
	"encoding/base32"
	"strings"
)

// An IDForm is the form of tool call ids that a provider accepts. A conversation can hold
// calls of another provider, whose ids have another form.
type IDForm int

// The forms of tool call ids.
const (
	AnyID   IDForm = iota // any text
	PlainID               // up to 64 letters, digits, underscores and dashes
	NineID                // nine letters and digits
)

// Of returns id if it has the form. Otherwise it returns a hash of id in that form, so that a
// call and its result keep one id.
func (f IDForm) Of(id string) string {
	switch f {
	case PlainID:
		if len(id) <= 64 && isPlain(id, "_-") {
			return id
		}
		return "call_" + hashed(id)[:24]
	case NineID:
		if len(id) == 9 && isPlain(id, "") {
			return id
		}
		return hashed(id)[:9]
	case AnyID:
	}
	return id
}

func isPlain(id, more string) bool {
	for _, r := range id {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		if !letter && !strings.ContainsRune(more, r) {
			return false
		}
	}
	return id != ""
}

func hashed(id string) string {
	sum := sha256.Sum256([]byte(id))
	return strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:]))
}
