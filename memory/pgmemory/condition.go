package pgmemory

import (
	"encoding/json"
	"fmt"

	"github.com/weft-go/weft/memory/driver"
)

// condition returns the SQL for what [driver.Condition.Match] tells of a column. Names and values are values
// of the statement.
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

// plainList returns the values of a list, each as [plainJSON] does.
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

// orderPath compares two numbers, or two texts by their bytes, as a path of SQL/JSON: it is quicker than to take
// the value out, which is most of the work where there is no index for it. Strictly, what is no object
// has no fields, and what can not be compared is not selected.
func orderPath(c driver.Condition, value string) string {
	b := []byte("strict $")
	for _, name := range c.Path {
		quoted, _ := json.Marshal(name) // a text always has a spelling
		b = append(append(b, '.'), quoted...)
	}
	return string(b) + ` ` + string(c.Op) + ` ` + value
}
