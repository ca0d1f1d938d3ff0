//go:build !linux && !darwin && !windows

package sqlitecheckpoint

import "os"

// These systems have no byte locks that belong to an open file. Only the set of leased threads
// of each store excludes other runs. See [Store.Lease].

func lockByte(*os.File, int64) error { return nil }

func unlockByte(*os.File, int64) error { return nil }
