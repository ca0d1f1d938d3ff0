package pgmemory

import (
	"bytes"
	"encoding/json"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"
)

// plainJSON returns a JSON value in a form that jsonb can store, and for which comparisons agree
// with [driver.Condition.Match]: it has no repeated names and no unpaired surrogates, and numbers
// of at most 256 bits. It removes NULs, which only messages can have.
func plainJSON(data []byte) (string, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return "", err
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(plainValue(v)); err != nil {
		return "", err
	}
	return strings.TrimSpace(b.String()), nil
}

func plainValue(v any) any {
	switch v := v.(type) {
	case json.Number:
		return plainNumber(v)
	case string:
		return strings.ReplaceAll(v, "\x00", "")
	case []any:
		for i := range v {
			v[i] = plainValue(v[i])
		}
	case map[string]any:
		for _, name := range slices.Collect(maps.Keys(v)) {
			value := plainValue(v[name])
			delete(v, name)
			v[strings.ReplaceAll(name, "\x00", "")] = value
		}
	}
	return v
}

const (
	plainDigits   = 60   // decimal digits that fit into 256 bits
	plainExponent = 8000 // numbers up to this exponent are stored unchanged

	// PostgreSQL cannot store numbers beyond these limits. Larger numbers, and numbers nearer to
	// zero, are replaced by the limit.
	most, mostBits   = "1e131000", 435_000
	least, leastBits = "1e-16000", -53_000
)

// plainNumber returns a number of at most 256 bits.
func plainNumber(n json.Number) json.Number {
	text := string(n)
	mantissa, exponent, found := strings.Cut(strings.ToLower(text), "e")
	power, err := 0, error(nil)
	if found {
		power, err = strconv.Atoi(exponent)
	}
	if err == nil && len(mantissa) <= plainDigits && -plainExponent < power && power < plainExponent {
		return n
	}
	sign := ""
	if text[0] == '-' {
		sign = "-"
	}
	f, _, err := big.ParseFloat(text, 10, 256, big.ToNearestEven)
	switch {
	case err != nil && strings.HasPrefix(exponent, "-"):
		return json.Number(sign + least)
	case err != nil || f.IsInf():
		return json.Number(sign + most)
	case f.Sign() == 0:
		return "0"
	}
	switch bits := f.MantExp(nil); {
	case bits < leastBits:
		return json.Number(sign + least)
	case bits > mostBits:
		return json.Number(sign + most)
	}
	return json.Number(f.Text('e', 80))
}

// jsonAt returns SQL for the value at a path of fields of a column. It is null if there is no
// value.
func jsonAt(column string, path []string, a *args) string {
	text := column
	for _, name := range path {
		text = `(` + text + ` -> ` + a.add(name, "text") + `)`
	}
	return text
}
