package sqlitememory

import "github.com/weft-go/weft/memory/driver"

// A column trust has 0 for [driver.Stated], 1 for [driver.Inferred] and 2 for [driver.Untrusted].
const storedUntrusted = 2

// trustColumn returns the stored number of a trust.
func trustColumn(t driver.Trust) int { return int(driver.Stated - t) }

// trustOf returns the trust of a stored number, and false if the number is invalid.
func trustOf(stored int) (driver.Trust, bool) {
	return driver.Stated - driver.Trust(stored), stored >= 0 && stored <= storedUntrusted
}
