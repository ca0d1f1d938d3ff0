package checkpoint

import "errors"

// The errors of stores. Stores wrap them, so test for them with [errors.Is].
var (
	// ErrNotFound means that the thread or checkpoint does not exist.
	// See https://github.com/weft-go/weft/blob/main/docs/troubleshooting.md#checkpointerrnotfound.
	ErrNotFound = errors.New("not found")
	// ErrConflict means that another writer was faster: the head that the caller passed is
	// no longer the newest checkpoint, or a run holds the lease of the thread. Read the
	// thread again before the next attempt.
	// See https://github.com/weft-go/weft/blob/main/docs/troubleshooting.md#checkpointerrconflict.
	ErrConflict = errors.New("conflict")
	// ErrTooLarge means that a value exceeds the store's limit. Nothing was written.
	// See https://github.com/weft-go/weft/blob/main/docs/troubleshooting.md#checkpointerrtoolarge.
	ErrTooLarge = errors.New("value too large")
	// ErrCorrupt means that stored data is damaged. Restore it from a backup.
	// See https://github.com/weft-go/weft/blob/main/docs/troubleshooting.md#checkpointerrcorrupt.
	ErrCorrupt = errors.New("stored data is corrupt")
	// ErrFormat means that stored data has a format that this version does not know,
	// perhaps because a newer version wrote it. Upgrade to that version.
	// See https://github.com/weft-go/weft/blob/main/docs/troubleshooting.md#checkpointerrformat.
	ErrFormat = errors.New("unknown storage format")
	// ErrDecrypt means that stored data cannot be decrypted: its key is missing from
	// the key ring, or the data was altered, moved or exchanged in the database.
	// See https://github.com/weft-go/weft/blob/main/docs/troubleshooting.md#checkpointerrdecrypt.
	ErrDecrypt = errors.New("cannot decrypt")
	// ErrInvalid means that an argument is invalid, such as an empty thread id.
	// See https://github.com/weft-go/weft/blob/main/docs/troubleshooting.md#checkpointerrinvalid.
	ErrInvalid = errors.New("invalid argument")
)

// A ThreadError is an error about the data of one thread. It does not concern other threads.
// See https://github.com/weft-go/weft/blob/main/docs/troubleshooting.md#checkpointthreaderror.
type ThreadError struct {
	Thread string
	Err    error // names the thread
}

// Error returns the text of Err.
func (e *ThreadError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *ThreadError) Unwrap() error { return e.Err }
