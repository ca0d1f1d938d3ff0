package split

import (
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// A jsonReader writes each JSON value on a line, as "name: value". The path to the value is
// its headings.
type jsonReader struct {
	rewriting
	parsed *parsed
	at     int
	path   []string
	levels []level
}

// A level is an open object or array.
type level struct {
	section int // its section; -1 while it is empty
	index   int // of the next element of an array; -1 in an object
	named   bool
	name    [2]int // offsets of the name of the open field
}

// parseJSON parses one JSON value, or one on each line. It returns nil for any other text.
func parseJSON(source string) *parsed {
	r := jsonReader{rewriting: rewriting{source: source}, parsed: &parsed{}, at: skipMark(source)}
	switch {
	case json.Valid([]byte(source[r.at:])):
		r.value()
	case !r.linesOfValues():
		return nil
	}
	p := r.parsed
	p.text, p.trace = string(r.text), r.trace
	if p.trace == nil {
		p.trace = []run{}
	}
	if len(p.sections) == 0 {
		p.open(nil)
	}
	return p.settle()
}

// linesOfValues reads a value on each line. The number of the line is the first part of its
// path. It returns false if a line is invalid.
func (r *jsonReader) linesOfValues() bool {
	for at := r.at; at < len(r.source); at = lineEnd(r.source, at) {
		if line := strings.TrimSpace(r.source[at:lineEnd(r.source, at)]); line != "" && !json.Valid([]byte(line)) {
			return false
		}
	}
	for n := 1; r.at < len(r.source); n++ {
		next := lineEnd(r.source, r.at)
		if strings.TrimSpace(r.source[r.at:next]) != "" {
			r.path = append(r.path[:0], strconv.Itoa(n))
			r.value()
		}
		r.at = next
	}
	return true
}

// value reads a valid value and all values in it.
func (r *jsonReader) value() {
	r.levels = append(r.levels[:0], level{section: -1, index: -1})
	for {
		for r.at < len(r.source) && r.source[r.at] <= ' ' {
			r.at++
		}
		if r.at >= len(r.source) {
			return
		}
		top := &r.levels[len(r.levels)-1]
		switch c := r.source[r.at]; c {
		case ',', ':':
			r.at++
			continue
		case '{', '[':
			r.enter(c)
			continue
		case '}', ']':
			r.at++
			r.leave()
		case '"':
			if len(r.levels) > 1 && top.index < 0 && !top.named {
				r.name(top)
				continue
			}
			r.leaf(top)
		default:
			r.leaf(top)
		}
		if len(r.levels) == 1 {
			return
		}
	}
}

// enter opens an object or an array, which extends the path unless it is the outermost.
func (r *jsonReader) enter(c byte) {
	r.at++
	top := &r.levels[len(r.levels)-1]
	if top.index >= 0 {
		r.path = append(r.path, strconv.Itoa(top.index))
		top.index++
	}
	index := -1
	if c == '[' {
		index = 0
	}
	r.levels = append(r.levels, level{section: -1, index: index})
}

func (r *jsonReader) leave() {
	r.levels = r.levels[:len(r.levels)-1]
	top := &r.levels[len(r.levels)-1]
	if len(r.levels) > 1 {
		r.path = r.path[:len(r.path)-1]
		top.named = false
	}
}

// name reads the name of a field. The name stays the last part of the path until the value has been read.
func (r *jsonReader) name(top *level) {
	end := stringEnd(r.source, r.at)
	at := rewriting{source: r.source}
	at.unquote(r.at, end)
	top.named, top.name = true, [2]int{r.at, end}
	r.path = append(r.path, string(at.text))
	r.at = end
}

// leaf writes a string, number, boolean or null with its name.
func (r *jsonReader) leaf(top *level) {
	start := r.at
	if r.source[start] == '"' {
		r.at = stringEnd(r.source, start)
	} else {
		for r.at < len(r.source) && strings.IndexByte(" \t\r\n,]}", r.source[r.at]) < 0 {
			r.at++
		}
	}
	name, path := "", r.path
	if top.named {
		name, path = path[len(path)-1], path[:len(path)-1]
		top.named, r.path = false, path
	} else if top.index >= 0 {
		top.index++
	}
	if top.section < 0 {
		top.section = r.section(path)
	}
	begin := len(r.text)
	if name != "" {
		r.put(label(name)+": ", top.name[0], top.name[1])
	}
	kind := lines
	if r.source[start] == '"' {
		kind = paragraph
		r.unquote(start, r.at)
	} else {
		r.keep(start, r.at)
	}
	r.parsed.blocks = append(r.parsed.blocks, block{start: begin, end: len(r.text), section: top.section, kind: kind})
	r.insert("\n")
}

func (r *jsonReader) section(path []string) int {
	headings := make([]string, 0, min(len(path), maxDepth))
	for _, name := range path[max(0, len(path)-maxDepth):] {
		headings = append(headings, label(name))
	}
	r.parsed.open(headings)
	return len(r.parsed.sections) - 1
}

// stringEnd returns the offset after a quoted string.
func stringEnd(source string, at int) int {
	for at++; at < len(source); at++ {
		switch source[at] {
		case '\\':
			at++
		case '"':
			return at + 1
		}
	}
	return len(source)
}

// unquote appends a string without its quotes and escapes.
func (w *rewriting) unquote(start, end int) {
	at, last := start+1, end-1
	for at < last {
		if i := strings.IndexByte(w.source[at:last], '\\'); i != 0 {
			if i < 0 {
				i = last - at
			}
			w.keep(at, at+i)
			at += i
			continue
		}
		r, size := escape(w.source[at:last])
		w.put(string(r), at, at+size)
		at += size
	}
}

// escape reads an escaped rune. A rune that cannot be stored becomes U+FFFD.
func escape(s string) (r rune, size int) {
	if len(s) >= 6 && s[1] == 'u' {
		r := hex(s[2:6])
		if len(s) >= 12 && s[6] == '\\' && s[7] == 'u' {
			if pair := utf16.DecodeRune(r, hex(s[8:12])); pair != utf8.RuneError {
				return pair, 12
			}
		}
		if r == 0 || utf16.IsSurrogate(r) {
			r = utf8.RuneError
		}
		return r, 6
	}
	switch s[1] {
	case 'n':
		return '\n', 2
	case 't':
		return '\t', 2
	case 'r':
		return '\r', 2
	case 'b', 'f':
		return ' ', 2
	}
	return rune(s[1]), 2
}

func hex(s string) rune {
	n, err := strconv.ParseUint(s, 16, 16)
	if err != nil {
		return utf8.RuneError
	}
	return rune(n)
}
