package pdf

import "golang.org/x/sys/unix"

// limitMemory limits the address space of a process. A negative limit means no limit.
func limitMemory(pid int, limit int64) error {
	if limit < 0 {
		return nil
	}
	return unix.Prlimit(pid, unix.RLIMIT_AS, &unix.Rlimit{Cur: uint64(limit), Max: uint64(limit)}, nil)
}
