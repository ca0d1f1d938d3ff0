package sqlitedb

import (
	"context"
	"database/sql"
	"errors"
)

// A Session is a connection with its prepared statements. Only one goroutine may use it
// at a time.
//
// The methods have no context, since the outcome of an interrupted write is unknown. A
// statement waits for a lock for at most 25 ms. Callers check their context between
// statements.
type Session struct {
	conn  *sql.Conn
	stmts map[string]*sql.Stmt
}

func newSession(ctx context.Context, db *sql.DB, pragmas []string) (*Session, error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	for _, p := range pragmas {
		if _, err := conn.ExecContext(ctx, p); err != nil {
			return nil, errors.Join(err, conn.Close())
		}
	}
	return &Session{conn: conn, stmts: map[string]*sql.Stmt{}}, nil
}

func (s *Session) close() error {
	return errors.Join(s.forget(), s.conn.Close())
}

// forget closes the prepared statements.
func (s *Session) forget() error {
	var errs []error
	for _, st := range s.stmts {
		errs = append(errs, st.Close())
	}
	clear(s.stmts)
	return errors.Join(errs...)
}

// maxStatements is the maximum number of cached statements.
const maxStatements = 128

// prepare returns the cached statement, or prepares and caches it. Do not call it
// while rows are being read.
func (s *Session) prepare(query string) (*sql.Stmt, error) {
	if st := s.stmts[query]; st != nil {
		return st, nil
	}
	if len(s.stmts) >= maxStatements {
		if err := s.forget(); err != nil {
			return nil, err
		}
	}
	st, err := s.conn.PrepareContext(context.Background(), query)
	if err != nil {
		return nil, err
	}
	s.stmts[query] = st
	return st, nil
}

// warm prepares the statements of queries, and BEGIN and COMMIT.
func (s *Session) warm(queries []string) error {
	for _, query := range append([]string{beginWrite, commit}, queries...) {
		if _, err := s.prepare(query); err != nil {
			return err
		}
	}
	return nil
}

// Exec runs a statement and returns the number of affected rows.
func (s *Session) Exec(query string, args ...any) (int64, error) {
	st, err := s.prepare(query)
	if err != nil {
		return 0, err
	}
	r, err := st.Exec(args...)
	if err != nil {
		return 0, err
	}
	return r.RowsAffected()
}

// Insert runs an INSERT and returns the key of the new row.
func (s *Session) Insert(query string, args ...any) (int64, error) {
	st, err := s.prepare(query)
	if err != nil {
		return 0, err
	}
	r, err := st.Exec(args...)
	if err != nil {
		return 0, err
	}
	return r.LastInsertId()
}

// Each calls fn for every row, until fn returns false or an error. Do not use the session
// inside fn.
func (s *Session) Each(query string, args []any, fn func(scan func(...any) error) (bool, error)) error {
	st, err := s.prepare(query)
	if err != nil {
		return err
	}
	rows, err := st.Query(args...)
	if err != nil {
		return err
	}
	for rows.Next() {
		more, err := fn(rows.Scan)
		if err != nil {
			return errors.Join(err, rows.Close())
		}
		if !more {
			return rows.Close()
		}
	}
	return errors.Join(rows.Err(), rows.Close())
}

// One scans the first row into dest. It returns false if there is no row.
func (s *Session) One(query string, args []any, dest ...any) (bool, error) {
	found := false
	err := s.Each(query, args, func(scan func(...any) error) (bool, error) {
		found = true
		return false, scan(dest...)
	})
	return found, err
}

const (
	beginWrite = `BEGIN IMMEDIATE`
	beginRead  = `BEGIN`
	commit     = `COMMIT`
	rollback   = `ROLLBACK`
)

// Transaction runs fn in a write transaction, and rolls back if fn fails.
func (s *Session) Transaction(fn func() error) error { return s.transaction(beginWrite, fn) }

// transaction starts a transaction with the statement begin and runs fn in it.
func (s *Session) transaction(begin string, fn func() error) (err error) {
	if _, err := s.Exec(begin); err != nil {
		return err
	}
	done := false
	defer func() {
		if !done { // fn has failed or panicked, or COMMIT has failed
			// Ignore the error of ROLLBACK. After some errors SQLite has already rolled back.
			_, _ = s.Exec(rollback)
		}
	}()
	if err := fn(); err != nil {
		return err
	}
	_, err = s.Exec(commit)
	done = err == nil
	return err
}
