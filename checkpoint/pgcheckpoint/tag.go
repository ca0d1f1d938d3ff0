package pgcheckpoint

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/weft-go/weft/checkpoint"
)

const (
	// tagQuery has the parameters tenant, thread, namespace, id and tag. It returns a row
	// if the checkpoint exists.
	tagQuery = `INSERT INTO weft.cp_tag (thread, name, seq) SELECT s.thread, $5::text, s.seq
	FROM weft.cp_thread t JOIN weft.cp_step s ON s.thread = t.key AND s.id = $4::uuid
		AND s.space = weft.cp_space_key(t.key, $3::text)
	WHERE t.tenant = $1::text AND t.id = $2::text FOR UPDATE OF t
	ON CONFLICT (thread, name) DO UPDATE SET seq = excluded.seq RETURNING seq`

	// untagQuery has the parameters tenant, thread and tag.
	untagQuery = `DELETE FROM weft.cp_tag g USING weft.cp_thread t
	WHERE t.tenant = $1::text AND t.id = $2::text AND g.thread = t.key AND g.name = $3::text`

	// tagsQuery has the parameters tenant and thread.
	tagsQuery = `SELECT g.name, s.id, s.name, coalesce(v.name, '') FROM weft.cp_thread t
	JOIN weft.cp_tag g ON g.thread = t.key
	JOIN weft.cp_step s ON s.thread = g.thread AND s.seq = g.seq
	LEFT JOIN weft.cp_space v ON v.thread = s.thread AND v.key = s.space
	WHERE t.tenant = $1::text AND t.id = $2::text`
)

// Tag gives a tag to a checkpoint. If another checkpoint of the thread has the tag, Tag
// moves the tag. Prune keeps checkpoints with a tag. Tag returns [checkpoint.ErrNotFound] if
// the checkpoint does not exist, and [checkpoint.ErrInvalid] for an empty tag.
func (s *Store) Tag(ctx context.Context, k checkpoint.Key, tag string) error {
	err := k.Check()
	if err == nil {
		err = checkKey(k)
	}
	if err == nil {
		err = checkTag(tag)
	}
	found := false
	if err == nil {
		args := []any{s.tenant, k.Thread, k.Namespace, packID(k.ID).uuid, tag}
		err = s.query(ctx, tagQuery, args, func(pgx.Rows) error { found = true; return nil })
	}
	if err == nil && !found {
		err = checkpoint.ErrNotFound
	}
	if err != nil {
		return s.fail(fmt.Sprintf("tag %q", tag), k, err)
	}
	return nil
}

func checkTag(tag string) error {
	if tag == "" {
		return fmt.Errorf("empty tag: %w", checkpoint.ErrInvalid)
	}
	return checkName("tag", tag)
}

// Untag removes a tag from a thread. It returns nil if the tag does not exist.
func (s *Store) Untag(ctx context.Context, thread, tag string) error {
	k := checkpoint.Key{Thread: thread}
	err := checkKey(k)
	if err == nil {
		err = checkTag(tag)
	}
	if err == nil {
		err = s.query(ctx, untagQuery, []any{s.tenant, thread, tag}, ignoreRow)
	}
	if err != nil {
		return s.fail(fmt.Sprintf("untag %q", tag), k, err)
	}
	return nil
}

// Tags returns the tags of a thread with the keys of their checkpoints.
func (s *Store) Tags(ctx context.Context, thread string) (map[string]checkpoint.Key, error) {
	k := checkpoint.Key{Thread: thread}
	if err := checkKey(k); err != nil {
		return nil, s.fail("tags", k, err)
	}
	tags := map[string]checkpoint.Key{}
	err := s.query(ctx, tagsQuery, []any{s.tenant, thread}, func(rows pgx.Rows) error {
		var name string
		var tagged id
		at := k
		if err := rows.Scan(&name, &tagged.uuid, &tagged.name, &at.Namespace); err != nil {
			return err
		}
		var err error
		at.ID, err = tagged.text()
		tags[name] = at
		return err
	})
	if err != nil {
		return nil, s.fail("tags", k, err)
	}
	return tags, nil
}
