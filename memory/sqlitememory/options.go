package sqlitememory

import (
	"fmt"
	"time"

	"github.com/weft-go/weft/memory/driver"
)

// Memory is the path of a database in memory. Closing its [DB] deletes it.
const Memory = ":memory:"

// Options configures [Open]. The zero value is valid.
type Options struct {
	// MaxFacts is the maximum number of valid facts of a scope. A change that would exceed it
	// returns [driver.ErrQuota]. Zero means no limit.
	MaxFacts int
	// MaxMessages is the maximum number of messages of a session. A change that would exceed it
	// returns [driver.ErrQuota]. Zero means no limit.
	MaxMessages int
	// MaxValues is the maximum number of values of a scope. A change that would exceed it returns
	// [driver.ErrQuota]. Zero means no limit.
	MaxValues int
	// MaxSize is the maximum size of the file, in bytes. A change of this DB that would exceed it
	// returns [ErrFull]. Zero means no limit.
	MaxSize int64
	// BusyTimeout is the time that a write waits while another process writes. Zero means 5
	// seconds. A negative value means no wait.
	BusyTimeout time.Duration
	// Synchronous says when a commit is complete. Zero means [Full].
	Synchronous Synchronous
}

// Synchronous says when a commit is complete.
type Synchronous int

// The values of Synchronous.
const (
	// Full means that a commit waits until its data is on the disk.
	Full Synchronous = iota
	// Normal means that a commit waits until the operating system has its data. The data survives
	// the end of the process. A power failure may undo the newest commits, but never an older
	// commit without all newer commits.
	Normal
)

// String returns the name of the value in SQLite.
func (s Synchronous) String() string {
	switch s {
	case Full:
		return "FULL"
	case Normal:
		return "NORMAL"
	}
	return fmt.Sprintf("Synchronous(%d)", int(s))
}

func (o Options) check() error {
	if o.Synchronous != Full && o.Synchronous != Normal {
		return fmt.Errorf("unknown %v: %w", o.Synchronous, driver.ErrInvalid)
	}
	if o.MaxFacts < 0 || o.MaxMessages < 0 || o.MaxValues < 0 || o.MaxSize < 0 {
		return fmt.Errorf("negative MaxFacts %d, MaxMessages %d, MaxValues %d or MaxSize %d: %w",
			o.MaxFacts, o.MaxMessages, o.MaxValues, o.MaxSize, driver.ErrInvalid)
	}
	return nil
}
