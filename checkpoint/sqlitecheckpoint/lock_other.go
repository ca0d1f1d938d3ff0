//go:build !linux && !darwin && !windows

package sqlitecheckpoint

import "os"

// These systems have no locks of bytes that belong to an open file. Only the
// store's own set of leased threads applies. See [Store.Lease].

func lockByte(*os.File, int64) error { return nil }

func unlockByte(*os.File, int64) error { return nil }
