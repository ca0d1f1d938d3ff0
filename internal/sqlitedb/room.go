package sqlitedb

import (
	"errors"
	"fmt"
	"path/filepath"
	"time"
)

// errNoRoom is returned if the disk is almost full. Its [Fault] is [Full].
var errNoRoom = errors.New("the disk is almost full: remove data, or free space on the disk")

// minFree is the space on the disk that is reserved for removals, in bytes. A
// removal writes pages to the write-ahead log, which can grow to about 4 MB. The
// database file may then grow by the same size.
const minFree = 8 << 20

// If at least plentyFree bytes are free, CheckRoom does not check the disk again for a second.
// The system call takes a noticeable part of the time of a small commit.
const plentyFree = 4 << 30

// MinFree is the space on the disk below which writes that add data are refused, in bytes.
const MinFree = minFree

// FreeSpace returns the number of bytes that a user may still write to the disk of a folder.
func FreeSpace(folder string) (uint64, error) { return freeSpace(folder) }

// CheckRoom returns an error of the kind [Full] if less than 8 MB are free in total, on the
// disk and inside the file. Call it before a write that adds data, but not before a removal.
func (d *DB) CheckRoom(w *Session) error {
	if d.file == "" || time.Since(d.roomChecked) < time.Second {
		return nil
	}
	free, err := d.free(filepath.Dir(d.file))
	if err == nil && free >= plentyFree {
		d.roomChecked = time.Now()
	}
	if err != nil || free >= minFree {
		return nil // SQLite reports other errors
	}
	var pages uint64
	if _, err := w.One(`PRAGMA freelist_count`, nil, &pages); err != nil {
		return err
	}
	if free += pages * pageSize; free >= minFree {
		return nil
	}
	return fmt.Errorf("%d bytes are free, and at least %d are needed: %w", free, minFree, errNoRoom)
}
