package pgtest

import "strings"

// Statements splits a script into its statements, as psql does.
func Statements(script string) []string {
	var list []string
	for script != "" {
		end, blank := 0, true
		for end < len(script) && script[end] != ';' {
			n := token(script[end:])
			blank = blank && (strings.TrimSpace(script[end:end+n]) == "" || strings.HasPrefix(script[end:], "--"))
			end += n
		}
		if !blank {
			list = append(list, strings.TrimSpace(script[:end]))
		}
		script = script[min(end+1, len(script)):]
	}
	return list
}

// token returns the length of the first token of text: a comment, a quoted string or a
// single byte.
func token(text string) int {
	through := func(from int, closing string) int {
		if i := strings.Index(text[from:], closing); i >= 0 {
			return from + i + len(closing)
		}
		return len(text)
	}
	switch {
	case strings.HasPrefix(text, "--"):
		return through(0, "\n")
	case text[0] == '\'' || text[0] == '"': // a doubled quote inside makes two tokens
		return through(1, text[:1])
	case text[0] == '$':
		name := strings.IndexByte(text[1:], '$') + 1
		if name == 0 || strings.ContainsFunc(text[1:name], func(r rune) bool { return r != '_' && (r < 'a' || r > 'z') }) {
			return 1 // such as $1
		}
		return through(name+1, text[:name+1])
	}
	return 1
}
