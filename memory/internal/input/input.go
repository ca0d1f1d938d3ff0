// Package input checks the arguments of the packages of memory.
package input

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// ErrInvalid means that a value cannot be stored.
var ErrInvalid = errors.New("invalid")

// MaxName is the maximum number of bytes of a name.
const MaxName = 512

// Storable reports whether every store can keep a text: it is UTF-8 and has no NUL.
func Storable(text string) bool {
	return utf8.ValidString(text) && strings.IndexByte(text, 0) < 0
}

// Name returns [ErrInvalid] for a name that is too long or not [Storable].
func Name(what, text string) error {
	switch {
	case len(text) > MaxName:
		return fmt.Errorf("%s %.40q… has %d bytes, and %d are allowed: %w", what, text, len(text), MaxName, ErrInvalid)
	case !Storable(text):
		return fmt.Errorf("%s %.40q is not UTF-8 or has a NUL: %w", what, text, ErrInvalid)
	}
	return nil
}

// JSON returns a value in compact form. It returns [ErrInvalid] for a value that no store can keep: it is
// not JSON, is not UTF-8, has more than the given number of bytes, or has a NUL.
func JSON(what string, data []byte, most int) (json.RawMessage, error) {
	if len(data) > most {
		return nil, fmt.Errorf("%s has %d bytes, and %d are allowed: %w", what, len(data), most, ErrInvalid)
	}
	if !utf8.Valid(data) || hasNUL(data) {
		return nil, fmt.Errorf("%s is not UTF-8 or has a NUL: %w", what, ErrInvalid)
	}
	var b bytes.Buffer
	if err := json.Compact(&b, data); err != nil {
		return nil, fmt.Errorf("%s is no JSON: %w: %w", what, ErrInvalid, err)
	}
	return b.Bytes(), nil
}

// hasNUL reports whether a text in JSON has a NUL: the escape \u0000, unless its backslash is itself
// escaped.
func hasNUL(data []byte) bool {
	for {
		i := bytes.Index(data, []byte(`\u0000`))
		if i < 0 {
			return false
		}
		before := data[:i]
		if (len(before)-len(bytes.TrimRight(before, `\`)))%2 == 0 {
			return true
		}
		data = data[i+1:]
	}
}

// Object is [JSON] for an object. An empty value returns nil.
func Object(what string, data []byte, most int) (json.RawMessage, error) {
	if len(bytes.TrimSpace(data)) == 0 {
		return nil, nil
	}
	compact, err := JSON(what, data, most)
	if err != nil {
		return nil, err
	}
	if compact[0] != '{' {
		return nil, fmt.Errorf("%s is no JSON object: %.40s: %w", what, compact, ErrInvalid)
	}
	return compact, nil
}

// Exact returns a time in the precision of all stores, a microsecond. The zero time stays zero.
func Exact(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }
