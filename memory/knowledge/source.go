package knowledge

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/weft-go/weft/memory/internal/input"

	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/knowledge/split"
)

// A Source describes a document that was ingested.
type Source struct {
	// ID is a UUIDv7. A new version of the document keeps it.
	ID    string       `json:"id"`
	Scope memory.Scope `json:"scope,omitzero"`
	// URI identifies the document in its scope: an address, a path, or another text of up to
	// 1024 bytes.
	URI string `json:"uri"`
	// Title is from the caller or, if that is empty, from the document.
	Title string `json:"title,omitempty"`
	// Version is any text of the caller, such as a date or a commit.
	Version string       `json:"version,omitempty"`
	Format  split.Format `json:"format"`
	// Trust is [memory.Stated] if [Document.Trusted] was set, and [memory.Untrusted] otherwise.
	// Searches find both, except with [Query.Trusted].
	Trust memory.Trust `json:"trust,omitempty"`
	// Metadata is any JSON object of the caller of at most 16 KB, or nil. Its bytes are stored
	// unchanged.
	Metadata json.RawMessage `json:"metadata,omitempty"`
	// SHA256, in hexadecimal, and Size, in bytes, are of the text. An [Extractor] has made it
	// from the file.
	SHA256 string `json:"sha256"`
	Size   int64  `json:"size"`
	// Chunks is the number of its chunks.
	Chunks int `json:"chunks"`
	// Recipe is equal for sources that were cut and indexed in the same way with vectors of
	// the same length. Model is the embedding model of all chunks, or empty if a chunk has no
	// vector.
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
	// Headings are the headings above the chunk, the outermost first. See [split.Piece] for
	// tables and pages.
	Headings []string `json:"headings,omitempty"`
	Content  string   `json:"content"`
	// The chunk is made from the bytes Start to End of the text of its source.
	Start int `json:"start"`
	End   int `json:"end"`
	// Tokens is the number of tokens of the content.
	Tokens int `json:"tokens"`
	// Model is the embedding model of its vector, or empty without a vector.
	Model string `json:"model,omitempty"`
}

// MaxURI is how many bytes a URI may have.
const MaxURI = 1024

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

// A Query selects the sources of its scope that fulfil all of its conditions.
type Query struct {
	// Scope is the scope to search.
	Scope memory.Scope
	// AnyWorkspace, AnyUser and AnyAgent ignore that part of the scope. The tenant always
	// counts. Do not set AnyUser for the question of a user.
	AnyWorkspace, AnyUser, AnyAgent bool
	// Inherit also selects sources of wider scopes: a source without an agent, user or
	// workspace matches any.
	Inherit bool
	// URIs, if not empty, selects the sources with one of at most 1000 URIs. Prefix selects the
	// sources whose URI begins with it.
	URIs   []string
	Prefix string
	// Where selects the sources whose metadata fulfil all conditions.
	Where []memory.Condition
	// Trusted selects the sources with [Document.Trusted]. Set it if untrusted content must not
	// influence the result. Answers to questions from documents do not need it.
	Trusted bool
}

const maxURIs = 1000

// Validate returns [memory.ErrInvalid] for an invalid query.
func (q *Query) Validate() error {
	facts := memory.Query{Scope: q.Scope, Where: q.Where}
	if err := facts.Validate(); err != nil {
		return err
	}
	if len(q.URIs) > maxURIs || len(q.Prefix) > MaxURI || !input.Storable(q.Prefix) {
		return fmt.Errorf("%d URIs, and a prefix of %d bytes: %w", len(q.URIs), len(q.Prefix), memory.ErrInvalid)
	}
	for _, uri := range q.URIs {
		if !input.Storable(uri) || len(uri) > MaxURI {
			return fmt.Errorf("URI %.60q is not UTF-8, has a NUL or is too long: %w", uri, memory.ErrInvalid)
		}
	}
	return nil
}

// Match reports whether the query selects a source. Stores without a query language use it.
func (q *Query) Match(s *Source) bool {
	if s.Scope.Tenant != q.Scope.Tenant || q.Trusted && s.Trust == memory.Untrusted || !strings.HasPrefix(s.URI, q.Prefix) {
		return false
	}
	for _, part := range []struct {
		has, want string
		any       bool
	}{
		{s.Scope.Workspace, q.Scope.Workspace, q.AnyWorkspace}, {s.Scope.User, q.Scope.User, q.AnyUser}, {s.Scope.Agent, q.Scope.Agent, q.AnyAgent},
	} {
		if !part.any && part.has != part.want && (!q.Inherit || part.has != "") {
			return false
		}
	}
	named := len(q.URIs) == 0
	for _, uri := range q.URIs {
		named = named || uri == s.URI
	}
	for _, c := range q.Where {
		named = named && c.Match(s.Metadata)
	}
	return named
}
