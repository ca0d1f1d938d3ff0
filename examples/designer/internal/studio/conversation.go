package studio

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// A Conversation is a conversation of a user with one agent.
type Conversation struct {
	ID, User, Agent, Title string
	Updated                time.Time
}

// Begin stores a conversation, or sets the time and an empty title of the stored one. If the id belongs
// to another user or agent, Begin returns [ErrNotFound].
func (d *DB) Begin(ctx context.Context, c Conversation) error {
	result, err := d.db.ExecContext(ctx, d.in(`INSERT INTO designer_conversation (id, user_id, agent_id, title, updated) VALUES (?1, ?2, ?3, ?4, ?5)
		ON CONFLICT (id) DO UPDATE SET updated = excluded.updated,
			title = CASE WHEN designer_conversation.title = '' THEN excluded.title ELSE designer_conversation.title END
		WHERE designer_conversation.user_id = excluded.user_id AND designer_conversation.agent_id = excluded.agent_id`),
		c.ID, c.User, c.Agent, c.Title, time.Now().UnixMicro())
	if err != nil {
		return fmt.Errorf("studio: conversation: %w", err)
	}
	if n, err := result.RowsAffected(); err != nil || n == 0 {
		return errors.Join(err, ErrNotFound)
	}
	return nil
}

const conversations = `SELECT id, user_id, agent_id, title, updated FROM designer_conversation `

// Conversation returns a conversation of a user, or [ErrNotFound].
func (d *DB) Conversation(ctx context.Context, user, id string) (Conversation, error) {
	found, err := d.list(ctx, conversations+`WHERE user_id = ?1 AND id = ?2`, user, id)
	if err == nil && len(found) == 0 {
		err = ErrNotFound
	}
	if err != nil {
		return Conversation{}, err
	}
	return found[0], nil
}

// Conversations returns up to 100 conversations of a user, newest first.
func (d *DB) Conversations(ctx context.Context, user string) ([]Conversation, error) {
	return d.list(ctx, conversations+`WHERE user_id = ?1 ORDER BY updated DESC, id LIMIT 100`, user)
}

func (d *DB) list(ctx context.Context, statement string, args ...any) (out []Conversation, err error) {
	err = d.each(ctx, func(rows *sql.Rows) error {
		var c Conversation
		var updated int64
		err := rows.Scan(&c.ID, &c.User, &c.Agent, &c.Title, &updated)
		c.Updated = time.UnixMicro(updated).UTC()
		out = append(out, c)
		return err
	}, statement, args...)
	return out, err
}

// End removes a conversation. Its quotes, orders and scenes stay.
func (d *DB) End(ctx context.Context, user, id string) error {
	_, err := d.db.ExecContext(ctx, d.in(`DELETE FROM designer_conversation WHERE user_id = ?1 AND id = ?2`), user, id)
	return err
}
