package records

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"
)

// A Resource is a file of a session. StoredPath is the path of its content below the data folder. The path does not
// depend on the original name.
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

// CreateResource stores a resource, or returns an [ErrQuota].
func (d *DB) CreateResource(ctx context.Context, r Resource) error {
	made, err := d.exec(ctx, `INSERT INTO resource (id, "sessionId", "mimeType", "originalName", "storedPath", "sizeBytes", "createdAt")
		SELECT ?1, ?2, ?3, ?4, ?5, CAST(?6 AS BIGINT), ?7
		WHERE (CAST(?8 AS BIGINT) = 0 OR (SELECT count(*) FROM resource WHERE "sessionId" = ?2) < CAST(?8 AS BIGINT))
			AND (CAST(?9 AS BIGINT) = 0 OR (SELECT coalesce(sum("sizeBytes"), 0) FROM resource) + CAST(?6 AS BIGINT) <= CAST(?9 AS BIGINT))`,
		r.ID, r.SessionID, r.MIMEType, r.OriginalName, r.StoredPath, r.SizeBytes, now(), int64(d.Limits.Files), d.Limits.Bytes)
	if err == nil && made == 0 {
		return errors.Join(d.Room(ctx, r.SessionID, r.SizeBytes), fmt.Errorf("%w: the file was not stored", ErrQuota))
	}
	return err
}

// Room returns an [ErrQuota] if the session already has the maximum number of files, or if another file of the given size
// would exceed the limit of all files together.
func (d *DB) Room(ctx context.Context, session string, bytes int64) error {
	files, err := one(all(ctx, d, scanCount, `SELECT count(*) FROM resource WHERE "sessionId" = ?1`, session))
	if err != nil {
		return err
	}
	if d.Limits.Files > 0 && files >= int64(d.Limits.Files) {
		return fmt.Errorf("%w: a conversation may have %d files; remove one first", ErrQuota, d.Limits.Files)
	}
	used, err := one(all(ctx, d, scanCount, `SELECT CAST(coalesce(sum("sizeBytes"), 0) AS BIGINT) FROM resource`))
	if err != nil {
		return err
	}
	if d.Limits.Bytes > 0 && used+bytes > d.Limits.Bytes {
		return fmt.Errorf("%w: the files of all users may have %d MiB together", ErrQuota, d.Limits.Bytes>>20)
	}
	return nil
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
