//go:build linux || darwin

package sqlitecheckpoint

import (
	"errors"
	"io"
	"os"
	"syscall"
)

// lockByte locks one byte for this open file, and returns errLocked if another
// open file holds it, in this process or another.
func lockByte(f *os.File, offset int64) error {
	err := setLock(f, offset, syscall.F_WRLCK)
	if errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.EACCES) {
		return errLocked
	}
	return err
}

func unlockByte(f *os.File, offset int64) error {
	return setLock(f, offset, syscall.F_UNLCK)
}

func setLock(f *os.File, offset int64, kind int16) error {
	for {
		err := syscall.FcntlFlock(f.Fd(), setOFDLock, &syscall.Flock_t{
			Type: kind, Whence: io.SeekStart, Start: offset, Len: 1,
		})
		if err != syscall.EINTR {
			return os.NewSyscallError("fcntl", err)
		}
	}
}
