package sqlitememory

import "github.com/weft-go/weft/memory"

// The columns of trust keep 0 for [memory.Stated], 1 for [memory.Inferred] and 2 for
// [memory.Untrusted].
const storedUntrusted = 2

// trustColumn returns what is stored for a level.
func trustColumn(t memory.Trust) int { return int(memory.Stated - t) }

// trustOf returns the level that is stored as a number, and false if there is none.
func trustOf(stored int) (memory.Trust, bool) {
	return memory.Stated - memory.Trust(stored), stored >= 0 && stored <= storedUntrusted
}
