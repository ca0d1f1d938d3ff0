package sqlitecheckpoint

import (
	"context"
	"database/sql"
	"errors"
)

// A session is a connection with its prepared statements. One goroutine uses it
// at a time.
//
// Its statements do not take a caller's context: each does a bounded amount of
// work, callers look at theirs between two of them, and an interrupted write
// would leave it open whether it took effect.
type session struct {
	conn  *sql.Conn
	stmts map[string]*sql.Stmt
}

func newSession(ctx context.Context, db *sql.DB, pragmas []string) (*session, error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	for _, p := range pragmas {
		if _, err := conn.ExecContext(ctx, p); err != nil {
			return nil, errors.Join(err, conn.Close())
		}
	}
	return &session{conn: conn, stmts: map[string]*sql.Stmt{}}, nil
}

func (s *session) close() error {
	return errors.Join(s.forget(), s.conn.Close())
}

// forget closes the prepared statements.
func (s *session) forget() error {
	var errs []error
	for _, st := range s.stmts {
		errs = append(errs, st.Close())
	}
	clear(s.stmts)
	return errors.Join(errs...)
}

// maxStatements bounds what queries with many different filters leave behind.
const maxStatements = 128

// prepare keeps the statement. It is not called while rows are being read.
func (s *session) prepare(query string) (*sql.Stmt, error) {
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

// warm prepares what the first step of a thread needs, which is most of what it
// costs.
func (s *session) warm() error {
	for _, query := range []string{
		beginWrite, commit, findThreadQuery, insertThread, newestOfThreadQuery, newestOfRootQuery, findIDQuery,
		findOriginQuery, insertOrigin, markQuery, dividedQuery, highestQuery, insertMark, insertStep,
		followSteps[[2]bool{false, false}], followSteps[[2]bool{false, true}],
	} {
		if _, err := s.prepare(query); err != nil {
			return err
		}
	}
	return nil
}

// exec returns how many rows were affected.
func (s *session) exec(query string, args ...any) (int64, error) {
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

// insert returns the key of the row.
func (s *session) insert(query string, args ...any) (int64, error) {
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

// each calls fn for every row, until it returns false or an error.
func (s *session) each(query string, args []any, fn func(scan func(...any) error) (bool, error)) error {
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

// one reads the first row, and reports false if there is none.
func (s *session) one(query string, args []any, dest ...any) (bool, error) {
	found := false
	err := s.each(query, args, func(scan func(...any) error) (bool, error) {
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

// transaction runs fn between begin and the end of the transaction.
func (s *session) transaction(begin string, fn func() error) error {
	if _, err := s.exec(begin); err != nil {
		return err
	}
	err := fn()
	if err == nil {
		if _, err = s.exec(commit); err == nil {
			return nil
		}
	}
	// SQLite has rolled back by itself after some errors, and says so here.
	_, _ = s.exec(rollback)
	return err
}
