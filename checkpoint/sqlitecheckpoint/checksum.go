package sqlitecheckpoint

import (
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"

	"github.com/weft-go/weft/checkpoint"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// A header holds the columns that the checksum of a control covers.
type header struct {
	id, parent string
	step       int
	source     checkpoint.Source
	time       int64
	// The first version of the format does not cover the following columns.
	namespace string
	origin    []byte // the digest of the origin
	number    int64
}

// appendControl appends the stored form of a control: a checksum and the control.
// A nil and an empty control have different checksums.
func appendControl(dst []byte, h *header, control []byte) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, h.sum(control, control == nil, false))
	return append(dst, control...)
}

// parseControl verifies the header and returns the control. It accepts both
// versions of the checksum.
func parseControl(stored []byte, h *header) ([]byte, error) {
	if len(stored) >= crc32.Size {
		sum, control := binary.LittleEndian.Uint32(stored), stored[crc32.Size:]
		for _, first := range []bool{false, true} {
			if sum == h.sum(control, false, first) {
				return control, nil
			}
			if len(control) == 0 && sum == h.sum(nil, true, first) {
				return nil, nil
			}
		}
	}
	return nil, fmt.Errorf("checksum of its header: %w", checkpoint.ErrCorrupt)
}

// sum returns the checksum of the header and a control. A nil control, for which isNil is true,
// and an empty control have different checksums. If first is true, the checksum is in the first
// version of the format.
func (h *header) sum(control []byte, isNil, first bool) uint32 {
	var buf [256]byte
	b := appendSized(buf[:0], h.id)
	b = appendSized(b, h.parent)
	b = appendSized(b, string(h.source))
	b = binary.AppendVarint(b, int64(h.step))
	b = binary.AppendVarint(b, h.time)
	if !first {
		b = appendSized(b, h.namespace)
		b = append(b, h.origin...)
		b = binary.AppendVarint(b, h.number)
	}
	b = appendFlags(b, isNil)
	return crc32.Update(crc32.Checksum(b, castagnoli), castagnoli, control)
}

// A layout holds the columns of a row that decide how its lineage is read.
type layout struct {
	key, parent              int64 // parent is 0 for none
	id                       string
	source                   checkpoint.Source
	whole, snapshot, hasBase bool
}

// seal returns the checksum for the column seal. A copy of the row in another thread has
// the same checksum.
func (l *layout) seal() int64 {
	var buf [128]byte
	b := binary.AppendVarint(buf[:0], numberOf(l.key))
	b = binary.AppendVarint(b, parentBack(l.key, l.parent))
	b = appendSized(b, l.id)
	b = appendSized(b, string(l.source))
	b = appendFlags(b, l.whole, l.snapshot, l.hasBase)
	return int64(crc32.Checksum(b, castagnoli))
}

// verify returns [checkpoint.ErrCorrupt] if the stored checksum is not the checksum of l. It
// accepts NULL, because rows of the first version have no checksum.
func (l *layout) verify(stored sql.NullInt64) error {
	if stored.Valid && stored.Int64 != l.seal() {
		return fmt.Errorf("checksum of checkpoint %q in a lineage: %w", l.id, checkpoint.ErrCorrupt)
	}
	return nil
}

// A threadRow is a row of cp_thread.
type threadRow struct {
	key              int64
	id               string
	created, missing int64
}

func (t *threadRow) seal() int64 {
	b := binary.AppendVarint(nil, t.key)
	b = appendSized(b, t.id)
	b = binary.AppendVarint(b, t.created)
	b = binary.AppendVarint(b, t.missing)
	return int64(crc32.Checksum(b, castagnoli))
}

// verify returns [checkpoint.ErrCorrupt] if the stored checksum is not the checksum of t. It
// accepts NULL, because rows of the first version have no checksum.
func (t *threadRow) verify(stored sql.NullInt64) error {
	if stored.Valid && stored.Int64 != t.seal() {
		return fmt.Errorf("checksum of the row of thread %q: %w", t.id, checkpoint.ErrCorrupt)
	}
	return nil
}

func appendSized(dst []byte, s string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}

func appendFlags(dst []byte, flags ...bool) []byte {
	for _, f := range flags {
		if f {
			dst = append(dst, 1)
		} else {
			dst = append(dst, 0)
		}
	}
	return dst
}

// parseChanges is [checkpoint.ParseChanges], but reports a damaged format byte as
// [checkpoint.ErrCorrupt].
func parseChanges(b []byte) ([]checkpoint.Change, error) {
	return parseFrame(b, checkpoint.ParseChanges)
}

// parseDeltas is [checkpoint.ParseDeltas], but reports a damaged format byte as
// [checkpoint.ErrCorrupt].
func parseDeltas(b []byte) ([]checkpoint.Delta, error) {
	return parseFrame(b, checkpoint.ParseDeltas)
}

// frameFormat is the format byte of the frames that this version writes.
var frameFormat = checkpoint.AppendChanges(nil, nil)[0]

func parseFrame[T any](b []byte, parse func([]byte) ([]T, error)) ([]T, error) {
	parsed, err := parse(b)
	if !errors.Is(err, checkpoint.ErrFormat) {
		return parsed, err
	}
	mended := slices.Clone(b)
	mended[0] = frameFormat
	if _, e := parse(mended); e == nil {
		return nil, fmt.Errorf("format byte of a frame: %w", checkpoint.ErrCorrupt)
	}
	return nil, err
}
