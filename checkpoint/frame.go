package checkpoint

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"slices"
)

// frameFormat is the first byte of every frame. A new layout must have a new number, so
// that an older version returns [ErrFormat].
const frameFormat = 0x01

// The kinds of frames. A kind is not stored, but it is part of the checksum. So reading a
// frame of changes as deltas returns [ErrCorrupt].
const (
	frameChanges = 'c'
	frameDeltas  = 'd'
)

const (
	frameHeader = 1 + crc32.Size
	minChange   = 3 // bytes: the lengths of a name and of data, and a kind
	minDelta    = 4 // bytes: the lengths of an id and of a source, flags, and a count
)

const deltaSnapshot = 1 // the only flag of a delta

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// AppendChanges appends the stored form of the changes to dst and returns the extended
// slice. The form, a frame, consists of a format byte, a CRC-32C and the changes, with
// lengths as varints. Nil and empty slices remain distinct.
func AppendChanges(dst []byte, changes []Change) []byte {
	start := len(dst)
	dst = appendHeader(dst)
	return sealFrame(appendChanges(dst, changes), start, frameChanges)
}

// ParseChanges returns the changes that [AppendChanges] wrote. Their Data share memory
// with b. It returns [ErrFormat] if b begins with an unknown format byte, and
// [ErrCorrupt] if b is damaged. Its memory use is proportional to len(b), even if b
// contains wrong lengths.
func ParseChanges(b []byte) ([]Change, error) {
	r, err := openFrame(b, frameChanges)
	if err != nil {
		return nil, err
	}
	changes := r.changes()
	if err := r.close(); err != nil {
		return nil, err
	}
	return changes, nil
}

// AppendDeltas appends the stored form of the deltas to dst and returns the extended
// slice; see [AppendChanges].
func AppendDeltas(dst []byte, deltas []Delta) []byte {
	start := len(dst)
	dst = appendHeader(dst)
	dst = appendCount(dst, len(deltas), deltas == nil)
	for i := range deltas {
		d := &deltas[i]
		dst = appendText(dst, d.ID)
		dst = appendText(dst, string(d.Source))
		var flags byte
		if d.Snapshot {
			flags = deltaSnapshot
		}
		dst = append(dst, flags)
		dst = appendChanges(dst, d.Changes)
	}
	return sealFrame(dst, start, frameDeltas)
}

// ParseDeltas returns the deltas that [AppendDeltas] wrote. It makes the same promises
// as [ParseChanges].
func ParseDeltas(b []byte) ([]Delta, error) {
	r, err := openFrame(b, frameDeltas)
	if err != nil {
		return nil, err
	}
	n, ok := r.count(minDelta)
	var deltas []Delta
	if ok {
		deltas = make([]Delta, 0, n)
	}
	for range n {
		d := Delta{ID: string(r.text()), Source: Source(r.text())}
		flags := r.byte()
		if flags&^deltaSnapshot != 0 {
			r.failed = true
		}
		d.Snapshot = flags&deltaSnapshot != 0
		d.Changes = r.changes()
		deltas = append(deltas, d)
	}
	if err := r.close(); err != nil {
		return nil, err
	}
	return deltas, nil
}

func appendHeader(dst []byte) []byte {
	return append(dst, frameFormat, 0, 0, 0, 0)
}

func sealFrame(b []byte, start int, kind byte) []byte {
	sum := frameSum(kind, b[start+frameHeader:])
	binary.LittleEndian.PutUint32(b[start+1:], sum)
	return b
}

// The checksums of the format byte and the kind. frameSum continues them with the body of a frame.
var (
	sumOfChanges = crc32.Checksum([]byte{frameFormat, frameChanges}, castagnoli)
	sumOfDeltas  = crc32.Checksum([]byte{frameFormat, frameDeltas}, castagnoli)
)

func frameSum(kind byte, body []byte) uint32 {
	if kind == frameChanges {
		return crc32.Update(sumOfChanges, castagnoli, body)
	}
	return crc32.Update(sumOfDeltas, castagnoli, body)
}

// maxChangeHeader is the maximum size of the kind and the two lengths of a change, in bytes.
const maxChangeHeader = 1 + 2*binary.MaxVarintLen64

