package sqlitememory

import (
	"fmt"
	"time"

	"github.com/weft-go/weft/memory/driver"
)

// Memory is the path of a database that lives in memory, and is gone when its [DB] is
// closed.
const Memory = ":memory:"

// Options configures [Open]. Its zero value works.
type Options struct {
	// MaxFacts is how many valid facts a scope may have. What would go beyond is
	// refused with [driver.ErrQuota]. Zero means any number.
	MaxFacts int
	// MaxMessages is how many messages a session may have. What would go beyond is
	// refused with [driver.ErrQuota]. Zero means any number.
	MaxMessages int
	// MaxValues is how many values a scope may have. What would go beyond is refused with
	// [driver.ErrQuota]. Zero means any number.
	MaxValues int
	// MaxSize is the most bytes that the file may grow to through this DB.
	// What would go beyond is refused with [ErrFull]. Zero means no limit.
	MaxSize int64
	// BusyTimeout is how long a write waits while another process writes. Zero
	// means 5 seconds; with a negative value it does not wait.
	BusyTimeout time.Duration
	// Synchronous says what a commit waits for. Zero means [Full].
	Synchronous Synchronous
}

// Synchronous says what a commit waits for.
type Synchronous int

// What a commit may wait for.
const (
	// Full waits until the commit is on the disk.
	Full Synchronous = iota
	// Normal waits until the operating system has the commit. It survives the
	// end of the process; a power cut may undo the newest commits, but never
	// some of them without those that came later.
	Normal
)

// String returns the name that SQLite gives it.
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
