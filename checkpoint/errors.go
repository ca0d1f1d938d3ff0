package checkpoint

import "errors"

// The errors of stores. Stores wrap them, so test for them with [errors.Is].
var (
	// ErrNotFound means that the thread or checkpoint does not exist.
	ErrNotFound = errors.New("not found")
	// ErrConflict means that another writer was faster: the head that the caller passed is
	// no longer the newest checkpoint, or a run holds the lease of the thread. Read the
	// thread again before the next attempt.
	ErrConflict = errors.New("conflict")
	// ErrTooLarge means that a value exceeds the store's limit. Nothing was written.
	ErrTooLarge = errors.New("value too large")
	// ErrCorrupt means that stored data is damaged. Restore it from a backup.
	ErrCorrupt = errors.New("stored data is corrupt")
	// ErrFormat means that stored data has a format that this version does not know,
	// perhaps because a newer version wrote it. Upgrade to that version.
	ErrFormat = errors.New("unknown storage format")
	// ErrDecrypt means that stored data cannot be decrypted: its key is missing from
	// the key ring, or the data was altered, moved or exchanged in the database.
	ErrDecrypt = errors.New("cannot decrypt")
	// ErrInvalid means that an argument is invalid, such as an empty thread id.
	ErrInvalid = errors.New("invalid argument")
)
