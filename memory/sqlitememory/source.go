package sqlitememory

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/weft-go/weft/internal/sqlitedb"
	"github.com/weft-go/weft/memory/driver"
)

// A source is a [driver.Source] with its key in the table.
type source struct {
	driver.Source
	key int64
}

func (s *source) rowKey() int64 { return s.key }

var (
	sourceColumns = []string{
		"scope", "id", "uri", "title", "version", "format", "trust", "sha256", "size", "chunks", "recipe", "model",
		"revision", "created_at", "updated_at", "checksum", "metadata",
	}
	insertSource = insertInto("mem_source", sourceColumns)
	updateSource = updateByKey("mem_source", sourceColumns)
	sourceFields = `SELECT f.key, f.` + strings.Join(sourceColumns[1:], ", f.") + `, c.tenant, c.workspace, c.user, c.agent`
	selectSource = sourceFields + ` FROM mem_source f JOIN mem_source_scope c ON c.key = f.scope WHERE `
	// CROSS JOIN makes SQLite read the keys first.
	sourcesByKeys = sourceFields + ` FROM json_each(?) j CROSS JOIN mem_source f ON f.key = j.value CROSS JOIN mem_source_scope c ON c.key = f.scope`
)

// columns returns the column values of a source.
func (s *source) columns(scope int64) ([]any, error) {
	id, ok := packID(s.ID)
	if !ok {
		return nil, fmt.Errorf("id %.60q is no UUID: %w", s.ID, driver.ErrInvalid)
	}
	metadata := sql.NullString{String: string(s.Metadata), Valid: s.Metadata != nil}
	return []any{
		scope, id, s.URI, s.Title, s.Version, string(s.Format), trustColumn(s.Trust), s.SHA256, s.Size, s.Chunks, s.Recipe, s.Model,
		s.Revision, s.CreatedAt.UnixMicro(), s.UpdatedAt.UnixMicro(), s.checksum(id), metadata,
	}, nil
}

func (s *source) checksum(id []byte) int64 {
	return checksum(id, []byte(s.URI), []byte(s.Title), []byte(s.Version), []byte(s.Format), []byte(s.SHA256), []byte(s.Recipe), []byte(s.Model), s.Metadata)
}

// scanSource reads a source. It returns [ErrCorrupt] if the checksum or a size of the row is wrong.
func scanSource(scan func(...any) error) (*source, error) {
	var (
		s                        source
		id                       []byte
		format                   string
		trust                    int
		created, updated, stored int64
		metadata                 sql.NullString
		at                       = &s.Scope
	)
	err := scan(&s.key, &id, &s.URI, &s.Title, &s.Version, &format, &trust, &s.SHA256, &s.Size, &s.Chunks, &s.Recipe, &s.Model,
		&s.Revision, &created, &updated, &stored, &metadata, &at.Tenant, &at.Workspace, &at.User, &at.Agent)
	if err != nil {
		return nil, err
	}
	if metadata.Valid {
		s.Metadata = json.RawMessage(metadata.String)
	}
	var known bool
	s.ID, s.Format = spellID(id), format
	s.Trust, known = trustOf(trust)
	s.CreatedAt, s.UpdatedAt = timeOf(created), timeOf(updated)
	if len(id) != 16 || !known || stored != s.checksum(id) {
		return nil, fmt.Errorf("source %.60q: %w", s.URI, ErrCorrupt)
	}
	return &s, nil
}

// findSource returns the source with a URI, or nil if it does not exist.
func findSource(q *sqlitedb.Session, scope int64, uri string) (s *source, err error) {
	err = q.Each(selectSource+`f.scope = ? AND f.uri = ?`, []any{scope, uri}, func(scan func(...any) error) (bool, error) {
		s, err = scanSource(scan)
		return false, err
	})
	return s, err
}
