package pgmemory

import (
	"encoding/json"
	"time"

	"github.com/weft-go/weft/memory/driver"
)

const (
	// factColumns are the columns of a fact f without its vector.
	factColumns = `f.key, f.id::text, f.kind, f.content, f.said, f.raw, f.conversation, f.turn, f.trust, f.importance, f.valid_from, f.valid_to,
	f.superseded_by, f.expires_at, f.created_at, f.updated_at, f.version, f.terms, f.model, `
	// scopeColumns are the columns of a scope s.
	scopeColumns = `, s.tenant, s.workspace, s.user_id, s.agent`
)

// columns returns the columns of a fact f with its vector.
func (d *DB) columns() string { return factColumns + d.vector + `.vector_send(f.embedding)` }

// A row is a fact with its key, and with the scanned values that are converted to fields of the fact.
type row struct {
	driver.FactRecord
	key       int64
	kind      string
	trust     int16
	said, raw []byte
	vector    []byte
	to, ends  *time.Time
}

// dest returns the scan destinations for the columns.
func (r *row) dest() []any {
	return []any{
		&r.key, &r.ID, &r.kind, &r.Content, &r.said, &r.raw, &r.Conversation, &r.Turn, &r.trust, &r.Importance, &r.ValidFrom, &r.to,
		&r.SupersededBy, &r.ends, &r.CreatedAt, &r.UpdatedAt, &r.Version, &r.Terms, &r.Model, &r.vector,
	}
}

func scopeDest(s *driver.Scope) []any { return []any{&s.Tenant, &s.Workspace, &s.User, &s.Agent} }

// record returns the scanned fact.
func (r *row) record() (driver.FactRecord, error) {
	n := r.FactRecord
	copy(n.Key[:], r.said)
	if n.Metadata = nil; r.raw != nil {
		n.Metadata = json.RawMessage(r.raw)
	}
	n.Kind, n.Trust = driver.Kind(r.kind), trustOf(r.trust)
	n.ValidFrom, n.ValidTo, n.ExpiresAt, n.CreatedAt, n.UpdatedAt = r.ValidFrom.UTC(), maybe(r.to), maybe(r.ends), r.CreatedAt.UTC(), r.UpdatedAt.UTC()
	var err error
	n.Embedding, err = readVector(r.vector)
	return n, err
}

func maybe(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.UTC()
}

// optional returns nil for the zero time. It truncates other times to microseconds.
func optional(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC().Truncate(time.Microsecond)
	return &t
}
