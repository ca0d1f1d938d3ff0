package eval

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"
)

// JSON compares the text of the answer, which must be JSON, with [Case.Want]. Score.Value is the number of equal leaves
// divided by the number of all leaves. A leaf is a string, number, boolean, null, or empty object or list. The order of
// fields and the form of numbers do not matter. The reason names the JSON pointers (RFC 6901) of the first differences.
func JSON() Scorer {
	return NewScorer("json", func(_ context.Context, c Case, a Answer) (Score, error) {
		if err := c.needsWant(); err != nil {
			return Score{}, err
		}
		want, err := decode(c.Want)
		if err != nil {
			return Score{}, fmt.Errorf("case %q: %w: %w", c.Name, ErrInvalid, err)
		}
		got, err := decode([]byte(a.Text))
		if err != nil {
			return Score{Reason: fmt.Sprintf("the answer is not JSON: %v", err)}, nil
		}
		var d difference
		d.compare("", want, got)
		return d.score(), nil
	})
}

func decode(data []byte) (v any, err error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	if d.More() {
		return nil, fmt.Errorf("text after the JSON value at offset %d", d.InputOffset())
	}
	return v, nil
}

// A difference counts the leaves of two JSON values.
type difference struct {
	leaves, equal int
	reasons       []string
}

// maxReasons is the maximum number of differences in a reason.
const maxReasons = 5

func (d *difference) score() Score {
	reason := strings.Join(d.reasons[:min(len(d.reasons), maxReasons)], "; ")
	if more := len(d.reasons) - maxReasons; more > 0 {
		reason += fmt.Sprintf("; and %d more", more)
	}
	return Score{Value: float64(d.equal) / float64(max(1, d.leaves)), Reason: reason}
}

func (d *difference) compare(path string, want, got any) {
	switch w := want.(type) {
	case map[string]any:
		if g, ok := got.(map[string]any); ok && len(w)+len(g) > 0 {
			d.objects(path, w, g)
			return
		}
	case []any:
		if g, ok := got.([]any); ok && len(w)+len(g) > 0 {
			d.lists(path, w, g)
			return
		}
	}
	if sameLeaf(want, got) {
		d.leaves++
		d.equal++
		return
	}
	d.leaves += max(leaves(want), leaves(got))
	d.reasons = append(d.reasons, fmt.Sprintf("%s: got %s, want %s", pointer(path), brief(got), brief(want)))
}

func (d *difference) objects(path string, want, got map[string]any) {
	names := maps.Clone(want)
	maps.Copy(names, got)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		at := path + "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
		w, wanted := want[name]
		g, given := got[name]
		switch {
		case wanted && given:
			d.compare(at, w, g)
		case wanted:
			d.missing(at, "is missing", w)
		default:
			d.missing(at, "is not expected", g)
		}
	}
}

func (d *difference) lists(path string, want, got []any) {
	for i := range max(len(want), len(got)) {
		at := path + "/" + strconv.Itoa(i)
		switch {
		case i >= len(got):
			d.missing(at, "is missing", want[i])
		case i >= len(want):
			d.missing(at, "is not expected", got[i])
		default:
			d.compare(at, want[i], got[i])
		}
	}
}

func (d *difference) missing(path, reason string, v any) {
	d.leaves += leaves(v)
	d.reasons = append(d.reasons, path+" "+reason)
}

func pointer(path string) string {
	if path == "" {
		return "the value"
	}
	return path
}

func brief(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	if len(data) > 80 {
		return strings.ToValidUTF8(string(data[:80]), "") + "…"
	}
	return string(data)
}

func leaves(v any) (n int) {
	switch v := v.(type) {
	case map[string]any:
		for _, one := range v {
			n += leaves(one)
		}
	case []any:
		for _, one := range v {
			n += leaves(one)
		}
	}
	return max(1, n)
}

// sameLeaf reports whether two values without elements are equal. The numbers 1, 1.0 and 1e0 are equal.
func sameLeaf(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		other, ok := b.(map[string]any)
		return ok && len(a)+len(other) == 0
	case []any:
		other, ok := b.([]any)
		return ok && len(a)+len(other) == 0
	case json.Number:
		other, ok := b.(json.Number)
		return ok && sameNumber(a.String(), other.String())
	}
	switch b.(type) {
	case map[string]any, []any, json.Number:
		return false
	}
	return a == b
}

// maxExponent limits the exponent of numbers that are compared by value, since a huge exponent would need gigabytes of
// memory.
const maxExponent = 400

func sameNumber(a, b string) bool {
	if a == b {
		return true
	}
	for _, n := range []string{a, b} {
		if i := strings.IndexAny(n, "eE"); i >= 0 {
			if e, err := strconv.Atoi(n[i+1:]); err != nil || e > maxExponent || e < -maxExponent {
				return false
			}
		}
	}
	x, okX := new(big.Rat).SetString(a)
	y, okY := new(big.Rat).SetString(b)
	return okX && okY && x.Cmp(y) == 0
}
