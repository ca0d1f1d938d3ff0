package pgmemory

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
)

// spellVector returns a vector as the database reads it.
func spellVector(v []float32) string {
	b := make([]byte, 0, 12*len(v)+2)
	b = append(b, '[')
	for i, x := range v {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendFloat(b, float64(x), 'g', -1, 32)
	}
	return string(append(b, ']'))
}

// readVector reads what vector_send writes: how many numbers, nothing, and the numbers.
func readVector(b []byte) ([]float32, error) {
	if b == nil {
		return nil, nil
	}
	if len(b) < 4 || len(b) != 4+4*int(binary.BigEndian.Uint16(b)) {
		return nil, fmt.Errorf("vector of %d bytes: %w", len(b), ErrFormat)
	}
	b = b[4:]
	v := make([]float32, len(b)/4)
	for i := range v {
		v[i] = math.Float32frombits(binary.BigEndian.Uint32(b[4*i:]))
	}
	return v, nil
}

// space is the number that stands for what makes vectors comparable.
func space(model string, dimension int) int64 { return number("space", model, strconv.Itoa(dimension)) }
