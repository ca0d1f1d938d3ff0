package memory

import (
	"fmt"

	"github.com/weft-go/weft/memory/driver"
	"github.com/weft-go/weft/memory/internal/input"
)

const (
	maxTitle           = 2 << 10
	maxSessionMetadata = 16 << 10
)

// checkDescription returns the session's title and metadata as they are stored.
func checkDescription(s Session) (driver.SessionDescription, error) {
	metadata, err := input.Object("metadata", s.Metadata, maxSessionMetadata)
	if err != nil {
		return driver.SessionDescription{}, err
	}
	if len(s.Title) > maxTitle || !input.Storable(s.Title) {
		return driver.SessionDescription{}, fmt.Errorf("title %.40q has %d bytes, and %d are allowed, of UTF-8 without a NUL: %w",
			s.Title, len(s.Title), maxTitle, ErrInvalid)
	}
	return driver.SessionDescription{Title: s.Title, Metadata: metadata}, nil
}
