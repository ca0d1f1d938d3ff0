package sqlitememory

import "github.com/weft-go/weft/memory/driver"

// The columns of trust keep 0 for [driver.Stated], 1 for [driver.Inferred] and 2 for
// [driver.Untrusted].
const storedUntrusted = 2

// trustColumn returns what is stored for a level.
func trustColumn(t driver.Trust) int { return int(driver.Stated - t) }

// trustOf returns the level that is stored as a number, and false if there is none.
func trustOf(stored int) (driver.Trust, bool) {
	return driver.Stated - driver.Trust(stored), stored >= 0 && stored <= storedUntrusted
}
