package sqlitememory

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
)

// packTerms encodes terms, and unpackTerms decodes them. Terms may have any bytes.
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
	text := string(b) // one copy for all terms
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

// A scope is a row of a table of scopes: its key, and the secret for the index of its words.
type scope struct {
	key    int64
	secret []byte
}

// newSecret returns a random secret.
func newSecret() []byte {
	secret := make([]byte, 16)
	_, _ = rand.Read(secret) // rand.Read never returns an error
	return secret
}

// tokenAlphabet has only characters that the tokenizer of the index does not split or change.
var tokenAlphabet = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// appendToken appends the index word of a term: a hash of the scope's secret and the term.
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
