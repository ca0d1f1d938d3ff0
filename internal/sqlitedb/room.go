package sqlitedb

import (
	"errors"
	"fmt"
	"path/filepath"
	"time"
)

// errNoRoom is an error of the kind [Full].
var errNoRoom = errors.New("the disk is almost full: remove data, or free space on the disk")

// minFree is the space on the disk that is reserved for removals. A removal writes pages to
// the write-ahead log, which can have about 4 MB. The database may then grow by the size of
// the log.
const minFree = 8 << 20

// If plentyFree or more bytes are free, the disk is not checked again for a second, because
// the system call is slow compared with a small commit.
const plentyFree = 4 << 30

// CheckRoom returns an error of the kind [Full] if less than 8 MB are free on the
// disk and inside the file. Call it before adding data, not before removals.
func (d *DB) CheckRoom(w *Session) error {
	if d.file == "" || time.Since(d.roomChecked) < time.Second {
		return nil
	}
	free, err := d.free(filepath.Dir(d.file))
	if err == nil && free >= plentyFree {
		d.roomChecked = time.Now()
	}
	if err != nil || free >= minFree {
		return nil // SQLite reports other errors.
	}
	var pages uint64
	if _, err := w.One(`PRAGMA freelist_count`, nil, &pages); err != nil {
		return err
	}
	if free += pages * pageSize; free >= minFree {
		return nil
	}
	return fmt.Errorf("%d of at least %d bytes are free: %w", free, minFree, errNoRoom)
}
