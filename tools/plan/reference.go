package plan

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// A piece is a part of a string: plain text or a reference.
type piece struct {
	text string
	id   string // the id of the action that the reference names; empty for plain text
	path []string
}

// split splits a string into pieces. In a reference, the longest known id is taken, because
// an id may contain dots.
func split(text string, known func(id string) bool) ([]piece, error) {
	var pieces []piece
	var plain strings.Builder
	for text != "" {
		before, rest, found := strings.Cut(text, "${")
		if !found {
			plain.WriteString(text)
			break
		}
		if escaped, ok := strings.CutSuffix(before, "$"); ok {
			plain.WriteString(escaped + "${")
			text = rest
			continue
		}
		plain.WriteString(before)
		inside, after, closed := strings.Cut(rest, "}")
		if !closed {
			return nil, fmt.Errorf("the reference %q is not closed; write $${ for a text with ${", "${"+rest)
		}
		reference, ok := refer(inside, known)
		if !ok {
			return nil, fmt.Errorf("there is no action for the reference %q; write $${ for a text with ${", "${"+inside+"}")
		}
		if plain.Len() > 0 {
			pieces = append(pieces, piece{text: plain.String()})
			plain.Reset()
		}
		pieces = append(pieces, reference)
		text = after
	}
	if plain.Len() > 0 || len(pieces) == 0 {
		pieces = append(pieces, piece{text: plain.String()})
	}
	return pieces, nil
}

// refer parses a reference without its braces. The second result is false if the reference
// does not begin with a known id.
func refer(inside string, known func(string) bool) (piece, bool) {
	for end := len(inside); end > 0; end = strings.LastIndexByte(inside[:end], '.') {
		if !known(inside[:end]) {
			continue
		}
		p := piece{id: inside[:end]}
		if end < len(inside) {
			p.path = strings.Split(inside[end+1:], ".")
		}
		return p, true
	}
	return piece{}, false
}

// walk replaces every string in a value, except keys, with the result of visit.
func walk(value any, visit func(string) (any, error)) (any, error) {
	var err error
	switch v := value.(type) {
	case map[string]any:
		for key, e := range v {
			if v[key], err = walk(e, visit); err != nil {
				return nil, fmt.Errorf("%s: %w", key, err)
			}
		}
	case []any:
		for i, e := range v {
			if v[i], err = walk(e, visit); err != nil {
				return nil, fmt.Errorf("[%d]: %w", i, err)
			}
		}
	case string:
		return visit(v)
	}
	return value, nil
}

// read decodes one JSON value. Numbers keep their text.
func read(text []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var value any
	if err := dec.Decode(&value); err != nil {
		return nil, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one value")
	}
	return value, nil
}

// arguments decodes the arguments of an action.
func arguments(text json.RawMessage) (map[string]any, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		return map[string]any{}, nil
	}
	value, err := read(text)
	if err != nil {
		return nil, fmt.Errorf("the arguments are not JSON: %w", err)
	}
	object, ok := value.(map[string]any)
	if !ok {
		return nil, errors.New("the arguments are not an object")
	}
	return object, nil
}

// references returns the ids that arguments refer to, without duplicates.
func references(args json.RawMessage, known func(string) bool) ([]string, error) {
	object, err := arguments(args)
	if err != nil {
		return nil, err
	}
	var ids []string
	seen := map[string]bool{}
	_, err = walk(object, func(text string) (any, error) {
		pieces, err := split(text, known)
		for _, p := range pieces {
			if p.id != "" && !seen[p.id] {
				seen[p.id] = true
				ids = append(ids, p.id)
			}
		}
		return text, err
	})
	return ids, err
}

// inject returns arguments in which references are replaced by results. With asText, a
// reference is replaced by text even if it is the whole string.
func inject(args json.RawMessage, results map[string]Result, asText bool) (json.RawMessage, error) {
	object, err := arguments(args)
	if err != nil {
		return nil, err
	}
	known := func(id string) bool { _, ok := results[id]; return ok }
	if _, err = walk(object, func(text string) (any, error) {
		pieces, err := split(text, known)
		if err != nil {
			return nil, err
		}
		return compose(pieces, results, asText)
	}); err != nil {
		return nil, err
	}
	return json.Marshal(object)
}

// compose returns the value of a parsed string, with references replaced by results.
func compose(pieces []piece, results map[string]Result, asText bool) (any, error) {
	if len(pieces) == 1 && pieces[0].id == "" {
		return pieces[0].text, nil
	}
	var b strings.Builder
	for _, p := range pieces {
		if p.id == "" {
			b.WriteString(p.text)
			continue
		}
		value, err := p.find(results[p.id].Message)
		if err != nil {
			return nil, err
		}
		if len(pieces) == 1 && !asText {
			return value, nil
		}
		text, err := written(value)
		if err != nil {
			return nil, err
		}
		b.WriteString(text)
	}
	return b.String(), nil
}

// find returns the part of a result that the reference names: a JSON value, or the text of
// a result that is not JSON. A key in the path may contain dots.
func (p piece) find(message string) (any, error) {
	value, unread := read([]byte(message))
	if unread != nil {
		value = message
	}
	for i := 0; i < len(p.path); {
		inner, n, why := inside(value, p.path[i:])
		if why == "" && n > 0 {
			value, i = inner, i+n
			continue
		}
		if unread != nil {
			why = ", which is a text and not JSON"
		}
		at := strings.Join(append([]string{p.id}, p.path[:i+1]...), ".")
		return nil, fmt.Errorf("there is no %s in the result of %q%s", at, p.id, why)
	}
	return value, nil
}

// inside returns the part of a value that the first names of a path select. The result
// names is the number of these names, or 0 if there is no such part. In that case why may
// explain the reason.
func inside(value any, path []string) (part any, names int, why string) {
	switch v := value.(type) {
	case map[string]any:
		for n := range path {
			if part, ok := v[strings.Join(path[:n+1], ".")]; ok {
				return part, n + 1, ""
			}
		}
	case []any:
		if n, err := strconv.Atoi(path[0]); err == nil && n >= 0 && n < len(v) {
			return v[n], 1, ""
		}
		why = fmt.Sprintf(", a list of %d", len(v))
	}
	return nil, 0, why
}

// written returns a value as text: a string unchanged, any other value as JSON.
func written(value any) (string, error) {
	if text, ok := value.(string); ok {
		return text, nil
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(value)
	return strings.TrimSuffix(b.String(), "\n"), err
}
