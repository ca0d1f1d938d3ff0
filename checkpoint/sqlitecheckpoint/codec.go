package sqlitecheckpoint

import (
	"bytes"
	"fmt"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/internal/uuid"
)

// packID returns the stored form of an id: 16 bytes for a UUID in its canonical
// spelling, and text for any other id.
func packID(id string) any {
	if packed, ok := uuid.Pack(id); ok {
		return packed[:]
	}
	return id
}

func unpackID(stored any) (string, error) {
	switch v := stored.(type) {
	case string:
		return v, nil
	case []byte:
		if len(v) == 16 {
			return uuid.Unpack([16]byte(v)), nil
		}
	}
	return "", fmt.Errorf("stored id: %w", checkpoint.ErrCorrupt)
}

// before reports whether SQLite sorts a before b: text comes before blobs.
func before(a, b any) bool {
	at, aText := a.(string)
	bt, bText := b.(string)
	switch {
	case aText && bText:
		return at < bt
	case aText != bText:
		return aText
	}
	ab, _ := a.([]byte)
	bb, _ := b.([]byte)
	return bytes.Compare(ab, bb) < 0
}

// sources has the sources that are stored as a number. The number is the index in this
// slice. The numbers are part of the file format.
var sources = []checkpoint.Source{checkpoint.Loop, checkpoint.Input, checkpoint.Edited, checkpoint.Fork}

func packSource(s checkpoint.Source) any {
	for i, known := range sources {
		if s == known {
			return int64(i)
		}
	}
	return string(s)
}

func unpackSource(stored any) (checkpoint.Source, error) {
	switch v := stored.(type) {
	case string:
		return checkpoint.Source(v), nil
	case int64:
		if v >= 0 && v < int64(len(sources)) {
			return sources[v], nil
		}
	}
	return "", fmt.Errorf("stored source: %w", checkpoint.ErrCorrupt)
}
