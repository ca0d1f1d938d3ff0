package jsonform

import (
	"bytes"
	"unicode/utf8"
)

// quote appends s as a JSON string. The output equals the output of encoding/json
// without HTML escapes. It reports false if s is not valid UTF-8.
func quote(dst []byte, s string) ([]byte, bool) {
	dst = append(dst, '"')
	for {
		n := verbatim(s)
		dst = append(dst, s[:n]...)
		if s = s[n:]; s == "" {
			return append(dst, '"'), true
		}
		b := s[0]
		if b < utf8.RuneSelf {
			dst, s = escape(dst, b), s[1:]
			continue
		}
		r, size := utf8.DecodeRuneInString(s)
		switch {
		case r == utf8.RuneError && size == 1:
			return nil, false
		case r == '\u2028', r == '\u2029':
			dst = append(dst, '\\', 'u', '2', '0', '2', '8'+byte(r&1))
		default:
			dst = append(dst, s[:size]...)
		}
		s = s[size:]
	}
}

// verbatim returns the length of the longest prefix of s that is ASCII
// and needs no escapes in a JSON string.
func verbatim[T string | []byte](s T) int {
	const (
		each = 0x01_01_01_01_01_01_01_01 // each*b holds the byte b eight times
		top  = 0x80 * each
	)
	i := 0
	for rest := s; len(rest) >= 8; rest = rest[8:] {
		x := uint64(rest[0]) | uint64(rest[1])<<8 | uint64(rest[2])<<16 | uint64(rest[3])<<24 |
			uint64(rest[4])<<32 | uint64(rest[5])<<40 | uint64(rest[6])<<48 | uint64(rest[7])<<56
		// The top bit of a byte is set if the byte is not ASCII.
		// It is also set if a subtraction borrows: the byte is less than a space,
		// or it equals a quote or a backslash.
		if (x|(x-' '*each)|((x^'"'*each)-each)|((x^'\\'*each)-each))&top != 0 {
			break
		}
		i += 8
	}
	for ; i < len(s); i++ {
		if b := s[i]; b < ' ' || b >= utf8.RuneSelf || b == '"' || b == '\\' {
			break
		}
	}
	return i
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

// unquote decodes a JSON string without escapes. It reports false for any other text,
// which encoding/json must decode.
func unquote(text []byte) (string, bool) {
	n := len(text) - 1
	if n < 1 || text[0] != '"' || text[n] != '"' {
		return "", false
	}
	inner := text[1:n]
	for i := verbatim(inner); i < len(inner); i++ {
		if b := inner[i]; b < ' ' || b == '"' || b == '\\' {
			return "", false
		}
	}
	if !utf8.Valid(inner) {
		return "", false
	}
	return string(inner), true
}

// deepest is the maximum depth of arrays and objects in stored JSON. It is less than
// the limit of encoding/json, since callers add brackets.
const deepest = 9_990

// tooDeep reports whether JSON is nested too deeply for encoding/json to decode it.
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

// replacement reports whether JSON contains the escape \ufffd.
// encoding/json writes this escape only for a byte that is not valid UTF-8.
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
