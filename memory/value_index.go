package memory

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/weft-go/weft/memory/driver"
	"github.com/weft-go/weft/memory/internal/input"
	"github.com/weft-go/weft/memory/internal/rank"
	"github.com/weft-go/weft/memory/internal/search"
)

const (
	maxPaths        = 32
	maxPath         = 8
	maxIndexedValue = 16 << 10 // the bytes of a value's text that are indexed
)

func checkIndex(paths [][]string) error {
	if len(paths) > maxPaths {
		return fmt.Errorf("an index of %d paths, and %d are allowed: %w", len(paths), maxPaths, ErrInvalid)
	}
	for _, path := range paths {
		if len(path) > maxPath {
			return fmt.Errorf("a path of %d names, and %d are allowed: %w", len(path), maxPath, ErrInvalid)
		}
		for _, name := range path {
			if err := input.Name("field", name); err != nil {
				return err
			}
		}
	}
	return nil
}

// textOf returns the texts at some paths of a value, one on each line.
func textOf(value json.RawMessage, paths [][]string) string {
	if len(paths) == 0 {
		return ""
	}
	d := json.NewDecoder(bytes.NewReader(value))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return ""
	}
	var lines []string
	for _, path := range paths {
		lines = leaves(lines, v, path)
	}
	text := strings.Join(lines, "\n")
	if len(text) > maxIndexedValue {
		text = strings.ToValidUTF8(text[:maxIndexedValue], "")
	}
	return text
}

// leaves appends the texts and numbers at a path of a value.
func leaves(lines []string, v any, path []string) []string {
	switch v := v.(type) {
	case []any:
		for _, one := range v {
			lines = leaves(lines, one, path)
		}
	case map[string]any:
		if len(path) > 0 {
			return leaves(lines, v[path[0]], path[1:])
		}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			lines = leaves(lines, v[name], nil)
		}
	case string:
		if len(path) == 0 && v != "" {
			lines = append(lines, v)
		}
	case json.Number:
		if len(path) == 0 {
			lines = append(lines, v.String())
		}
	}
	return lines
}

// index sets the terms and the vectors of writes.
func (v *Values) index(ctx context.Context, writes []driver.ValueWrite, texts []string) error {
	var said []int
	for i, text := range texts {
		if text != "" {
			writes[i].Terms = rank.Terms(text)
			said = append(said, i)
		}
	}
	e := v.options.Embedder
	if e == nil || len(said) == 0 {
		return nil
	}
	kept := make([]string, len(said))
	for i, at := range said {
		kept[i] = texts[at]
	}
	vectors, err := search.Vectors(ctx, e, kept)
	if err != nil {
		return err
	}
	for i, at := range said {
		writes[at].Embedding, writes[at].Model = vectors[i], e.Model()
	}
	return nil
}
