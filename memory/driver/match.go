package driver

import (
	"bytes"
	"cmp"
	"encoding/json"
	"math/big"
	"slices"
)

func parse(data json.RawMessage) (v any, ok bool) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	return v, d.Decode(&v) == nil
}

// compare orders two numbers or two texts.
func compare(a, b any) (order int, ok bool) {
	switch a := a.(type) {
	case string:
		b, ok := b.(string)
		return cmp.Compare(a, b), ok
	case json.Number:
		b, ok := b.(json.Number)
		if !ok {
			return 0, false
		}
		return compareNumbers(string(a), string(b))
	}
	return 0, false
}

// compareNumbers compares numbers exactly, unless an exponent is extreme.
func compareNumbers(a, b string) (order int, ok bool) {
	x, _, err1 := big.ParseFloat(a, 10, 256, big.ToNearestEven)
	y, _, err2 := big.ParseFloat(b, 10, 256, big.ToNearestEven)
	if err1 != nil || err2 != nil {
		return 0, false
	}
	return x.Cmp(y), true
}

// same compares JSON values. Numbers are compared by value.
func same(a, b any) bool {
	switch a := a.(type) {
	case json.Number:
		order, ok := compare(a, b)
		return ok && order == 0
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, same)
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for k, v := range a {
			if w, ok := b[k]; !ok || !same(v, w) {
				return false
			}
		}
		return true
	}
	return a == b
}
