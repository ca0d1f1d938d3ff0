package pgmemory

import (
	"encoding/json"

	"github.com/jackc/pgx/v5"

	"github.com/weft-go/weft/memory/driver"
)

var chunkTable = table{
	"weft.mem_chunk", "mem_chunk_near_",
	`(weft.mem_chunk f JOIN weft.mem_source o ON o.key = f.source JOIN weft.mem_shelf s ON s.key = f.shelf)`,
}

const (
	// sourceColumns are the columns of a source o on a shelf s, its key first. A shelf is the row
	// of a scope in mem_shelf.
	sourceColumns = `o.key, o.id::text, s.tenant, s.workspace, s.user_id, s.agent, o.uri, o.title, o.version, o.format, o.trust, o.raw, o.sha256, o.size,
	o.chunks, o.recipe, o.model, o.revision, o.created_at, o.updated_at`

	// placeColumns are the columns of a chunk f of a source o.
	placeColumns = `f.key, f.id::text, o.id::text, f.ordinal, f.headings, f.content, f.starts, f.ends, f.tokens, f.model`
)

// A shelved is a source with its key, and with the scanned values that are converted to fields of the
// source.
type shelved struct {
	driver.Source
	key    int64
	format string
	trust  int16
	raw    []byte
}

// dest returns the scan destinations for sourceColumns. After each scan, call done to set the
// remaining fields.
func (s *shelved) dest() (columns []any, done func()) {
	columns = []any{
		&s.key, &s.ID, &s.Scope.Tenant, &s.Scope.Workspace, &s.Scope.User, &s.Scope.Agent, &s.URI, &s.Title, &s.Version, &s.format, &s.trust, &s.raw,
		&s.SHA256, &s.Size, &s.Chunks, &s.Recipe, &s.Model, &s.Revision, &s.CreatedAt, &s.UpdatedAt,
	}
	return columns, func() {
		s.Format, s.Trust = s.format, trustOf(s.trust)
		s.CreatedAt, s.UpdatedAt = s.CreatedAt.UTC(), s.UpdatedAt.UTC()
		if s.Metadata = nil; s.raw != nil {
			s.Metadata = json.RawMessage(s.raw)
		}
	}
}

func scanSource(rows pgx.Rows) (shelved, error) {
	var s shelved
	columns, done := s.dest()
	err := rows.Scan(columns...)
	done()
	return s, err
}

// chunkDest returns the scan destinations for placeColumns.
func chunkDest(key *int64, c *driver.Chunk) []any {
	return []any{key, &c.ID, &c.Source, &c.Ordinal, &c.Headings, &c.Content, &c.Start, &c.End, &c.Tokens, &c.Model}
}

// plainChunk sets empty headings to nil, which is their value before the chunk is stored.
func plainChunk(c driver.Chunk) driver.Chunk {
	if len(c.Headings) == 0 {
		c.Headings = nil
	}
	return c
}
