package sqlitememory

import "github.com/weft-go/weft/memory/driver"

// storedUntrusted is the stored number of [driver.Untrusted]. The number of [driver.Stated] is 0,
// and of [driver.Inferred] 1.
const storedUntrusted = 2

// trustColumn returns the stored number of a trust.
func trustColumn(t driver.Trust) int { return int(driver.Stated - t) }

// trustOf returns the trust for a stored number, and false if the number is invalid.
func trustOf(stored int) (driver.Trust, bool) {
	return driver.Stated - driver.Trust(stored), stored >= 0 && stored <= storedUntrusted
}
