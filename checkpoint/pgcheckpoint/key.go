package pgcheckpoint

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/weft-go/weft/checkpoint"
)

// An id is the stored form of a checkpoint's id. A UUID is stored as a UUID. Any other id
// is stored as text, together with a UUID of version 8 that is a hash of the text.
type id struct {
	uuid pgtype.UUID
	name *string
}

const uuidVersion = 6 // the index of the byte with the version in its upper half

func packID(text string) id {
	if u, ok := parseUUID(text); ok && u[uuidVersion]>>4 != 8 {
		return id{uuid: pgtype.UUID{Bytes: u, Valid: true}}
	}
	sum := sha256.Sum256([]byte(text))
	u := pgtype.UUID{Bytes: [16]byte(sum[:16]), Valid: true}
	u.Bytes[uuidVersion] = 8<<4 | u.Bytes[uuidVersion]&0xf
	u.Bytes[8] = 0b10<<6 | u.Bytes[8]&0x3f
	return id{uuid: u, name: &text}
}

// optionalID returns null for an empty id.
func optionalID(text string) pgtype.UUID {
	if text == "" {
		return pgtype.UUID{}
	}
	return packID(text).uuid
}

// parseUUID parses a UUID in its canonical form. It returns false for any other form, such
// as one with capitals, because [spellUUID] would not return the same text.
func parseUUID(text string) (u [16]byte, ok bool) {
	if len(text) != 36 || text[8] != '-' || text[13] != '-' || text[18] != '-' || text[23] != '-' {
		return u, false
	}
	digits := make([]byte, 0, 32)
	for part := range strings.SplitSeq(text, "-") {
		digits = append(digits, part...)
	}
	if n, err := hex.Decode(u[:], digits); err != nil || n != 16 {
		return u, false
	}
	return u, spellUUID(u) == text
}

func spellUUID(u [16]byte) string {
	var s [36]byte
	hex.Encode(s[:8], u[:4])
	hex.Encode(s[9:13], u[4:6])
	hex.Encode(s[14:18], u[6:8])
	hex.Encode(s[19:23], u[8:10])
	hex.Encode(s[24:], u[10:16])
	s[8], s[13], s[18], s[23] = '-', '-', '-', '-'
	return string(s[:])
}

// text returns the id, or the empty string for null. It returns [checkpoint.ErrCorrupt] if
// the UUID is not the hash of the text.
func (i id) text() (string, error) {
	switch {
	case !i.uuid.Valid:
		return "", nil
	case i.name == nil:
		return spellUUID(i.uuid.Bytes), nil
	case packID(*i.name).uuid != i.uuid:
		return "", fmt.Errorf("the stored id does not match its name: %w", checkpoint.ErrCorrupt)
	}
	return *i.name, nil
}

// maxName is the maximum length of an indexed name, in bytes.
const maxName = 2000

// checkName returns [checkpoint.ErrInvalid] for a name that is too long for an index, or
// that has a NUL or invalid UTF-8, which PostgreSQL cannot store as text.
func checkName(what, name string) error {
	if len(name) > maxName {
		return fmt.Errorf("%s of %d bytes, and the maximum is %d: %w", what, len(name), maxName, checkpoint.ErrInvalid)
	}
	return checkText(what, name)
}

func checkText(what, text string) error {
	if !storable(text) {
		return fmt.Errorf("%s %.40q is not UTF-8 or contains a NUL: %w", what, text, checkpoint.ErrInvalid)
	}
	return nil
}

func storable(text string) bool {
	return utf8.ValidString(text) && strings.IndexByte(text, 0) < 0
}

// checkKey checks the names in a key.
func checkKey(k checkpoint.Key) error {
	if k.Thread == "" {
		return fmt.Errorf("empty thread id: %w", checkpoint.ErrInvalid)
	}
	if err := checkName("thread id", k.Thread); err != nil {
		return err
	}
	if err := checkName("namespace", k.Namespace); err != nil {
		return err
	}
	return checkText("checkpoint id", k.ID)
}
