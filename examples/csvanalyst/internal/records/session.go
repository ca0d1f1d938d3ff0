package records

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"
)

// A Session is a conversation of a user. Title is the beginning of the user's first message, or else the name of
// the first file.
type Session struct {
	ID        string
	UserID    string
	Title     string
	CreatedAt time.Time
	UpdatedAt time.Time
}

const sessions = `SELECT id, "userId", "createdAt", "updatedAt",
	coalesce((SELECT substr(content, 1, 80) FROM message m WHERE m."sessionId" = session.id AND role = 'user' ORDER BY m.id LIMIT 1),
		(SELECT "originalName" FROM resource r WHERE r."sessionId" = session.id ORDER BY r."createdAt" LIMIT 1), '')
	FROM session `

func scanSession(scan func(...any) error) (s Session, err error) {
	err = scan(&s.ID, &s.UserID, &s.CreatedAt, &s.UpdatedAt, &s.Title)
	return s, err
}

// CreateSession makes a session of a user, or returns an [ErrQuota].
func (d *DB) CreateSession(ctx context.Context, user string) (Session, error) {
	return d.EnsureSession(ctx, user, rand.Text())
}

// EnsureSession returns a session of a user, and makes it if there is none with the id. For a session of another
// user it returns [ErrNotFound], and above the limit [ErrQuota].
func (d *DB) EnsureSession(ctx context.Context, user, id string) (Session, error) {
	made, err := d.exec(ctx, `INSERT INTO session (id, "userId", "createdAt", "updatedAt") SELECT ?1, ?2, ?3, ?3
		WHERE CAST(?4 AS BIGINT) = 0 OR (SELECT count(*) FROM session WHERE "userId" = ?2) < CAST(?4 AS BIGINT) ON CONFLICT DO NOTHING`, id, user, now(), int64(d.Limits.Sessions))
	if err != nil {
		return Session{}, err
	}
	s, err := d.Session(ctx, user, id)
	if made == 0 && errors.Is(err, ErrNotFound) && d.Limits.Sessions > 0 {
		others, countErr := one(all(ctx, d, scanCount, `SELECT count(*) FROM session WHERE "userId" = ?1`, user))
		if countErr == nil && others >= int64(d.Limits.Sessions) {
			return s, fmt.Errorf("%w: a user may have %d conversations; delete one first", ErrQuota, d.Limits.Sessions)
		}
	}
	return s, err
}

func scanCount(scan func(...any) error) (n int64, err error) {
	err = scan(&n)
	return n, err
}

// Session returns a session of a user, or [ErrNotFound].
func (d *DB) Session(ctx context.Context, user, id string) (Session, error) {
	return one(all(ctx, d, scanSession, sessions+`WHERE id = ?1 AND "userId" = ?2`, id, user))
}

// Sessions returns the newest sessions of a user.
func (d *DB) Sessions(ctx context.Context, user string) ([]Session, error) {
	return all(ctx, d, scanSession, sessions+`WHERE "userId" = ?1 ORDER BY "updatedAt" DESC, id LIMIT 100`, user)
}

// Touch sets the time of the last change of a session.
func (d *DB) Touch(ctx context.Context, id string) error {
	_, err := d.exec(ctx, `UPDATE session SET "updatedAt" = ?1 WHERE id = ?2`, now(), id)
	return err
}

// DeleteSession removes a session with its messages and resources.
func (d *DB) DeleteSession(ctx context.Context, id string) error {
	_, err := d.exec(ctx, `DELETE FROM session WHERE id = ?1`, id)
	return err
}
