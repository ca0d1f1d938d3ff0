package sqlitememory

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
)

// packTerms and unpackTerms keep terms exactly, whatever they are made of.
func packTerms(terms []string) []byte {
	b := []byte{}
	for _, term := range terms {
		b = binary.AppendUvarint(b, uint64(len(term)))
		b = append(b, term...)
	}
	return b
}

func unpackTerms(b []byte) ([]string, error) {
	var terms []string
	text := string(b) // once, for all terms
	for at := 0; at < len(b); {
		n, size := binary.Uvarint(b[at:])
		if size <= 0 || n > uint64(len(b)-at-size) {
			return nil, ErrCorrupt
		}
		at += size
		terms = append(terms, text[at:at+int(n)])
		at += int(n)
	}
	return terms, nil
}

// A scope is one with which facts are stored.
type scope struct {
	key    int64
	secret []byte
}

// newSecret returns one that nobody can guess.
func newSecret() []byte {
	secret := make([]byte, 16)
	_, _ = rand.Read(secret) // it never fails
	return secret
}

// tokenAlphabet has what the tokenizer takes as it is.
var tokenAlphabet = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// appendToken appends what stands for a term in the index.
func (s *scope) appendToken(b []byte, term string) []byte {
	sum := sha256.Sum256(append(append(make([]byte, 0, 128), s.secret...), term...))
	return tokenAlphabet.AppendEncode(b, sum[:8])
}

func (s *scope) tokens(terms []string) string {
	b := make([]byte, 0, 14*len(terms))
	for _, term := range terms {
		b = append(s.appendToken(b, term), ' ')
	}
	return string(b)
}

// match returns a query of an index for rows of the scopes with any of the terms.
func match(terms []string, scopes []scope) string {
	var b []byte
	for i := range scopes {
		for _, term := range terms {
			if b != nil {
				b = append(b, " OR "...)
			}
			b = append(scopes[i].appendToken(append(b, '"'), term), '"')
		}
	}
	return string(b)
}
