package runs

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

// MaxText is the largest number of bytes in a text of a [Record].
const MaxText = 2000

// Check returns [ErrInvalid] unless each store can keep the record: its texts have at most
// [MaxText] bytes and are UTF-8 without NUL, its id is not empty, and its metadata is empty or a
// JSON object. Implementers of [Store] call it.
func (r *Record) Check() error {
	for _, text := range []struct{ field, value string }{
		{"id", r.ID}, {"parent", r.Parent}, {"owner", r.Owner}, {"graph", r.Graph}, {"name", r.Name}, {"status", r.Status},
	} {
		switch {
		case len(text.value) > MaxText:
			return r.invalid("its %s has %d bytes, and %d is the maximum", text.field, len(text.value), MaxText)
		case !utf8.ValidString(text.value) || strings.ContainsRune(text.value, 0):
			return r.invalid("its %s is not UTF-8 or contains a NUL", text.field)
		}
	}
	if r.ID == "" {
		return r.invalid("it has no id")
	}
	if meta := strings.TrimSpace(string(r.Metadata)); meta != "" && (meta[0] != '{' || !json.Valid(r.Metadata)) {
		return r.invalid("its metadata is not a JSON object")
	}
	return nil
}

func (r *Record) invalid(format string, args ...any) error {
	return fmt.Errorf("%s %.40q %w: %s", r.Kind, r.ID, ErrInvalid, fmt.Sprintf(format, args...))
}
