package pgmemory

import (
	"bytes"
	"encoding/json"
	"errors"
	"math/big"
	"strconv"
	"strings"
)

// plainJSON returns a JSON value as the database can hold it, so that it compares as
// [memory.Condition.Match] does: without repeated names and halves of characters, and with
// numbers of at most 256 bits.
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
	case []any:
		for i := range v {
			v[i] = plainValue(v[i])
		}
	case map[string]any:
		for name := range v {
			v[name] = plainValue(v[name])
		}
	}
	return v
}

const (
	plainDigits   = 60     // so many fit into 256 bits
	plainExponent = 16_000 // more digits behind the point the database does not keep
)

// plainNumber returns the number, or a text for one beyond what any program means.
func plainNumber(n json.Number) any {
	text := string(n)
	mantissa, exponent, _ := strings.Cut(strings.ToLower(text), "e")
	power, err := strconv.Atoi(exponent)
	if exponent == "" {
		power, err = 0, nil
	}
	if err == nil && len(mantissa) <= plainDigits && power > -plainExponent/2 && power < plainExponent/2 {
		return n
	}
	f, _, err := big.ParseFloat(text, 10, 256, big.ToNearestEven)
	if err != nil || f.IsInf() {
		return "number " + text
	}
	if f.Sign() == 0 {
		return json.Number("0")
	}
	if e := f.MantExp(nil); e > 3*plainExponent || e < -3*plainExponent {
		return "number " + f.Text('e', 80)
	}
	return json.Number(f.Text('e', 80))
}

var errNoJSON = errors.New("no JSON")

// jsonAt returns the SQL for what is at a path of fields. It is null where there is nothing.
func jsonAt(path []string, a *args) string {
	text := `f.metadata`
	for _, name := range path {
		text = `(` + text + ` -> ` + a.add(name, "text") + `)`
	}
	return text
}
