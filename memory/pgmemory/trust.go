package pgmemory

import "github.com/weft-go/weft/memory"

// trustColumn returns what is stored for a level: 0 for [memory.Stated], 1 for
// [memory.Inferred] and 2 for [memory.Untrusted].
func trustColumn(t memory.Trust) int32 { return int32(memory.Stated - t) }

// trustOf returns the level that is stored as a number.
func trustOf(stored int16) memory.Trust { return memory.Stated - memory.Trust(stored) }
