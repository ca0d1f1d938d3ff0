package pgmemory

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/weft-go/weft/memory"
)

// condition returns the SQL for what [memory.Condition.Match] tells of a column. Names and values are values
// of the statement.
func condition(column string, c memory.Condition, a *args) (string, error) {
	at := jsonAt(column, c.Path, a)
	if c.Op == memory.Exists {
		return at + ` IS NOT NULL`, nil
	}
	if c.Op == memory.In {
		var list []json.RawMessage
		if err := json.Unmarshal(c.Value, &list); err != nil {
			return "", fmt.Errorf("condition on %q: %w: %w", c.Path, memory.ErrInvalid, err)
		}
		texts := make([]string, len(list))
		for i, item := range list {
			var err error
			if texts[i], err = plainJSON(item); err != nil {
				return "", err
			}
		}
		return at + ` = ANY (` + a.add(texts, "text[]") + `::jsonb[])`, nil
	}
	value, err := plainJSON(c.Value)
	if err != nil {
		return "", fmt.Errorf("condition on %q: %w: %w", c.Path, memory.ErrInvalid, err)
	}
	switch c.Op {
	case memory.Equal:
		return at + ` = ` + a.add(value, "text") + `::jsonb`, nil
	case memory.NotEqual:
		return at + ` IS DISTINCT FROM ` + a.add(value, "text") + `::jsonb`, nil
	case memory.Has:
		return `CASE WHEN jsonb_typeof(` + at + `) = 'array' THEN EXISTS (SELECT FROM jsonb_array_elements(` + at + `) e WHERE e = ` +
			a.add(value, "text") + `::jsonb) END`, nil
	case memory.Less, memory.LessEqual, memory.Greater, memory.GreaterEqual:
		return order(c.Op, at, value, a)
	}
	return "", fmt.Errorf("comparison %.20q: %w", string(c.Op), memory.ErrInvalid)
}

// order compares two numbers, or two texts by their bytes.
func order(op memory.Op, at, value string, a *args) (string, error) {
	if !strings.HasPrefix(value, `"`) {
		return `CASE WHEN jsonb_typeof(` + at + `) = 'number' THEN ` + at + `::numeric ` + string(op) + ` ` + a.add(value, "text") + `::numeric END`, nil
	}
	var text string
	if err := json.Unmarshal([]byte(value), &text); err != nil {
		return "", fmt.Errorf("value %.40s: %w: %w", value, memory.ErrInvalid, err)
	}
	return `CASE WHEN jsonb_typeof(` + at + `) = 'string' THEN (` + at + ` #>> '{}') COLLATE "C" ` + string(op) + ` ` + a.add(text, "text") + ` END`, nil
}
