package memory

import (
	"errors"
)

// Counts are the numbers of items that were exported, imported or forgotten.
type Counts struct {
	Facts         int `json:"facts"`     // with their histories, including deleted facts
	Documents     int `json:"documents"` // with their chunks
	Values        int `json:"values"`
	Conversations int `json:"conversations"` // with their messages
	Turns         int `json:"turns"`
}

// Total returns the sum of the counts.
func (c Counts) Total() int {
	return c.Facts + c.Documents + c.Values + c.Conversations + c.Turns
}

var (
	// ErrFormat means that a file is not an export, or is an export of a newer version.
	// See https://github.com/weft-go/weft/blob/main/docs/troubleshooting.md#memoryerrformat.
	ErrFormat = errors.New("not an export of a memory")
	// ErrTruncated means that lines of an export are missing, usually at its end. The items before them are
	// stored, except for a last document or conversation that may be incomplete. The text of the error names
	// the line.
	// See https://github.com/weft-go/weft/blob/main/docs/troubleshooting.md#memoryerrtruncated.
	ErrTruncated = errors.New("lines of the export are missing; import the whole file again")
)

const (
	exportFormat  = "weft memory"
	exportVersion = 1
)
