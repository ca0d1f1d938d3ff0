package sqlitecheckpoint

import (
	"fmt"
	"time"

	"github.com/weft-go/weft/checkpoint"
)

// Memory is the path of a database that lives in memory, and is gone when its
// [Store] is closed.
const Memory = ":memory:"

// Options configures [Open]. Its zero value works.
type Options struct {
	// MaxValue is the most bytes that one change or pending write may hold.
	// Zero means [checkpoint.DefaultMaxValue], 16 MB; a negative value means
	// no limit but SQLite's own of about 1 GB for the changes of a checkpoint.
	MaxValue int
	// MaxSize is the most bytes that the file may grow to through this store.
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
		return fmt.Errorf("unknown %v: %w", o.Synchronous, checkpoint.ErrInvalid)
	}
	if o.MaxSize < 0 {
		return fmt.Errorf("negative MaxSize %d: %w", o.MaxSize, checkpoint.ErrInvalid)
	}
	return nil
}