func appendChanges(dst []byte, changes []Change) []byte {
	size := binary.MaxVarintLen64
	for i := range changes {
		size += len(changes[i].Channel) + len(changes[i].Data) + maxChangeHeader
	}
	dst = slices.Grow(dst, size)
	dst = appendCount(dst, len(changes), changes == nil)
	for i := range changes {
		c := &changes[i]
		dst = appendText(dst, c.Channel)
		dst = append(dst, c.Kind)
		dst = appendCount(dst, len(c.Data), c.Data == nil)
		dst = append(dst, c.Data...)
	}
	return dst
}

// appendCount appends n+1, or zero for a nil slice.
func appendCount(dst []byte, n int, isNil bool) []byte {
	if isNil {
		return append(dst, 0)
	}
	return binary.AppendUvarint(dst, uint64(n)+1)
}

func appendText(dst []byte, s string) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(s)))
	return append(dst, s...)
}

// A frameReader reads the body of a frame. After a failure its methods return zero values,
// so the caller needs to check only the error of close.
type frameReader struct {
	rest   []byte
	failed bool
}

func openFrame(b []byte, kind byte) (*frameReader, error) {
	if len(b) == 0 {
		return nil, fmt.Errorf("checkpoint: the stored frame is empty: %w", ErrCorrupt)
	}
	if b[0] != frameFormat {
		return nil, fmt.Errorf("checkpoint: the stored frame has format %d; this version reads %d: %w", b[0], frameFormat, ErrFormat)
	}
	if len(b) < frameHeader {
		return nil, fmt.Errorf("checkpoint: the stored frame is cut off after %d bytes: %w", len(b), ErrCorrupt)
	}
	body := b[frameHeader:]
	if frameSum(kind, body) != binary.LittleEndian.Uint32(b[1:]) {
		return nil, fmt.Errorf("checkpoint: the stored frame does not match its checksum: %w", ErrCorrupt)
	}
	return &frameReader{rest: body}, nil
}

func (r *frameReader) close() error {
	if r.failed || len(r.rest) != 0 {
		return fmt.Errorf("checkpoint: the stored frame has an invalid layout: %w", ErrCorrupt)
	}
	return nil
}

func (r *frameReader) fail() {
	r.failed, r.rest = true, nil
}

func (r *frameReader) byte() byte {
	if len(r.rest) == 0 {
		r.fail()
		return 0
	}
	b := r.rest[0]
	r.rest = r.rest[1:]
	return b
}

// uvarint reads a number. It rejects a number that is not in its shortest form, so that
// equal content has equal frames.
func (r *frameReader) uvarint() uint64 {
	v, n := binary.Uvarint(r.rest)
	if n <= 0 || n > 1 && r.rest[n-1] == 0 {
		r.fail()
		return 0
	}
	r.rest = r.rest[n:]
	return v
}

// count reads the number of elements that follow. It fails if the rest of the frame is too
// short for that many elements of at least size bytes. It returns false if the slice is nil,
// and after a failure.
func (r *frameReader) count(size int) (int, bool) {
	v := r.uvarint()
	if v == 0 {
		return 0, false
	}
	if v-1 > uint64(len(r.rest)/size) {
		r.fail()
		return 0, false
	}
	return int(v - 1), true
}

// text reads a length and returns that many bytes of the frame without copying them.
func (r *frameReader) text() []byte {
	n := r.uvarint()
	if n > uint64(len(r.rest)) {
		r.fail()
		return nil
	}
	return r.take(int(n))
}

// bytes returns the next n bytes, or nil if fewer are left.
func (r *frameReader) bytes(n int) []byte {
	if n > len(r.rest) {
		r.fail()
		return nil
	}
	return r.take(n)
}

func (r *frameReader) take(n int) []byte {
	b := r.rest[:n:n]
	r.rest = r.rest[n:]
	return b
}

func (r *frameReader) changes() []Change {
	n, ok := r.count(minChange)
	if !ok {
		return nil
	}
	changes := make([]Change, 0, n)
	for range n {
		c := Change{Channel: string(r.text()), Kind: r.byte()}
		if size, ok := r.count(1); ok {
			c.Data = r.take(size)
		}
		changes = append(changes, c)
	}
	return changes
}
