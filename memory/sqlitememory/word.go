package sqlitememory

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/weft-go/weft/internal/sqlitedb"
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

// token stands for a term in the index. The tokenizer takes it as it is.
func token(term string) string {
	sum := sha256.Sum256([]byte(term))
	return hex.EncodeToString(sum[:8])
}

func tokens(terms []string) string {
	var b strings.Builder
	b.Grow(17 * len(terms))
	for _, term := range terms {
		b.WriteString(token(term))
		b.WriteByte(' ')
	}
	return b.String()
}

const (
	insertWords = `INSERT INTO mem_word (rowid, scope, terms) VALUES (?, ?, ?)`
	// What an index without contents removes, it has to be told.
	deleteWords = `INSERT INTO mem_word (mem_word, rowid, scope, terms) VALUES ('delete', ?, ?, ?)`
)

func addWords(w *sqlitedb.Session, key, scope int64, terms []string) error {
	_, err := w.Exec(insertWords, key, scope, tokens(terms))
	return err
}

func removeWords(w *sqlitedb.Session, key, scope int64, terms []string) error {
	_, err := w.Exec(deleteWords, key, scope, tokens(terms))
	return err
}

// match returns a query of the index for facts with any of the terms, of the scopes, or of all if
// there are none.
func match(terms []string, scopes []int64) string {
	var b strings.Builder
	for i, scope := range scopes {
		b.WriteString(either(i, "scope : ("))
		b.WriteString(quoted(strconv.FormatInt(scope, 10)))
	}
	if len(scopes) > 0 {
		b.WriteString(") AND ")
	}
	for i, term := range terms {
		b.WriteString(either(i, "terms : ("))
		b.WriteString(quoted(token(term)))
	}
	b.WriteString(")")
	return b.String()
}

func either(i int, first string) string {
	if i == 0 {
		return first
	}
	return " OR "
}

// quoted is for texts of digits and letters.
func quoted(text string) string { return `"` + text + `"` }
