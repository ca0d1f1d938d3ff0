//go:build linux || darwin

package sqlitedb

import "syscall"

// freeSpace returns the number of bytes that this user can write to the disk of a folder.
func freeSpace(folder string) (uint64, error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(folder, &s); err != nil {
		return 0, err
	}
	return s.Bavail * uint64(s.Bsize), nil
}
