package replaytest

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

var (
	placeholder = regexp.MustCompile(`<(time|str|num|any|[a-z]+:\d+)>`)
	variable    = regexp.MustCompile(`\$\{(\w+)\}`)
	index       = regexp.MustCompile(`\.\d+`)
)

const (
	uuidPattern = `[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}`
	timePattern = `\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)`
)

var (
	payloads     = []string{"values", "value", "input", "result"} // objects below these keys are compared exactly
	exactEvents  = []string{"values", "updates", "custom"}
	messageTypes = []string{"human", "ai", "tool", "system", "AIMessageChunk", "remove"}
)

// A matcher compares received values with recorded ones. It binds numbered placeholders.
type matcher struct {
	vars      map[string]any
	bound     map[string]string
	unordered []string
}

func newMatcher(vars map[string]any) *matcher {
	return &matcher{vars: vars, bound: map[string]string{}}
}

// attempt makes a comparison. If it finds differences, attempt undoes the bindings of the comparison.
func (m *matcher) attempt(f func() []string) []string {
	saved := maps.Clone(m.bound)
	diffs := f()
	if len(diffs) > 0 {
		m.bound = saved
	}
	return diffs
}

func (m *matcher) match(want, got any, path string, exact bool) []string {
	switch want := want.(type) {
	case string:
		return m.text(want, got, path)
	case map[string]any:
		return m.object(want, got, path, exact)
	case []any:
		return m.array(want, got, path, exact)
	}
	if want != got {
		return []string{fmt.Sprintf("%s: want %s, got %s", path, short(want), short(got))}
	}
	return nil
}

func (m *matcher) text(want string, got any, path string) []string {
	want = variable.ReplaceAllStringFunc(want, func(v string) string {
		if value, ok := m.vars[v[2:len(v)-1]]; ok {
			return fmt.Sprint(value)
		}
		return v
	})
	different := []string{fmt.Sprintf("%s: want %s, got %s", path, short(want), short(got))}
	if want == "<any>" {
		return nil
	}
	if _, ok := got.(float64); want == "<num>" && ok {
		return nil
	}
	text, ok := got.(string)
	if !ok {
		return different
	}
	names, pattern := patternOf(want)
	found := pattern.FindStringSubmatch(text)
	if found == nil {
		return different
	}
	for i, name := range names {
		if diff := m.bind(name, found[i+1]); diff != "" {
			return []string{path + ": " + diff}
		}
	}
	return nil
}

// patternOf returns a regular expression for a text with placeholders, and their names.
func patternOf(want string) (names []string, pattern *regexp.Regexp) {
	var b strings.Builder
	b.WriteString("^")
	last := 0
	for _, at := range placeholder.FindAllStringSubmatchIndex(want, -1) {
		b.WriteString(regexp.QuoteMeta(want[last:at[0]]))
		name := want[at[2]:at[3]]
		last = at[1]
		names = append(names, name)
		kind, _, _ := strings.Cut(name, ":")
		switch kind {
		case "time":
			b.WriteString("(" + timePattern + ")")
		case "id", "interrupt", "seq":
			b.WriteString("(.+?)")
		case "str", "any":
			b.WriteString("((?s:.*))")
		default:
			b.WriteString("(" + uuidPattern + ")")
		}
	}
	b.WriteString(regexp.QuoteMeta(want[last:]) + "$")
	return names, regexp.MustCompile(b.String())
}

// bind binds a numbered placeholder to a text. If it cannot, it returns the reason.
func (m *matcher) bind(name, value string) string {
	if !strings.Contains(name, ":") {
		return ""
	}
	if before, ok := m.bound[name]; ok {
		if before != value {
			return fmt.Sprintf("<%s> was %s, now %s", name, before, value)
		}
		return ""
	}
	for other, v := range m.bound {
		if v == value {
			return fmt.Sprintf("<%s> is the same as <%s>", name, other)
		}
	}
	m.bound[name] = value
	return ""
}

