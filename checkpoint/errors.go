package checkpoint

import "errors"

// What a store's errors wrap. Use [errors.Is].
var (
	// ErrNotFound says that there is no such thread or checkpoint.
	ErrNotFound = errors.New("not found")
	// ErrConflict says that another writer was first: the checkpoint that was
	// to be followed is no longer the newest, or a run holds the thread.
	ErrConflict = errors.New("conflict")
	// ErrTooLarge says that a value is over the store's limit. Nothing was
	// written.
	ErrTooLarge = errors.New("value too large")
	// ErrCorrupt says that stored data is damaged.
	ErrCorrupt = errors.New("stored data is corrupt")
	// ErrFormat says that stored data has a format that this version does not
	// know, written perhaps by a newer one.
	ErrFormat = errors.New("unknown storage format")
	// ErrDecrypt says that stored data can not be decrypted: its key is not in
	// the ring, or the data was altered or moved.
	ErrDecrypt = errors.New("cannot decrypt")
	// ErrInvalid says that an argument can not be used, such as a thread
	// without an id.
	ErrInvalid = errors.New("invalid argument")
)
