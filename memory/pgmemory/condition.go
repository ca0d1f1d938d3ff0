package pgmemory

import (
	"encoding/json"
	"fmt"

	"github.com/weft-go/weft/memory/driver"
)

// condition returns SQL that is true for the rows whose column [driver.Condition.Match] accepts. Field
// names and values are arguments of the statement.
func condition(column string, c driver.Condition, a *args) (string, error) {
	at := func() string { return jsonAt(column, c.Path, a) }
	switch c.Op {
	case driver.Exists:
		return at() + ` IS NOT NULL`, nil
	case driver.In:
		texts, err := plainList(c.Value)
		if err != nil {
			return "", fmt.Errorf("condition on %q: %w: %w", c.Path, driver.ErrInvalid, err)
		}
		return at() + ` = ANY (` + a.addOnce(texts, "text[]", "jsonb[]") + `::jsonb[])`, nil
	}
	value, err := plainJSON(c.Value)
	if err != nil {
		return "", fmt.Errorf("condition on %q: %w: %w", c.Path, driver.ErrInvalid, err)
	}
	switch c.Op {
	case driver.Equal:
		return at() + ` = ` + a.addOnce(value, "text", "jsonb"), nil
	case driver.NotEqual:
		return at() + ` IS DISTINCT FROM ` + a.addOnce(value, "text", "jsonb"), nil
	case driver.Has:
		list := at()
		return `CASE WHEN jsonb_typeof(` + list + `) = 'array' THEN EXISTS (SELECT FROM jsonb_array_elements(` + list + `) e WHERE e = ` +
			a.addOnce(value, "text", "jsonb") + `) END`, nil
	case driver.Less, driver.LessEqual, driver.Greater, driver.GreaterEqual:
		return column + ` @@ ` + a.addOnce(orderPath(c, value), "text", "jsonpath"), nil
	}
	return "", fmt.Errorf("comparison %.20q: %w", string(c.Op), driver.ErrInvalid)
}

// plainList returns each value of a JSON array in the form of plainJSON.
func plainList(data []byte) ([]string, error) {
	var list []json.RawMessage
	if err := json.Unmarshal(data, &list); err != nil {
		return nil, err
	}
	texts := make([]string, len(list))
	for i, item := range list {
		var err error
		if texts[i], err = plainJSON(item); err != nil {
			return nil, err
		}
	}
	return texts, nil
}

// orderPath returns an SQL/JSON path that compares two numbers, or two texts by their bytes. A path is
// faster than an expression that extracts the value, if there is no index. In strict mode, a value
// that is not an object has no fields, and values that cannot be compared are not selected.
func orderPath(c driver.Condition, value string) string {
	b := []byte("strict $")
	for _, name := range c.Path {
		quoted, _ := json.Marshal(name) // a string can always be encoded
		b = append(append(b, '.'), quoted...)
	}
	return string(b) + ` ` + string(c.Op) + ` ` + value
}
