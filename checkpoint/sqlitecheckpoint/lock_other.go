//go:build !linux && !darwin && !windows

package sqlitecheckpoint

import "os"

// These systems have no lock that one open file holds on a byte. The store's own
// set of threads has to do; see [Store.Lease].

func lockByte(*os.File, int64) error { return nil }

func unlockByte(*os.File, int64) error { return nil }
