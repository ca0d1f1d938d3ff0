package driver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/weft-go/weft/memory/internal/input"
)

// A Source describes a document that was ingested.
type Source struct {
	// ID is a UUIDv7. A new version of the document keeps it.
	ID    string `json:"id"`
	Scope Scope  `json:"scope,omitzero"`
	// URI identifies the document in its scope: an address, a path, or another text of up to
	// 1024 bytes.
	URI string `json:"uri"`
	// Title is from the caller or, if that is empty, from the document.
	Title string `json:"title,omitempty"`
	// Version is any text of the caller, such as a date or a commit.
	Version string `json:"version,omitempty"`
	// Format is a split.Format of package knowledge/split.
	Format string `json:"format"`
	// Trust is [Stated] if [knowledge.Document.Trusted] was set, and [Untrusted] otherwise.
	// Searches find both, except with [SourceQuery.Trusted].
	Trust Trust `json:"trust,omitempty"`
	// Metadata is any JSON object of the caller of at most 16 KB, or nil. Its bytes are stored
	// unchanged.
	Metadata json.RawMessage `json:"metadata,omitempty"`
	// SHA256, in hexadecimal, and Size, in bytes, describe the text, which a [knowledge.Extractor] may have
	// extracted from a file.
	SHA256 string `json:"sha256"`
	Size   int64  `json:"size"`
	// Chunks is the number of its chunks.
	Chunks int `json:"chunks"`
	// Recipe identifies the settings with which the source was split and indexed. It is equal for sources with equal
	// settings and equal lengths of vectors. Model is the embedding model of all chunks, or empty if a chunk has no vector.
	Recipe string `json:"recipe"`
	Model  string `json:"model,omitempty"`
	// Revision counts the changes from 1. The store sets it, CreatedAt and UpdatedAt.
	Revision  int64     `json:"revision"`
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
}

// A Chunk is a part of a source. Searches return chunks.
type Chunk struct {
	// ID is a UUID that is derived from the scope, the URI, the title, the headings and the
	// content.
	ID string `json:"id"`
	// Source is the ID of its source. Ordinal is its position in the source, from 0.
	Source  string `json:"source"`
	Ordinal int    `json:"ordinal"`
	// Headings are the headings above the chunk, the outermost first. See split.Piece in package knowledge/split for
	// tables and pages.
	Headings []string `json:"headings,omitempty"`
	Content  string   `json:"content"`
	// Start and End are the offsets, in bytes, of the part of the source's text from which the chunk was made.
	Start int `json:"start"`
	End   int `json:"end"`
	// Tokens is the number of tokens of the content.
	Tokens int `json:"tokens"`
	// Model is the embedding model of its vector, or empty without a vector.
	Model string `json:"model,omitempty"`
}

// MaxURI is the maximum number of bytes of a URI.
const MaxURI = 1024

const (
	maxVersion = 512
	maxTitle   = 512
)

// Complete returns the source with its defaults, as it is stored. It returns [ErrInvalid] for a source that
// cannot be stored.
func (s Source) Complete() (Source, error) {
	s.Metadata = bytes.Clone(bytes.TrimSpace(s.Metadata))
	s.Title = strings.TrimSpace(s.Title)
	switch {
	case s.URI == "":
		return s, fmt.Errorf("the document has no URI: %w", ErrInvalid)
	case !input.Storable(s.URI) || !input.Storable(s.Version) || !input.Storable(s.Title) || !input.Storable(s.Format):
		return s, fmt.Errorf("URI, title, version or format is not UTF-8 or has a NUL: %w", ErrInvalid)
	case len(s.URI) > MaxURI || len(s.Version) > maxVersion || len(s.Title) > maxTitle:
		return s, fmt.Errorf("URI of %d bytes, title of %d, version of %d, and %d, %d and %d are allowed: %w",
			len(s.URI), len(s.Title), len(s.Version), MaxURI, maxTitle, maxVersion, ErrInvalid)
	}
	if err := s.Trust.Validate(); err != nil {
		return s, err
	}
	return s, checkMetadata(s.Metadata)
}
