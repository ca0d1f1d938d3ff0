package sqlitecheckpoint

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/internal/uuid"
)

// packID returns the stored form of an id: 16 bytes for a UUID as it is usually
// spelled, and text for anything else.
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

// sources are the numbers under which the known ones are stored. They never
// change.
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
		return "", fmt.Errorf("source %d: %w", v, checkpoint.ErrFormat)
	}
	return "", fmt.Errorf("stored source: %w", checkpoint.ErrCorrupt)
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

const sealSize = crc32.Size

// A header is what a checksum ties to the control of a checkpoint, so that
// damage to either is found.
type header struct {
	id, parent string
	step       int
	source     checkpoint.Source
	time       int64
}

// appendControl appends the stored form of a control. It keeps nil from empty.
func appendControl(dst []byte, h *header, control []byte) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, h.seal(control, control == nil))
	return append(dst, control...)
}

func parseControl(stored []byte, h *header) ([]byte, error) {
	if len(stored) >= sealSize {
		sum, control := binary.LittleEndian.Uint32(stored), stored[sealSize:]
		if sum == h.seal(control, false) {
			return control, nil
		}
		if len(control) == 0 && sum == h.seal(nil, true) {
			return nil, nil
		}
	}
	return nil, fmt.Errorf("checksum of its header: %w", checkpoint.ErrCorrupt)
}

func (h *header) seal(control []byte, isNil bool) uint32 {
	var buf [192]byte
	b := appendSized(buf[:0], h.id)
	b = appendSized(b, h.parent)
	b = appendSized(b, string(h.source))
	b = binary.AppendVarint(b, int64(h.step))
	b = binary.AppendVarint(b, h.time)
	if isNil {
		b = append(b, 1)
	} else {
		b = append(b, 0)
	}
	return crc32.Update(crc32.Checksum(b, castagnoli), castagnoli, control)
}

func appendSized(dst []byte, s string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}
