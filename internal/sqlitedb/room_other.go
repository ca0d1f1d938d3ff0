//go:build !linux && !darwin && !windows

package sqlitedb

import "math"

// freeSpace returns the greatest uint64, since this system does not tell the free space.
func freeSpace(string) (uint64, error) { return math.MaxUint64, nil }
