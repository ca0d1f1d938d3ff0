package pgmemory

import "github.com/weft-go/weft/memory/driver"

// trustColumn returns the stored number of a trust: 0 for [driver.Stated], 1 for [driver.Inferred]
// and 2 for [driver.Untrusted].
func trustColumn(t driver.Trust) int32 { return int32(driver.Stated - t) }

// trustOf returns the trust of a stored number.
func trustOf(stored int16) driver.Trust { return driver.Stated - driver.Trust(stored) }
