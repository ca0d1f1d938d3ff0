package pgcheckpoint

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"sync"

	"github.com/klauspost/compress/zstd"

	"github.com/weft-go/weft/checkpoint"
)

// A stored value is a frame of package checkpoint, or a compressed frame if that is shorter
// by 1/16 or more. A compressed frame has a format byte that no frame begins with, a CRC-32C
// of the bytes after it, the length of the frame as a varint, and the frame compressed
// with zstd. See [tie] for the formats of values that are tied to their rows.
const (
	formatFrame  = 0x01 // see package checkpoint
	formatPacked = 0x02

	packedHeader = 1 + crc32.Size
	// minPacked is the minimum size of a frame that is compressed.
	minPacked = 256
	// maxPacked is the maximum size of a frame that is compressed. It limits the memory
	// that a damaged value can make the store allocate.
	maxPacked = 32 << 20
	// sampleSize is the size of a sample from the middle of a long frame. The frame is
	// compressed only if compressing the sample saves space.
	sampleSize = 64 << 10
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// packers returns the encoder and decoder of all stores. Both are safe for concurrent use.
var packers = sync.OnceValues(func() (*zstd.Encoder, *zstd.Decoder) {
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderCRC(false),
		zstd.WithLowerEncoderMem(true), zstd.WithWindowSize(1<<20))
	if err != nil {
		panic("pgcheckpoint: " + err.Error()) // the options are constants
	}
	dec, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderMaxMemory(maxPacked),
		zstd.WithDecoderLowmem(true))
	if err != nil {
		panic("pgcheckpoint: " + err.Error())
	}
	return enc, dec
})

// pack returns the stored form of a frame. It may be the frame itself.
func pack(frame []byte) []byte {
	if len(frame) < minPacked || len(frame) > maxPacked {
		return frame
	}
	enc, _ := packers()
	if half := len(frame) / 2; len(frame) > 16*sampleSize && !worthPacking(len(enc.EncodeAll(frame[half:half+sampleSize], nil)), sampleSize) {
		return frame
	}
	b := make([]byte, packedHeader, packedHeader+binary.MaxVarintLen32+len(frame))
	b[0] = formatPacked
	b = binary.AppendUvarint(b, uint64(len(frame)))
	b = enc.EncodeAll(frame, b)
	if !worthPacking(len(b), len(frame)) {
		return frame
	}
	binary.LittleEndian.PutUint32(b[1:], crc32.Checksum(b[packedHeader:], castagnoli))
	return b
}

func worthPacking(packed, size int) bool { return packed <= size-size/16 }

// unpack returns the frame of a stored value. The frame has its own checksum.
func unpack(b []byte) ([]byte, error) {
	if len(b) == 0 || b[0] != formatPacked {
		return b, nil
	}
	if len(b) < packedHeader || crc32.Checksum(b[packedHeader:], castagnoli) != binary.LittleEndian.Uint32(b[1:]) {
		return nil, fmt.Errorf("checksum of a compressed value: %w", checkpoint.ErrCorrupt)
	}
	size, n := binary.Uvarint(b[packedHeader:])
	if n <= 0 || size > maxPacked {
		return nil, fmt.Errorf("length of a compressed value: %w", checkpoint.ErrCorrupt)
	}
	_, dec := packers()
	frame, err := dec.DecodeAll(b[packedHeader+n:], make([]byte, 0, min(size, 1<<20)))
	if err != nil || uint64(len(frame)) != size {
		return nil, fmt.Errorf("compressed value: %w", checkpoint.ErrCorrupt)
	}
	return frame, nil
}

func packChanges(changes []checkpoint.Change) []byte {
	return pack(checkpoint.AppendChanges(nil, changes))
}

func unpackChanges(b []byte) ([]checkpoint.Change, error) {
	frame, err := unpack(b)
	if err != nil {
		return nil, err
	}
	return checkpoint.ParseChanges(frame)
}

func packDeltas(deltas []checkpoint.Delta) []byte {
	return pack(checkpoint.AppendDeltas(nil, deltas))
}

func unpackDeltas(b []byte) ([]checkpoint.Delta, error) {
	frame, err := unpack(b)
	if err != nil {
		return nil, err
	}
	return checkpoint.ParseDeltas(frame)
}
