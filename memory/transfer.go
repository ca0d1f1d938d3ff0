package memory

import (
	"errors"
)

// Counts says how much was exported, imported or forgotten.
type Counts struct {
	Facts         int `json:"facts"`     // with their histories, also of those that were deleted
	Documents     int `json:"documents"` // with their chunks
	Values        int `json:"values"`
	Conversations int `json:"conversations"` // with their messages
	Turns         int `json:"turns"`
}

// Total is the sum of the counts.
func (c Counts) Total() int {
	return c.Facts + c.Documents + c.Values + c.Conversations + c.Turns
}

var (
	// ErrFormat says that a file is not an export, or is one of a newer version.
	ErrFormat = errors.New("not an export of a memory")
	// ErrTruncated says that lines of an export are missing, most often its end. What could be read
	// of it is stored.
	ErrTruncated = errors.New("lines of the export are missing; import the whole file again")
)

const (
	exportFormat  = "weft memory"
	exportVersion = 1
)
