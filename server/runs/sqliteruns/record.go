package sqliteruns

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/weft-go/weft/internal/sqlitedb"
	"github.com/weft-go/weft/server/runs"
)

const (
	insertRecord = `INSERT INTO run_record (kind, id, parent, owner, graph, name, folded, status, created, updated, expires, metadata, data, revision)
	VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1)`
	recordColumns = `kind, id, parent, owner, graph, name, status, created, updated, expires, metadata, data, revision`
	getRecord     = `SELECT ` + recordColumns + ` FROM run_record WHERE kind = ? AND id = ?`
	getRevision   = `SELECT revision FROM run_record WHERE kind = ? AND id = ?`
	updateRecord  = `UPDATE run_record SET parent = ?, owner = ?, graph = ?, name = ?, folded = ?, status = ?, created = ?, updated = ?,
	expires = ?, metadata = ?, data = ?, revision = revision + 1 WHERE kind = ? AND id = ?`
	deleteRecord   = `DELETE FROM run_record WHERE kind = ? AND id = ?`
	deleteChildren = `DELETE FROM run_record WHERE kind = ? AND parent = ?`
)

// fields returns the columns that Insert and Update write.
func fields(r *runs.Record) []any {
	var expires any
	if !r.Expires.IsZero() {
		expires = r.Expires.UnixMicro()
	}
	return []any{
		r.Parent, r.Owner, r.Graph, r.Name, strings.ToLower(r.Name), r.Status, r.Created.UnixMicro(), r.Updated.UnixMicro(), expires,
		[]byte(r.Metadata), []byte(r.Data),
	}
}

// scanRecord scans recordColumns.
func scanRecord(scan func(...any) error) (runs.Record, error) {
	var r runs.Record
	var created, updated int64
	var expires *int64
	var metadata, data []byte
	err := scan(&r.Kind, &r.ID, &r.Parent, &r.Owner, &r.Graph, &r.Name, &r.Status, &created, &updated, &expires, &metadata, &data, &r.Revision)
	r.Created, r.Updated = time.UnixMicro(created).UTC(), time.UnixMicro(updated).UTC()
	if expires != nil {
		r.Expires = time.UnixMicro(*expires).UTC()
	}
	r.Metadata, r.Data = metadata, data
	return r, err
}

func failed(kind runs.Kind, id string, err error) error { return fmt.Errorf("%s %s %w", kind, id, err) }

// Insert implements [runs.Store].
func (s *Store) Insert(ctx context.Context, records ...runs.Record) error {
	for i := range records {
		if err := records[i].Check(); err != nil {
			return s.fail("insert", err)
		}
	}
	return s.change(ctx, "insert", func(w *sqlitedb.Session) error {
		for i := range records {
			r := &records[i]
			if _, err := w.Exec(insertRecord, append([]any{string(r.Kind), r.ID}, fields(r)...)...); sqlitedb.IsUnique(err) {
				return failed(r.Kind, r.ID, runs.ErrExists)
			} else if err != nil {
				return err
			}
		}
		return nil
	})
}

// Get implements [runs.Store].
func (s *Store) Get(ctx context.Context, kind runs.Kind, id string) (r runs.Record, err error) {
	err = s.read(ctx, "get", func(q *sqlitedb.Session) error {
		found := false
		err := q.Each(getRecord, []any{string(kind), id}, func(scan func(...any) error) (_ bool, err error) {
			found = true
			r, err = scanRecord(scan)
			return false, err
		})
		if err == nil && !found {
			err = failed(kind, id, runs.ErrNotFound)
		}
		return err
	})
	return r, err
}

// Update implements [runs.Store].
func (s *Store) Update(ctx context.Context, r runs.Record) (int64, error) {
	err := s.change(ctx, "update", func(w *sqlitedb.Session) error { return replace(w, &r) })
	if err != nil {
		return 0, err
	}
	return r.Revision + 1, nil
}

// replace replaces a record with the same revision.
func replace(w *sqlitedb.Session, r *runs.Record) error {
	var revision int64
	found, err := w.One(getRevision, []any{string(r.Kind), r.ID}, &revision)
	switch {
	case err != nil:
		return err
	case !found:
		return failed(r.Kind, r.ID, runs.ErrNotFound)
	case revision != r.Revision:
		return failed(r.Kind, r.ID, runs.ErrConflict)
	}
	if err := r.Check(); err != nil {
		return err
	}
	_, err = w.Exec(updateRecord, append(fields(r), string(r.Kind), r.ID)...)
	return err
}

// Delete implements [runs.Store].
func (s *Store) Delete(ctx context.Context, kind runs.Kind, id string) error {
	return s.change(ctx, "delete", func(w *sqlitedb.Session) error {
		var parent string
		found, err := w.One(`SELECT parent FROM run_record WHERE kind = ? AND id = ?`, []any{string(kind), id}, &parent)
		if err == nil && !found {
			err = failed(kind, id, runs.ErrNotFound)
		}
		if err != nil {
			return err
		}
		if _, err := w.Exec(deleteRecord, string(kind), id); err != nil {
			return err
		}
		switch kind {
		case runs.Thread:
			return deleteThread(w, id)
		case runs.Run:
			return deleteEvents(w, parent, id)
		case runs.Assistant:
			_, err = w.Exec(deleteChildren, string(runs.Version), id)
		}
		return err
	})
}

// deleteThread removes the runs, tasks and events of a thread.
func deleteThread(w *sqlitedb.Session, thread string) error {
	if _, err := w.Exec(deleteChildren, string(runs.Run), thread); err != nil {
		return err
	}
	for _, statement := range []string{
		`DELETE FROM run_task WHERE thread = ?`, `DELETE FROM run_event WHERE log = (SELECT key FROM run_log WHERE thread = ?)`, `DELETE FROM run_log WHERE thread = ?`,
	} {
		if _, err := w.Exec(statement, thread); err != nil {
			return err
		}
	}
	return nil
}
