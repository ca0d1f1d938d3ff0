package sqlitedb

import "golang.org/x/sys/windows"

// freeSpace returns the number of bytes that this user can write to the disk of a folder.
func freeSpace(folder string) (free uint64, err error) {
	name, err := windows.UTF16PtrFromString(folder)
	if err != nil {
		return 0, err
	}
	err = windows.GetDiskFreeSpaceEx(name, &free, nil, nil)
	return free, err
}
