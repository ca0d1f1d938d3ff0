package records

import (
	"context"
	"crypto/rand"
	"time"
)

// A Resource is a file of a session. StoredPath is where its content is, below
// the folder of the program's data; it is never made of the original name.
type Resource struct {
	ID           string
	SessionID    string
	MIMEType     string
	OriginalName string
	StoredPath   string
	SizeBytes    int64
	CreatedAt    time.Time
}

const resources = `SELECT id, "sessionId", "mimeType", "originalName", "storedPath", "sizeBytes", "createdAt" FROM resource `

func scanResource(scan func(...any) error) (r Resource, err error) {
	err = scan(&r.ID, &r.SessionID, &r.MIMEType, &r.OriginalName, &r.StoredPath, &r.SizeBytes, &r.CreatedAt)
	return r, err
}

// NewID returns an id for a resource.
func NewID() string { return rand.Text() }

// CreateResource stores a resource.
func (d *DB) CreateResource(ctx context.Context, r Resource) error {
	_, err := d.exec(ctx, `INSERT INTO resource (id, "sessionId", "mimeType", "originalName", "storedPath", "sizeBytes", "createdAt")
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)`, r.ID, r.SessionID, r.MIMEType, r.OriginalName, r.StoredPath, r.SizeBytes, now())
	return err
}

// Resources returns the files of a session, oldest first.
func (d *DB) Resources(ctx context.Context, session string) ([]Resource, error) {
	return all(ctx, d, scanResource, resources+`WHERE "sessionId" = ?1 ORDER BY "createdAt", id`, session)
}

// DeleteResource removes the record of a file.
func (d *DB) DeleteResource(ctx context.Context, id string) error {
	_, err := d.exec(ctx, `DELETE FROM resource WHERE id = ?1`, id)
	return err
}
