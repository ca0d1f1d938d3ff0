//go:build !linux && !darwin && !windows

package sqlitedb

import "math"

// freeSpace returns the greatest uint64, since the free space is unknown on this system.
func freeSpace(string) (uint64, error) { return math.MaxUint64, nil }
