package pgruns

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/weft-go/weft/internal/pgdb"
	"github.com/weft-go/weft/server/runs"
)

const (
	insertRecord = `INSERT INTO weft.run_record (kind, id, parent, owner, graph, name, folded, status, created, updated, expires, labels, metadata, data)
	VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12::text::jsonb, $13, $14)`
	replaceRecord = `SELECT weft.run_replace($1, $2::text::uuid, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15::text::jsonb, $16, $17)`
	recordColumns = `kind, id, parent, owner, graph, name, status, created, updated, expires, metadata, data, revision`
	getRecord     = `SELECT ` + recordColumns + ` FROM weft.run_record WHERE kind = $1 AND id = $2`
	deleteRecord  = `SELECT weft.run_delete($1, $2)`
)

// fields returns the columns that Insert and Update write.
func fields(r *runs.Record) ([]any, error) {
	labels, err := labelsOf(r.Metadata)
	if err != nil {
		return nil, err
	}
	var expires *time.Time
	if !r.Expires.IsZero() {
		expires = &r.Expires
	}
	return []any{
		r.Parent, r.Owner, r.Graph, r.Name, strings.ToLower(r.Name), r.Status, r.Created, r.Updated, expires, labels,
		[]byte(r.Metadata), []byte(r.Data),
	}, nil
}

// scanRecord scans recordColumns.
func scanRecord(rows pgx.Rows) (runs.Record, error) {
	var r runs.Record
	var expires *time.Time
	var metadata, data []byte
	err := rows.Scan(&r.Kind, &r.ID, &r.Parent, &r.Owner, &r.Graph, &r.Name, &r.Status, &r.Created, &r.Updated, &expires, &metadata, &data, &r.Revision)
	r.Created, r.Updated = r.Created.UTC(), r.Updated.UTC()
	if expires != nil {
		r.Expires = expires.UTC()
	}
	r.Metadata, r.Data = metadata, data
	return r, err
}

// classify returns the error of package runs for an error code of the database.
func classify(about string, err error) error {
	e, ok := errors.AsType[*pgconn.PgError](err)
	if !ok {
		return err
	}
	switch e.Code {
	case "23505": // unique_violation
		err = runs.ErrExists
	case "WR001":
		err = runs.ErrConflict
	case "WR002":
		err = runs.ErrNotFound
	}
	return fmt.Errorf("%s %w", about, err)
}

func about(kind runs.Kind, id string) string { return fmt.Sprintf("%s %s", kind, id) }

// Insert implements [runs.Store].
func (s *Store) Insert(ctx context.Context, records ...runs.Record) error {
	var list []statement
	var ids []string
	for i := range records {
		r := &records[i]
		args, err := fields(r)
		if cerr := r.Check(); cerr != nil {
			err = cerr
		}
		if err != nil {
			return s.fail("insert", err)
		}
		ids = append(ids, about(r.Kind, r.ID))
		list = append(list, statement{insertRecord, append([]any{string(r.Kind), r.ID}, args...)})
	}
	sent := 0
	err := s.retries.Do(ctx, s.timeout, pgdb.AnyFault, func(ctx context.Context) error {
		sent++
		return s.send(ctx, list)
	})
	err = classify(strings.Join(ids, ", "), err)
	if sent > 1 && errors.Is(err, runs.ErrExists) {
		return s.inserted(ctx, &records[0], err)
	}
	if err != nil {
		return s.fail("insert", err)
	}
	return nil
}

// inserted returns nil if an earlier attempt, whose answer was lost, has stored this record. Otherwise it returns the
// error exists.
func (s *Store) inserted(ctx context.Context, r *runs.Record, exists error) error {
	got, err := s.Get(ctx, r.Kind, r.ID)
	if err != nil {
		return err
	}
	if got.Parent != r.Parent || got.Owner != r.Owner || !got.Created.Equal(r.Created.Truncate(time.Microsecond)) {
		return s.fail("insert", exists)
	}
	return nil
}

// Get implements [runs.Store].
func (s *Store) Get(ctx context.Context, kind runs.Kind, id string) (r runs.Record, err error) {
	err = s.query(ctx, getRecord, []any{string(kind), id}, func(rows pgx.Rows) (err error) {
		r, err = scanRecord(rows)
		return err
	})
	if err == nil && r.ID == "" {
		err = fmt.Errorf("%s %w", about(kind, id), runs.ErrNotFound)
	}
	if err != nil {
		return runs.Record{}, s.fail("get", err)
	}
	return r, nil
}

// Update implements [runs.Store].
func (s *Store) Update(ctx context.Context, r runs.Record) (int64, error) {
	one, err := replacement("", nil, &r)
	if err == nil {
		err = s.exec(ctx, pgdb.Unsent, one)
	}
	if err != nil {
		return 0, s.fail("update", classify(about(r.Kind, r.ID), err))
	}
	return r.Revision + 1, nil
}

// replacement returns the statement that replaces a record. The statement does nothing if the events of the batch are
// already stored in the log of the thread.
func replacement(thread string, batch *string, r *runs.Record) (statement, error) {
	if err := r.Check(); err != nil {
		return statement{}, err
	}
	args, err := fields(r)
	return statement{replaceRecord, append([]any{thread, batch, string(r.Kind), r.ID, r.Revision}, args...)}, err
}

// Delete implements [runs.Store].
func (s *Store) Delete(ctx context.Context, kind runs.Kind, id string) error {
	if err := s.exec(ctx, pgdb.Unsent, statement{deleteRecord, []any{string(kind), id}}); err != nil {
		return s.fail("delete", classify(about(kind, id), err))
	}
	return nil
}
