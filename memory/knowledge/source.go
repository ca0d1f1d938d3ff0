package knowledge

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/knowledge/split"
)

// A Source is a document that was ingested.
type Source struct {
	// ID is a UUIDv7 that the source keeps as long as it is there.
	ID    string       `json:"id"`
	Scope memory.Scope `json:"scope,omitzero"`
	// URI names it in its scope: an address, a path, or any other text of up to
	// 1024 bytes.
	URI string `json:"uri"`
	// Title is what the caller, or else the document, calls it.
	Title string `json:"title,omitempty"`
	// Version is the caller's own: a date, a commit.
	Version string       `json:"version,omitempty"`
	Format  split.Format `json:"format"`
	// Trust says how far what it says may be relied on: [memory.Untrusted], unless who
	// ingested it set [Document.Trusted]. It does not change how a source is found;
	// [Query.Trusted] does.
	Trust memory.Trust `json:"trust,omitempty"`
	// Metadata is a JSON object of the caller's own, at most 16 KB, or nil. It stays as
	// it is, byte by byte.
	Metadata json.RawMessage `json:"metadata,omitempty"`
	// SHA256 is that of its bytes, in hexadecimal, and Size how many they are.
	SHA256 string `json:"sha256"`
	Size   int64  `json:"size"`
	// Chunks is how many it was cut into.
	Chunks int `json:"chunks"`
	// Recipe is equal for sources that were cut, and made findable, in the same way, with
	// vectors of one length, and Model is that of the vectors of all its chunks; empty if one
	// has none.
	Recipe string `json:"recipe"`
	Model  string `json:"model,omitempty"`
	// Revision counts its changes from 1. With CreatedAt and UpdatedAt it is the store's.
	Revision  int64     `json:"revision"`
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
}

// A Chunk is a part of a source, as it is found.
type Chunk struct {
	// ID is a UUID that follows from the scope, the URI and what the chunk says: it stays
	// the same as long as that does.
	ID string `json:"id"`
	// Source is the ID of its source, and Ordinal its place in it, from 0.
	Source  string `json:"source"`
	Ordinal int    `json:"ordinal"`
	// Headings are those that it stands under, the outermost first.
	Headings []string `json:"headings,omitempty"`
	Content  string   `json:"content"`
	// Start and End are the bytes of the source that it comes from.
	Start int `json:"start"`
	End   int `json:"end"`
	// Tokens is how many the content has.
	Tokens int `json:"tokens"`
	// Model is that of its vector; empty if it has none.
	Model string `json:"model,omitempty"`
}

// The limits of what a source says of itself, in bytes.
const (
	MaxURI      = 1024
	maxName     = 512
	maxMetadata = 16 << 10
)

// check returns the source as it is stored.
func (s Source) check() (Source, error) {
	s.Metadata = bytes.Clone(bytes.TrimSpace(s.Metadata))
	s.Title = strings.TrimSpace(s.Title)
	switch {
	case s.URI == "":
		return s, fmt.Errorf("no URI: %w", memory.ErrInvalid)
	case !storable(s.URI) || !storable(s.Version) || !storable(s.Title):
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
		return fmt.Errorf("metadata is no JSON object: %w", memory.ErrInvalid)
	case bytes.Contains(data, []byte(`\u0000`)) || !utf8.Valid(data):
		return fmt.Errorf("metadata is not UTF-8 or has a NUL: %w", memory.ErrInvalid)
	}
	return nil
}

func storable(text string) bool {
	return utf8.ValidString(text) && strings.IndexByte(text, 0) < 0
}

// A Query selects sources: those of its scope that fulfil all that it asks.
type Query struct {
	// Scope is where to look.
	Scope memory.Scope
	// AnyWorkspace, AnyUser and AnyAgent look in all of them, whatever the scope says
	// there; tenants never mix. AnyUser is not for what a user asks.
	AnyWorkspace, AnyUser, AnyAgent bool
	// Inherit looks also at what is known more widely: to a scope with an agent, also
	// what belongs to no agent; to one with a user, also to no user; to one with a
	// workspace, also to none.
	Inherit bool
	// URIs, if there are any, keeps the sources that have one of them, up to 1000, and
	// Prefix those whose URI begins with it.
	URIs   []string
	Prefix string
	// Where keeps the sources whose metadata fulfil all conditions.
	Where []memory.Condition
	// Trusted keeps the sources that somebody vouches for, see [Document.Trusted]: for what must
	// not follow from what anybody could have written. To answer questions from documents is
	// not such a case.
	Trusted bool
}

const maxURIs = 1000

// Validate returns [memory.ErrInvalid] for a query that can not be asked.
func (q *Query) Validate() error {
	facts := memory.Query{Scope: q.Scope, Where: q.Where}
	if err := facts.Validate(); err != nil {
		return err
	}
	if len(q.URIs) > maxURIs || len(q.Prefix) > MaxURI || !storable(q.Prefix) {
		return fmt.Errorf("%d URIs, and a prefix of %d bytes: %w", len(q.URIs), len(q.Prefix), memory.ErrInvalid)
	}
	for _, uri := range q.URIs {
		if !storable(uri) || len(uri) > MaxURI {
			return fmt.Errorf("URI %.60q is not UTF-8, has a NUL or is too long: %w", uri, memory.ErrInvalid)
		}
	}
	return nil
}

// Match says whether the query selects a source, for stores that can not ask a database.
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
