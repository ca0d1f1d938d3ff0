package sqlitememory

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/weft-go/weft/internal/sqlitedb"
	"github.com/weft-go/weft/memory/driver"
)

// A row is a [driver.FactRecord] with its key in the table and the key of its scope.
type row struct {
	driver.FactRecord
	key, scope int64
}

func (r *row) rowKey() int64 { return r.key }

// columns are the columns of mem_fact that hold a fact.
var columns = []string{
	"scope", "id", "kind", "digest", "trust", "importance", "valid_from", "valid_to", "superseded_by", "expires_at",
	"created_at", "updated_at", "version", "conversation", "turn", "words", "model", "dimension", "norm", "checksum",
	"metadata", "content", "terms", "embedding",
}

var (
	insertFact = insertInto("mem_fact", columns)
	updateFact = updateByKey("mem_fact", columns)
	// closeFact does not write the large columns.
	closeFact = `UPDATE mem_fact SET valid_to = ?, superseded_by = ?, updated_at = ?, version = ? WHERE key = ?`

	selectFact = `SELECT f.key, f.` + strings.Join(columns, ", f.") + `, s.tenant, s.workspace, s.user, s.agent`
	factByID   = selectFact + ` FROM mem_fact f JOIN mem_scope s ON s.key = f.scope WHERE f.scope = ? AND f.id = ?`
	factByKey  = selectFact + ` FROM mem_fact f JOIN mem_scope s ON s.key = f.scope WHERE f.key = ?`
	// CROSS JOIN makes SQLite read the keys first.
	factsByKeys = selectFact + ` FROM json_each(?) j CROSS JOIN mem_fact f ON f.key = j.value CROSS JOIN mem_scope s ON s.key = f.scope
		WHERE true`
)

// values returns the values of the columns.
func (r *row) values() ([]any, error) {
	id, ok := packID(r.ID)
	if !ok {
		return nil, fmt.Errorf("id %.60q is no UUID: %w", r.ID, driver.ErrInvalid)
	}
	terms, embedding := packTerms(r.Terms), packVector(r.Embedding)
	var metadata sql.NullString
	if r.Metadata != nil {
		metadata = sql.NullString{String: string(r.Metadata), Valid: true}
	}
	return []any{
		r.scope, id, string(r.Kind), r.Key[:], trustColumn(r.Trust), r.Importance, r.ValidFrom.UnixMicro(), micros(r.ValidTo), r.SupersededBy,
		micros(r.ExpiresAt), r.CreatedAt.UnixMicro(), r.UpdatedAt.UnixMicro(), r.Version, r.Conversation, r.Turn,
		len(r.Terms), r.Model, len(r.Embedding), length(r.Embedding), checksum(id, []byte(metadata.String), []byte(r.Content), terms, embedding),
		metadata, r.Content, terms, embedding,
	}, nil
}

// scanRow reads a fact. It returns [ErrCorrupt] if the checksum or a size of the row is wrong.
func scanRow(scan func(...any) error) (*row, error) {
	var (
		r                          row
		id, digest, terms, vector  []byte
		kind                       string
		from, created, updated     int64
		to, expires                sql.NullInt64
		metadata                   sql.NullString
		trust, words, dimension    int
		stored                     int64
		norm                       float64
		tenant, space, user, agent string
	)
	err := scan(&r.key, &r.scope, &id, &kind, &digest, &trust, &r.Importance, &from, &to, &r.SupersededBy, &expires,
		&created, &updated, &r.Version, &r.Conversation, &r.Turn, &words, &r.Model, &dimension, &norm, &stored,
		&metadata, &r.Content, &terms, &vector, &tenant, &space, &user, &agent)
	if err != nil {
		return nil, err
	}
	var known bool
	r.ID = spellID(id)
	r.Trust, known = trustOf(trust)
	if len(id) != 16 || len(digest) != 16 || len(vector) != 4*dimension || !known ||
		stored != checksum(id, []byte(metadata.String), []byte(r.Content), terms, vector) {
		return nil, fmt.Errorf("fact %s: %w", r.ID, ErrCorrupt)
	}
	if r.Terms, err = unpackTerms(terms); err != nil || len(r.Terms) != words {
		return nil, fmt.Errorf("terms of fact %s: %w", r.ID, ErrCorrupt)
	}
	if metadata.Valid {
		r.Metadata = json.RawMessage(metadata.String)
	}
	r.Scope = driver.Scope{Tenant: tenant, Workspace: space, User: user, Agent: agent}
	r.Kind, r.Key, r.Embedding = driver.Kind(kind), [16]byte(digest), unpackVector(vector)
	r.ValidFrom, r.ValidTo, r.ExpiresAt = timeOf(from), maybeTime(to), maybeTime(expires)
	r.CreatedAt, r.UpdatedAt = timeOf(created), timeOf(updated)
	return &r, nil
}

// oneRow returns the first row of a query, or nil if there is none.
func oneRow(q *sqlitedb.Session, query string, args ...any) (r *row, err error) {
	err = q.Each(query, args, func(scan func(...any) error) (bool, error) {
		r, err = scanRow(scan)
		return false, err
	})
	return r, err
}
