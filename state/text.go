package state

import (
	"bytes"
	"unicode/utf8"
)

// quote adds s as a JSON string, the way encoding/json writes it without HTML
// escapes, and reports false when s is not valid UTF-8.
func quote(dst []byte, s string) ([]byte, bool) {
	dst = append(dst, '"')
	start := 0 // of what is its own JSON text
	for i := 0; i < len(s); {
		b := s[i]
		if b >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && size == 1 {
				return nil, false
			}
			if r == '\u2028' || r == '\u2029' {
				dst = append(dst, s[start:i]...)
				dst = append(dst, '\\', 'u', '2', '0', '2', "0123456789abcdef"[r&0xf])
				start = i + size
			}
			i += size
			continue
		}
		if b < 0x20 || b == '"' || b == '\\' {
			dst = append(dst, s[start:i]...)
			dst = escape(dst, b)
			start = i + 1
		}
		i++
	}
	dst = append(dst, s[start:]...)
	return append(dst, '"'), true
}

func escape(dst []byte, b byte) []byte {
	switch b {
	case '"', '\\':
		return append(dst, '\\', b)
	case '\b':
		return append(dst, '\\', 'b')
	case '\f':
		return append(dst, '\\', 'f')
	case '\n':
		return append(dst, '\\', 'n')
	case '\r':
		return append(dst, '\\', 'r')
	case '\t':
		return append(dst, '\\', 't')
	}
	const hex = "0123456789abcdef"
	return append(dst, '\\', 'u', '0', '0', hex[b>>4], hex[b&0xf])
}

// unquote reads a JSON string that has no escapes; of any other it reports
// false, and the caller lets encoding/json read it.
func unquote(text []byte) (string, bool) {
	n := len(text) - 1
	if n < 1 || text[0] != '"' || text[n] != '"' {
		return "", false
	}
	inner, ascii := text[1:n], true
	for _, b := range inner {
		if b < 0x20 || b == '"' || b == '\\' {
			return "", false
		}
		ascii = ascii && b < utf8.RuneSelf
	}
	if !ascii && !utf8.Valid(inner) {
		return "", false
	}
	return string(inner), true
}

// deepest is how far encoding/json reads nested arrays and objects, less some
// for the brackets around what it is given.
const deepest = 9_990

// tooDeep reports whether JSON text is nested more than encoding/json reads.
func tooDeep(text []byte) bool {
	if bytes.Count(text, []byte("["))+bytes.Count(text, []byte("{")) <= deepest {
		return false
	}
	depth, most, quoted := 0, 0, false
	for i := 0; i < len(text); i++ {
		switch b := text[i]; {
		case quoted && b == '\\':
			i++
		case b == '"':
			quoted = !quoted
		case quoted:
		case b == '[' || b == '{':
			depth++
			most = max(most, depth)
		case b == ']' || b == '}':
			depth--
		}
	}
	return most > deepest
}

// replacement finds the escape that encoding/json writes for a bad byte of a
// string; a true U+FFFD it writes as itself.
func replacement(text []byte) bool {
	escape := []byte(`\ufffd`)
	for from := 0; ; {
		i := bytes.Index(text[from:], escape)
		if i < 0 {
			return false
		}
		i += from
		slashes := 0
		for j := i - 1; j >= 0 && text[j] == '\\'; j-- {
			slashes++
		}
		if slashes%2 == 0 {
			return true
		}
		from = i + len(escape)
	}
}
