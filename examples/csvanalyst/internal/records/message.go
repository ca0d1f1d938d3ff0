package records

import (
	"context"
	"database/sql"
	"encoding/json"
	"time"
)

// An Image is an image of a message.
type Image struct {
	Data         []byte `json:"data"` // base64 in JSON
	MIMEType     string `json:"mimeType"`
	OriginalName string `json:"originalName,omitempty"`
}

// A Message is a message of a session. The column metadata has its images as {"images": […]}, or null without
// images.
type Message struct {
	ID        int64
	SessionID string
	Role      string
	Content   string
	Images    []Image
	CreatedAt time.Time
}

type metadata struct {
	Images []Image `json:"images"`
}

func (m Message) metadata() (any, error) {
	if len(m.Images) == 0 {
		return nil, nil
	}
	data, err := json.Marshal(metadata{m.Images})
	return string(data), err
}

func scanMessage(scan func(...any) error) (m Message, err error) {
	var data sql.NullString
	if err = scan(&m.ID, &m.SessionID, &m.Role, &m.Content, &data, &m.CreatedAt); err != nil || !data.Valid {
		return m, err
	}
	var meta metadata
	err = json.Unmarshal([]byte(data.String), &meta)
	m.Images = meta.Images
	return m, err
}

// Messages returns the messages of a session, in order.
func (d *DB) Messages(ctx context.Context, session string) ([]Message, error) {
	return all(ctx, d, scanMessage, `SELECT id, "sessionId", role, content, metadata, "createdAt" FROM message WHERE "sessionId" = ?1 ORDER BY id`, session)
}

// CreateMessage stores a message and returns its id.
func (d *DB) CreateMessage(ctx context.Context, m Message) (int64, error) {
	meta, err := m.metadata()
	if err != nil {
		return 0, err
	}
	return one(all(ctx, d, func(scan func(...any) error) (id int64, err error) { return id, scan(&id) },
		`INSERT INTO message ("sessionId", role, content, metadata, "createdAt") VALUES (?1, ?2, ?3, ?4, ?5) RETURNING id`,
		m.SessionID, m.Role, m.Content, meta, now()))
}

// SaveMessage stores a message unless the session has one with the same role and content. It reports whether it
// stored the message.
func (d *DB) SaveMessage(ctx context.Context, m Message) (bool, error) {
	found, err := all(ctx, d, func(scan func(...any) error) (n int64, err error) { return n, scan(&n) },
		`SELECT id FROM message WHERE "sessionId" = ?1 AND role = ?2 AND content = ?3 LIMIT 1`, m.SessionID, m.Role, m.Content)
	if err != nil || len(found) > 0 {
		return false, err
	}
	_, err = d.CreateMessage(ctx, m)
	return err == nil, err
}

// DeleteMessage removes a message.
func (d *DB) DeleteMessage(ctx context.Context, id int64) error {
	_, err := d.exec(ctx, `DELETE FROM message WHERE id = ?1`, id)
	return err
}
