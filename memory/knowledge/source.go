package knowledge

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/internal/input"
	"github.com/weft-go/weft/memory/knowledge/split"
)

const (
	maxName     = 512
	maxMetadata = 16 << 10
)

// check returns the source in the form in which it is stored.
func checkSource(s Source) (Source, error) {
	s.Metadata = bytes.Clone(bytes.TrimSpace(s.Metadata))
	s.Title = strings.TrimSpace(s.Title)
	switch {
	case s.URI == "":
		return s, fmt.Errorf("the document has no URI: %w", memory.ErrInvalid)
	case !input.Storable(s.URI) || !input.Storable(s.Version) || !input.Storable(s.Title):
		return s, fmt.Errorf("URI, title or version is not UTF-8 or has a NUL: %w", memory.ErrInvalid)
	case len(s.URI) > MaxURI || len(s.Version) > maxName || len(s.Title) > maxName:
		return s, fmt.Errorf("URI of %d bytes, title of %d, version of %d, and %d, %d and %d are allowed: %w",
			len(s.URI), len(s.Title), len(s.Version), MaxURI, maxName, maxName, memory.ErrInvalid)
	}
	if s.Format == "" {
		s.Format = split.FormatOf(s.URI)
	}
	if err := s.Format.Validate(); err != nil {
		return s, fmt.Errorf("%w: %w", memory.ErrInvalid, err)
	}
	if err := s.Trust.Validate(); err != nil {
		return s, err
	}
	return s, checkMetadata(s.Metadata)
}

func checkMetadata(data json.RawMessage) error {
	if len(data) == 0 {
		return nil
	}
	var object map[string]json.RawMessage
	switch err := json.Unmarshal(data, &object); {
	case len(data) > maxMetadata:
		return fmt.Errorf("metadata has %d bytes, and %d are allowed: %w", len(data), maxMetadata, memory.ErrInvalid)
	case err != nil || object == nil:
		return fmt.Errorf("metadata is not a JSON object: %w", memory.ErrInvalid)
	case bytes.Contains(data, []byte(`\u0000`)) || !utf8.Valid(data):
		return fmt.Errorf("metadata is not UTF-8 or has a NUL: %w", memory.ErrInvalid)
	}
	return nil
}
