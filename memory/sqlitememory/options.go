package sqlitememory

import (
	"fmt"
	"time"

	"github.com/weft-go/weft/memory/driver"
)

// Memory is the path of a database in memory. Closing its [DB] deletes it.
const Memory = ":memory:"

// Options configures [Open]. Its zero value works.
type Options struct {
	// MaxFacts is the most valid facts that a scope may have. A change beyond it returns
	// [driver.ErrQuota]. Zero means no limit.
	MaxFacts int
	// MaxMessages is the most messages that a session may have. A change beyond it returns
	// [driver.ErrQuota]. Zero means no limit.
	MaxMessages int
	// MaxValues is the most values that a scope may have. A change beyond it returns
	// [driver.ErrQuota]. Zero means no limit.
	MaxValues int
	// MaxSize is the most bytes to which this DB lets the file grow. A change beyond it returns
	// [ErrFull]. Zero means no limit.
	MaxSize int64
	// BusyTimeout is how long a write waits while another process writes. Zero means 5 seconds. A
	// negative value means no wait.
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
	// the end of the process. A power cut may undo the newest commits, but never an older one
	// without all newer ones.
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
