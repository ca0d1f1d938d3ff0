package shape

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// maxProblems is how many problems are named.
const maxProblems = 10

// Check reads a value and returns it as it should be decoded, or the problems
// with it in words that a model can act on. A null for a field that is not
// required counts as absent, and a whole number may be written as 5.0. Of a key
// that comes twice the last value counts.
func (s *Shape) Check(text []byte) (json.RawMessage, []string) {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var value any
	if err := dec.Decode(&value); err != nil {
		return nil, []string{"not valid JSON: " + err.Error()}
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, []string{"not valid JSON: more than one value"}
	}
	var c checker
	value = c.check(s, value, "")
	if more := len(c.problems) - maxProblems; more > 0 {
		c.problems = append(c.problems[:maxProblems], fmt.Sprintf("and %d more", more))
	}
	if len(c.problems) > 0 {
		return nil, c.problems
	}
	out, err := json.Marshal(value)
	if err != nil {
		return nil, []string{err.Error()}
	}
	return out, nil
}

type checker struct{ problems []string }

func (c *checker) add(path, format string, args ...any) {
	if path == "" {
		path = "the answer"
	}
	c.problems = append(c.problems, path+": "+fmt.Sprintf(format, args...))
}

// check returns the value as it should be decoded.
func (c *checker) check(s *Shape, value any, path string) any {
	if s.Kind == Any {
		return value
	}
	switch v := value.(type) {
	case map[string]any:
		if s.Kind == Object {
			return c.object(s, v, path)
		}
	case []any:
		if s.Kind == Array {
			return c.array(s, v, path)
		}
	case string:
		if s.Kind == String {
			if _, err := time.Parse(time.RFC3339, v); s.Format == "date-time" && err != nil {
				c.add(path, "want a time such as 2006-01-02T15:04:05Z, got %s", shown(v))
			}
			return v
		}
	case bool:
		if s.Kind == Boolean {
			return v
		}
	case json.Number:
		if s.Kind == Number {
			return v
		}
		if s.Kind == Integer {
			return c.integer(s, v, path)
		}
	}
	c.add(path, "want %s, got %s", wanted(s), shown(value))
	return value
}

func (c *checker) integer(s *Shape, n json.Number, path string) any {
	if f, err := n.Float64(); err == nil && f == math.Trunc(f) && math.Abs(f) < 1<<53 {
		n = json.Number(strconv.FormatInt(int64(f), 10))
	}
	if strings.ContainsAny(n.String(), ".eE") || s.Unsigned && strings.HasPrefix(n.String(), "-") {
		c.add(path, "want %s, got %s", wanted(s), n)
	}
	return n
}

func (c *checker) object(s *Shape, object map[string]any, path string) any {
	if s.Elem != nil {
		for _, key := range slices.Sorted(maps.Keys(object)) {
			object[key] = c.check(s.Elem, object[key], join(path, key))
		}
		return object
	}
	var names []string
	for _, f := range s.Fields {
		names = append(names, f.Name)
		value, ok := object[f.Name]
		switch {
		case value == nil && ok && !f.Required:
			delete(object, f.Name)
		case ok:
			object[f.Name] = c.check(f.Shape, value, join(path, f.Name))
		case f.Required:
			c.add(join(path, f.Name), "is missing; want %s", wanted(f.Shape))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(object)) {
		if !slices.Contains(names, key) {
			c.add(join(path, key), "there is no such field; the fields are %s", strings.Join(names, ", "))
		}
	}
	return object
}

func (c *checker) array(s *Shape, array []any, path string) any {
	if s.Len > 0 && len(array) != s.Len {
		c.add(path, "want %d elements, got %d", s.Len, len(array))
	}
	for i, e := range array {
		array[i] = c.check(s.Elem, e, fmt.Sprintf("%s[%d]", path, i))
	}
	return array
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func wanted(s *Shape) string {
	switch {
	case s.Kind == Any:
		return "a value"
	case s.Unsigned:
		return "an integer of at least 0"
	case s.Kind == Integer, s.Kind == Object, s.Kind == Array:
		return "an " + s.Kind
	default:
		return "a " + s.Kind
	}
}

// shown is a value in few words.
func shown(value any) string {
	switch v := value.(type) {
	case nil:
		return "null"
	case map[string]any:
		return "an object"
	case []any:
		return "an array"
	case string:
		const longest = 40
		if r := []rune(v); len(r) > longest {
			v = string(r[:longest]) + "…"
		}
		return "the string " + strconv.Quote(v)
	default:
		return fmt.Sprint(v)
	}
}
