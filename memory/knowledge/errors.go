package knowledge

import "errors"

// Errors of documents that are skipped. A document fails with other errors, such as
// [memory.ErrInvalid] and [memory.ErrQuota].
var (
	// ErrTooLarge is returned for a document or a text with more bytes than allowed.
	// See https://github.com/weft-go/weft/blob/main/docs/troubleshooting.md#knowledgeerrtoolarge.
	ErrTooLarge = errors.New("too large")
	// ErrNotText is returned for a document that is not UTF-8 or has a NUL. An [Extractor] can
	// extract the text of other formats.
	// See https://github.com/weft-go/weft/blob/main/docs/troubleshooting.md#knowledgeerrnottext.
	ErrNotText = errors.New("not text")
	// ErrNotRegular is returned for a symbolic link, which is not followed, a device or a
	// socket in a folder.
	// See https://github.com/weft-go/weft/blob/main/docs/troubleshooting.md#knowledgeerrnotregular.
	ErrNotRegular = errors.New("not a regular file")
)
