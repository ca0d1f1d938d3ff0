package langchainllm

import (
	"crypto/sha256"
	"encoding/base32"
	"strings"
)

// idForm is what a provider takes for the id of a tool call. A conversation may
// come from another provider, whose ids have another form.
type idForm int

const (
	idsAny    idForm = iota
	idsPlain         // letters, digits, underscores and dashes
	idsOfNine        // nine letters and digits
)

// of returns id if it has the form, and else one that has it and is always the
// same for id.
func (f idForm) of(id string) string {
	switch f {
	case idsPlain:
		if len(id) <= 64 && plain(id, "_-") {
			return id
		}
		return "call_" + hashed(id)[:24]
	case idsOfNine:
		if len(id) == 9 && plain(id, "") {
			return id
		}
		return hashed(id)[:9]
	}
	return id
}

func plain(id, more string) bool {
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
