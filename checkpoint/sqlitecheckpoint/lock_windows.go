package sqlitecheckpoint

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// lockByte locks one byte for this handle, and returns errLocked if another
// handle holds it, in this process or another.
func lockByte(f *os.File, offset int64) error {
	err := windows.LockFileEx(windows.Handle(f.Fd()),
		windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, at(offset))
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING) {
		return errLocked
	}
	return os.NewSyscallError("LockFileEx", err)
}

func unlockByte(f *os.File, offset int64) error {
	err := windows.UnlockFileEx(windows.Handle(f.Fd()), 0, 1, 0, at(offset))
	return os.NewSyscallError("UnlockFileEx", err)
}

func at(offset int64) *windows.Overlapped {
	return &windows.Overlapped{Offset: uint32(offset), OffsetHigh: uint32(offset >> 32)}
}
