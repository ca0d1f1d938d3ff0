package sqlitecheckpoint

import (
	"fmt"
	"time"

	"github.com/weft-go/weft/checkpoint"
)

// Memory is the path of a database in memory, which lasts until its [Store] is
// closed.
const Memory = ":memory:"

// Options configures [Open]. The zero value is ready to use.
type Options struct {
	// MaxValue is the maximum number of bytes in one value: the Control of a
	// checkpoint, or the Data of a change or of a pending write. Zero means
	// [checkpoint.DefaultMaxValue], 16 MB. A negative MaxValue means no limit
	// except SQLite's own of about 1 GB for all changes of a checkpoint.
	MaxValue int
	// MaxSize is the maximum size in bytes to which this store lets the file
	// grow. Beyond it, writes return [ErrFull]. Zero means no limit.
	MaxSize int64
	// BusyTimeout is the maximum time that a write waits while another process writes. Zero
	// means 5 seconds. With a negative value, a write does not wait.
	BusyTimeout time.Duration
	// Synchronous decides how durable a commit is. The zero value is [Full].
	Synchronous Synchronous
}

// Synchronous decides how durable a commit is.
type Synchronous int

// The values of [Synchronous].
const (
	// Full waits until the commit is on the disk.
	Full Synchronous = iota
	// Normal waits until the operating system has the commit. The commit survives
	// the end of the process. A power cut may lose the newest commits. If it loses a
	// commit, it also loses all later ones.
	Normal
)

// String returns SQLite's name of the value.
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
		return fmt.Errorf("unknown %v: use Full or Normal: %w", o.Synchronous, checkpoint.ErrInvalid)
	}
	if o.MaxSize < 0 {
		return fmt.Errorf("negative MaxSize %d: %w", o.MaxSize, checkpoint.ErrInvalid)
	}
	return nil
}
