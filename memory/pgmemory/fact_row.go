package pgmemory

import (
	"encoding/json"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/weft-go/weft/memory"
)

// columns are those of a fact f in a scope s, after its key.
const columns = `f.key, s.tenant, s.workspace, s.user_id, s.agent, f.id::text, f.kind, f.content, f.said, f.raw, f.conversation, f.turn, f.trust,
	f.importance, f.valid_from, f.valid_to, f.superseded_by, f.expires_at, f.created_at, f.updated_at, f.version, f.terms, f.model`

// sendVector is the last column.
func (d *DB) columns() string { return columns + `, ` + d.vector + `.vector_send(f.embedding)` }

// A row is a fact with its key.
type row struct {
	memory.Record
	key int64
}

const columnCount = 24

// scanRow reads the columns, after others.
func scanRow(rows pgx.Rows, before ...any) (row, error) {
	var (
		r                   row
		said, raw, v        []byte
		kind                string
		to, expires         *time.Time
		from, made, changed time.Time
	)
	err := rows.Scan(append(before, &r.key, &r.Scope.Tenant, &r.Scope.Workspace, &r.Scope.User, &r.Scope.Agent, &r.ID, &kind, &r.Content, &said, &raw,
		&r.Conversation, &r.Turn, &r.Trust, &r.Importance, &from, &to, &r.SupersededBy, &expires, &made, &changed, &r.Version, &r.Terms, &r.Model, &v)...)
	if err != nil {
		return r, err
	}
	copy(r.Key[:], said)
	if raw != nil {
		r.Metadata = json.RawMessage(raw)
	}
	r.Kind = memory.Kind(kind)
	r.ValidFrom, r.ValidTo, r.ExpiresAt, r.CreatedAt, r.UpdatedAt = from.UTC(), maybe(to), maybe(expires), made.UTC(), changed.UTC()
	r.Embedding, err = readVector(v)
	return r, err
}

func maybe(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.UTC()
}

// optional is null for zero.
func optional(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC().Truncate(time.Microsecond)
	return &t
}