func (m *matcher) array(want []any, got any, path string, exact bool) []string {
	list, ok := got.([]any)
	if !ok || len(list) != len(want) {
		return []string{fmt.Sprintf("%s: want %s, got %s", path, short(want), short(got))}
	}
	var diffs []string
	if !slices.Contains(m.unordered, index.ReplaceAllString(path, "")) {
		for i := range want {
			diffs = append(diffs, m.match(want[i], list[i], fmt.Sprintf("%s.%d", path, i), exact)...)
		}
		return diffs
	}
	rest := slices.Clone(list)
	for i, w := range want {
		at := slices.IndexFunc(rest, func(g any) bool {
			return len(m.attempt(func() []string { return m.match(w, g, fmt.Sprintf("%s.%d", path, i), exact) })) == 0
		})
		if at < 0 {
			diffs = append(diffs, fmt.Sprintf("%s: no item like %s", path, short(w)))
			continue
		}
		rest = slices.Delete(rest, at, at+1)
	}
	return diffs
}

func (m *matcher) object(want map[string]any, value any, path string, exact bool) []string {
	got, ok := value.(map[string]any)
	if !ok {
		return []string{fmt.Sprintf("%s: want %s, got %s", path, short(want), short(value))}
	}
	if isMessage(want) {
		exact, want, got = false, withoutEmpty(want), maps.Clone(got)
		got["content"] = flat(got["content"])
	}
	var diffs []string
	left := map[string]bool{}
	for k := range got {
		left[k] = true
	}
	for _, key := range orderedKeys(want) {
		diffs = append(diffs, m.field(want[key], got, left, key, path, exact)...)
	}
	if exact && len(left) > 0 {
		diffs = append(diffs, fmt.Sprintf("%s: unexpected %v", path, slices.Sorted(maps.Keys(left))))
	}
	return diffs
}

// field finds the field of an object that matches a key, which may contain placeholders.
func (m *matcher) field(want any, got map[string]any, left map[string]bool, key, path string, exact bool) []string {
	candidates := []string{}
	if _, ok := got[key]; ok {
		candidates = append(candidates, key)
	}
	if placeholder.MatchString(key) || variable.MatchString(key) {
		candidates = slices.Sorted(maps.Keys(left))
	}
	diffs := []string{fmt.Sprintf("%s.%s: missing", path, key)}
	for _, k := range candidates {
		found := m.attempt(func() []string {
			if k != key {
				if d := m.text(key, k, path+"."+key); len(d) > 0 {
					return d
				}
			}
			return m.match(want, got[k], path+"."+key, !strings.HasPrefix(key, "__") && (exact || slices.Contains(payloads, key)))
		})
		if len(found) == 0 {
			delete(left, k)
			return nil
		}
		if k == key || len(candidates) == 1 {
			diffs = found
		}
	}
	delete(left, key)
	return diffs
}

// orderedKeys returns the keys of an object. Keys with placeholders are last.
func orderedKeys(want map[string]any) []string {
	keys := slices.Sorted(maps.Keys(want))
	slices.SortStableFunc(keys, func(a, b string) int {
		x, y := placeholder.MatchString(a), placeholder.MatchString(b)
		switch {
		case x == y:
			return 0
		case x:
			return 1
		}
		return -1
	})
	return keys
}

func isMessage(v map[string]any) bool {
	kind, _ := v["type"].(string)
	_, ok := v["content"]
	return ok && slices.Contains(messageTypes, kind)
}

// withoutEmpty returns a message without the fields that are null, an empty list or an empty object: they may be
// absent.
func withoutEmpty(v map[string]any) map[string]any {
	out := maps.Clone(v)
	maps.DeleteFunc(out, func(_ string, v any) bool {
		switch v := v.(type) {
		case nil:
			return true
		case []any:
			return len(v) == 0
		case map[string]any:
			return len(v) == 0
		}
		return false
	})
	return out
}

// flat returns the text of the content of a message, if it is a list of blocks.
func flat(content any) any {
	list, ok := content.([]any)
	if !ok {
		return content
	}
	var b strings.Builder
	for _, item := range list {
		block, ok := item.(map[string]any)
		if !ok || block["type"] == nil {
			return content
		}
		if text, ok := block["text"].(string); ok && block["type"] == "text" {
			b.WriteString(text)
		}
	}
	return b.String()
}

func short(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	if len(data) > 400 {
		return string(data[:400]) + "…"
	}
	return string(data)
}
