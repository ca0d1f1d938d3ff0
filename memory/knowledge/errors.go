package knowledge

import "errors"

// Errors that say why a document is left out. Those of package memory, such as
// [memory.ErrInvalid] and [memory.ErrQuota], say what else may be wrong.
var (
	// ErrTooLarge says that a document has more bytes than are allowed.
	ErrTooLarge = errors.New("too large")
	// ErrNotText says that a document is not UTF-8, or has a NUL.
	ErrNotText = errors.New("not text")
	// ErrNotRegular says that what is found in a folder is no file: a symbolic
	// link, which is not followed, a device or a socket.
	ErrNotRegular = errors.New("not a regular file")
)
