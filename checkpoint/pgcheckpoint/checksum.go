package pgcheckpoint

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"github.com/weft-go/weft/checkpoint"
)

// The other columns of a row are tied to its stored values: the checksum of the columns is
// combined with the checksum of a value. If the columns or the value are changed, reading the
// value returns [checkpoint.ErrCorrupt]. The stored value keeps its length.
//
//   - The control of a checkpoint is tied to its id, parent, source, step and
//     namespace, and to the digest of its run, version and metadata.
//   - Changes are tied to the id and source of their checkpoint and to the id of the
//     delta before them in the lineage. So a missing or additional row in a lineage is
//     detected.
//   - A snapshot is tied to the id and source of its checkpoint.
//   - A base is tied to the id and source of its checkpoint and to the id of the delta
//     before the base.
//   - A pending write is tied to its checkpoint, its task and its index.
//
// Values from older versions are not tied. They have other formats and can still be
// read. Prune ties the control and the base of the rows that it updates.
const (
	formatTiedFrame  = 0x03
	formatTiedPacked = 0x04
	tiedFormats      = formatTiedFrame - formatFrame

	tiedHeader = 1 + crc32.Size
)

// The kinds of tied values. A kind is part of the checksum.
const (
	tiedChanges         = 'c'
	tiedSnapshotChanges = 'C' // changes of a checkpoint that also has a snapshot
	tiedSnapshot        = 's'
	tiedBase            = 'b'
	tiedWrite           = 'w'
)

// tie ties a stored value to a checksum. It changes stored and returns it.
func tie(stored []byte, sum uint32) []byte {
	if len(stored) < tiedHeader || stored[0] != formatFrame && stored[0] != formatPacked {
		return stored
	}
	stored[0] += tiedFormats
	flipChecksum(stored, sum)
	return stored
}

// untie undoes [tie]. It changes stored. If sum is not the checksum that was passed to tie,
// parsing the result fails. A value that is not tied stays unchanged.
func untie(stored []byte, sum uint32) {
	if len(stored) == 0 || stored[0] != formatTiedFrame && stored[0] != formatTiedPacked {
		return
	}
	stored[0] -= tiedFormats
	if len(stored) >= tiedHeader { // a shorter value was cut off, and parsing it fails
		flipChecksum(stored, sum)
	}
}

// flipChecksum combines the checksum of a stored value with another one. The checksum
// follows the format byte, in frames and in compressed frames.
func flipChecksum(stored []byte, sum uint32) {
	binary.LittleEndian.PutUint32(stored[1:], binary.LittleEndian.Uint32(stored[1:])^sum)
}

// valueSum returns the checksum that ties a value of a checkpoint to its row. before is
// the id of the delta before it in the lineage, or empty if there is none.
func valueSum(kind byte, id, source, before string) uint32 {
	var buf [192]byte
	b := append(buf[:0], kind)
	b = appendSized(b, id)
	b = appendSized(b, source)
	b = appendSized(b, before)
	return crc32.Checksum(b, castagnoli)
}

// writeSum returns the checksum that ties a pending write to its row.
func writeSum(id, task string, number int64) uint32 {
	var buf [192]byte
	b := append(buf[:0], tiedWrite)
	b = appendSized(b, id)
	b = appendSized(b, task)
	b = binary.AppendVarint(b, number)
	return crc32.Checksum(b, castagnoli)
}

const controlHeader = crc32.Size

// A header holds the columns that the control of a checkpoint is tied to.
type header struct {
	id, parent, namespace string
	step                  int
	source                string
	digest                []byte // of run, version and metadata
}

// sealControl returns the stored form of a control: a checksum and the control.
func (h *header) sealControl(control []byte) []byte {
	b := make([]byte, controlHeader, controlHeader+len(control))
	binary.LittleEndian.PutUint32(b, h.sum(control))
	return append(b, control...)
}

// openControl parses the stored form and returns the control.
func (h *header) openControl(stored []byte) ([]byte, error) {
	if len(stored) < controlHeader {
		return nil, fmt.Errorf("the checksum of its row is missing: %w", checkpoint.ErrCorrupt)
	}
	control := stored[controlHeader:]
	if sum := binary.LittleEndian.Uint32(stored); sum != h.sum(control) && sum != h.sumV1(control) {
		return nil, fmt.Errorf("the checksum of its row does not match: %w", checkpoint.ErrCorrupt)
	}
	return control, nil
}

func (h *header) sum(control []byte) uint32 {
	var buf [256]byte
	b := h.appendV1(buf[:0])
	b = appendSized(b, h.namespace)
	b = append(b, h.digest...)
	return crc32.Update(crc32.Checksum(b, castagnoli), castagnoli, control)
}

// sumV1 is the checksum of rows of older versions, without namespace and digest.
func (h *header) sumV1(control []byte) uint32 {
	var buf [192]byte
	return crc32.Update(crc32.Checksum(h.appendV1(buf[:0]), castagnoli), castagnoli, control)
}

func (h *header) appendV1(b []byte) []byte {
	b = appendSized(b, h.id)
	b = appendSized(b, h.parent)
	b = appendSized(b, h.source)
	return binary.AppendVarint(b, int64(h.step))
}

func appendSized(dst []byte, s string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}
