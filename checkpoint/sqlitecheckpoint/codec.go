package sqlitecheckpoint

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"strings"

	"github.com/weft-go/weft/checkpoint"
)

// packID returns the stored form of an id: 16 bytes for a UUID as it is usually
// spelled, and text for anything else.
func packID(id string) any {
	if uuid, ok := packUUID(id); ok {
		return uuid
	}
	return id
}

func packUUID(id string) ([]byte, bool) {
	if len(id) != 36 || id[8] != '-' || id[13] != '-' || id[18] != '-' || id[23] != '-' {
		return nil, false
	}
	digits := make([]byte, 0, 32)
	for from := range strings.SplitSeq(id, "-") {
		digits = append(digits, from...)
	}
	uuid := digits[:16]
	if n, err := hex.Decode(uuid, digits); err != nil || n != 16 {
		return nil, false
	}
	// What would not come back the same, such as capitals, is text.
	return uuid, unpackUUID(uuid) == id
}

func unpackUUID(b []byte) string {
	var s [36]byte
	hex.Encode(s[:8], b[:4])
	hex.Encode(s[9:13], b[4:6])
	hex.Encode(s[14:18], b[6:8])
	hex.Encode(s[19:23], b[8:10])
	hex.Encode(s[24:], b[10:16])
	s[8], s[13], s[18], s[23] = '-', '-', '-', '-'
	return string(s[:])
}

func unpackID(stored any) (string, error) {
	switch v := stored.(type) {
	case string:
		return v, nil
	case []byte:
		if len(v) == 16 {
			return unpackUUID(v), nil
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
