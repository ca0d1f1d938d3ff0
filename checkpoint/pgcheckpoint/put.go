package pgcheckpoint

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/weft-go/weft/checkpoint"
)

// putQuery takes tenant, thread, owner, epoch and time of a lease; namespace, id,
// name, parent and head; whether it may be stored already; step, source and
// settles; digest, run, version and metadata; control, changes and snapshot.
const putQuery = `SELECT weft.cp_put(
	$1::text, $2::text, $3::uuid, $4::int, $5::float8,
	$6::text, $7::uuid, $8::text, $9::uuid, $10::uuid, $11::boolean,
	$12::bigint, $13::text, $14::boolean,
	$15::bytea, $16::text, $17::text, $18::text::jsonb,
	$19::bytea, $20::bytea, $21::bytea)`

// putAgain is the index of the argument that says whether it may be stored already.
const putAgain = 10

// Put implements [checkpoint.Store].
func (s *Store) Put(ctx context.Context, c checkpoint.Checkpoint, head string) error {
	return s.put(ctx, &c, head, nil)
}

// put stores a checkpoint under a lease, or nil for none.
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
	err = s.retry(ctx, func(again bool) error {
		args[putAgain] = again
		return s.link.send(ctx, s.timeout, text, args, func(rows pgx.Rows) error { return rows.Scan(&status) })
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
	o := origin{c.Run, c.Version, c.Metadata}
	if err := o.check(); err != nil {
		return nil, err
	}
	meta, err := metaJSON(c.Metadata)
	if err != nil {
		return nil, err
	}
	h := header{id: c.ID, parent: c.Parent, step: c.Step, source: c.Source}
	own := packID(c.ID)
	var snapshot []byte
	if c.Snapshot != nil {
		snapshot = packChanges(c.Snapshot)
	}
	return []any{
		s.tenant, c.Thread, l.owner(), l.number(), s.leaseTime.Seconds(),
		c.Namespace, own.uuid, own.name, optionalID(c.Parent), optionalID(head), false,
		int64(c.Step), string(c.Source), c.Settles,
		o.digest(), c.Run, c.Version, meta,
		h.sealControl(c.Control), packChanges(c.Changes), snapshot,
	}, nil
}

// putError says what a refusal means.
func putError(status int, c *checkpoint.Checkpoint, head string) error {
	switch status {
	case statusDone:
		return nil
	case statusFenced:
		return ErrFenced
	case statusNotFound:
		return fmt.Errorf("its parent %q: %w", c.Parent, checkpoint.ErrNotFound)
	}
	return fmt.Errorf("the newest is not %q, or its id exists: %w", head, checkpoint.ErrConflict)
}

// owner is null for no lease.
func (l *lease) owner() pgtype.UUID {
	if l == nil {
		return pgtype.UUID{}
	}
	return l.holder
}

func (l *lease) number() int32 {
	if l == nil {
		return 0
	}
	return l.epoch
}
