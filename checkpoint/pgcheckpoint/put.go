package pgcheckpoint

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/weft-go/weft/checkpoint"
)

// putQuery has the parameters tenant, thread, owner, epoch and time of a lease;
// namespace, id, name, parent and head; whether the checkpoint may be stored already;
// step, source and settles; digest, run, version and metadata; control, changes and
// snapshot.
const putQuery = `SELECT weft.cp_put(
	$1::text, $2::text, $3::uuid, $4::int, $5::float8,
	$6::text, $7::uuid, $8::text, $9::uuid, $10::uuid, $11::boolean,
	$12::bigint, $13::text, $14::boolean,
	$15::bytea, $16::text, $17::text, $18::text::jsonb,
	$19::bytea, $20::bytea, $21::bytea)`

// putRepeated is the index of the argument that is set when the checkpoint may be
// stored already.
const putRepeated = 10

// Put implements [checkpoint.Store].
func (s *Store) Put(ctx context.Context, c checkpoint.Checkpoint, head string) error {
	return s.put(ctx, &c, head, nil)
}

// put stores a checkpoint. The argument l is the lease of the thread, or nil for a caller
// without a lease.
func (s *Store) put(ctx context.Context, c *checkpoint.Checkpoint, head string, l *lease) error {
	if err := c.Check(s.maxValue); err != nil {
		return err
	}
	args, err := s.putArgs(c, head, l)
	if err != nil {
		return s.fail("put", c.Key, err)
	}
	var status int
	text := s.sql(putQuery)
	err = s.retry(ctx, s.timeout, func(t try) error {
		args[putRepeated] = t.repeated
		return s.link.send(ctx, t.limit, text, args, func(rows pgx.Rows) error { return rows.Scan(&status) })
	})
	if err == nil {
		err = putError(status, c, head)
	}
	if err != nil {
		return s.fail("put", c.Key, err)
	}
	return nil
}

func (s *Store) putArgs(c *checkpoint.Checkpoint, head string, l *lease) ([]any, error) {
	if err := checkKey(c.Key); err != nil {
		return nil, err
	}
	if err := checkText("source", string(c.Source)); err != nil {
		return nil, err
	}
	info := runInfo{c.Run, c.Version, c.Metadata}
	if err := info.check(); err != nil {
		return nil, err
	}
	meta, err := metaJSON(c.Metadata)
	if err != nil {
		return nil, err
	}
	digest, source := info.digest(), string(c.Source)
	h := header{id: c.ID, parent: c.Parent, namespace: c.Namespace, step: c.Step, source: source, digest: digest}
	own := packID(c.ID)
	var snapshot []byte
	kind, before := byte(tiedChanges), c.Parent
	if c.Snapshot != nil {
		snapshot = tie(packChanges(c.Snapshot), valueSum(tiedSnapshot, c.ID, source, ""))
		kind, before = tiedSnapshotChanges, ""
	}
	changes := tie(packChanges(c.Changes), valueSum(kind, c.ID, source, before))
	return []any{
		s.tenant, c.Thread, l.ownerID(), l.number(), s.leaseTime.Seconds(),
		c.Namespace, own.uuid, own.name, optionalID(c.Parent), optionalID(head), false,
		int64(c.Step), source, c.Settles,
		digest, c.Run, c.Version, meta,
		h.sealControl(c.Control), changes, snapshot,
	}, nil
}

// putError returns the error of a status of cp_put.
func putError(status int, c *checkpoint.Checkpoint, head string) error {
	switch status {
	case statusDone:
		return nil
	case statusFenced:
		return ErrFenced
	case statusNotFound:
		return fmt.Errorf("the parent %q: %w", c.Parent, checkpoint.ErrNotFound)
	}
	return fmt.Errorf("the newest checkpoint is not %q, or the id exists already: %w", head, checkpoint.ErrConflict)
}

// ownerID returns the owner of the lease, or null if there is no lease.
func (l *lease) ownerID() pgtype.UUID {
	if l == nil {
		return pgtype.UUID{}
	}
	return l.owner
}

// number returns the epoch of the lease, or 0 if there is no lease.
func (l *lease) number() int32 {
	if l == nil {
		return 0
	}
	return l.epoch
}
