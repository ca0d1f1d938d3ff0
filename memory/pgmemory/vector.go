package pgmemory

import (
	"encoding/binary"
	"fmt"
	"strconv"

	"github.com/pgvector/pgvector-go"
)

// spellVector returns a vector as a text literal of pgvector.
func spellVector(v []float32) string { return pgvector.NewVector(v).String() }

// readVector reads the binary form of a vector, which vector_send writes.
func readVector(b []byte) ([]float32, error) {
	if b == nil {
		return nil, nil
	}
	// DecodeBinary does not check the length.
	if len(b) < 4 || len(b) != 4+4*int(binary.BigEndian.Uint16(b)) {
		return nil, fmt.Errorf("vector of %d bytes: %w", len(b), ErrFormat)
	}
	var v pgvector.Vector
	if err := v.DecodeBinary(b); err != nil {
		return nil, fmt.Errorf("vector of %d bytes: %w: %w", len(b), ErrFormat, err)
	}
	return v.Slice(), nil
}

// space returns the number that identifies a model and dimension. Only vectors of the same
// space are comparable.
func space(model string, dimension int) int64 { return number("space", model, strconv.Itoa(dimension)) }
