package records

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite" // the driver
)

// ErrNotFound is returned for a session that does not exist or belongs to another user.
var ErrNotFound = errors.New("records: not found")

// ErrQuota is returned when a limit of [Limits] is reached. Its text says which.
var ErrQuota = errors.New("too much is stored")

// Limits bound the data that users store. Zero means no limit.
type Limits struct {
	// Sessions is the maximum number of sessions of a user.
	Sessions int
	// Files is the maximum number of files of a session.
	Files int
	// Bytes is the maximum size of all files of all users together. The database of a CSV file, which has
	// about the size of the file, is not counted.
	Bytes int64
}

// A DB holds the records. It is safe for concurrent use, once Limits is set.
type DB struct {
	db       *sql.DB
	postgres bool

	Limits Limits
}

// tables creates the tables. Names in braces stand for types that differ between the databases. Other programs read
// the columns under these names.
const tables = `
CREATE TABLE IF NOT EXISTS session (
	id TEXT PRIMARY KEY, "userId" TEXT NOT NULL,
	"createdAt" {time} NOT NULL, "updatedAt" {time} NOT NULL);
CREATE TABLE IF NOT EXISTS message (
	id {serial}, "sessionId" TEXT NOT NULL REFERENCES session(id) ON DELETE CASCADE,
	role TEXT NOT NULL, content TEXT NOT NULL, metadata {json}, "createdAt" {time} NOT NULL);
CREATE INDEX IF NOT EXISTS "message_sessionId" ON message ("sessionId");
CREATE TABLE IF NOT EXISTS resource (
	id TEXT PRIMARY KEY, "sessionId" TEXT NOT NULL REFERENCES session(id) ON DELETE CASCADE,
	"mimeType" TEXT NOT NULL, "originalName" TEXT NOT NULL, "storedPath" TEXT NOT NULL,
	"sizeBytes" BIGINT NOT NULL, "createdAt" {time} NOT NULL);
CREATE INDEX IF NOT EXISTS "resource_sessionId" ON resource ("sessionId");
CREATE INDEX IF NOT EXISTS "session_userId" ON session ("userId", "updatedAt");`

// OpenSQLite opens the records in a file, and makes it if there is none.
func OpenSQLite(ctx context.Context, path string) (*DB, error) {
	made, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600) // SQLite would let all users of the machine read it
	if err != nil {
		return nil, fmt.Errorf("records: %w", err)
	}
	if err := errors.Join(made.Chmod(0o600), made.Close()); err != nil { // a file of an older version may be readable by all
		return nil, fmt.Errorf("records: %w", err)
	}
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=journal_mode(wal)&_pragma=foreign_keys(1)&_pragma=busy_timeout(5000)&_time_format=sqlite&_txlock=immediate")
	if err != nil {
		return nil, fmt.Errorf("records: %w", err)
	}
	db.SetMaxOpenConns(4)
	return migrated(ctx, &DB{db: db}, strings.NewReplacer("{serial}", "INTEGER PRIMARY KEY AUTOINCREMENT", "{time}", "DATETIME", "{json}", "TEXT"))
}

// OpenPostgres opens the records in a schema of a database. It creates the schema and the tables if they are
// missing.
func OpenPostgres(ctx context.Context, address, schema string) (*DB, error) {
	config, err := pgx.ParseConfig(address)
	if err != nil {
		return nil, fmt.Errorf("records: the address of the database cannot be read") // err may have the password
	}
	config.RuntimeParams["search_path"] = pgx.Identifier{schema}.Sanitize()
	db := stdlib.OpenDB(*config)
	db.SetMaxOpenConns(8)
	if _, err := db.ExecContext(ctx, "CREATE SCHEMA IF NOT EXISTS "+pgx.Identifier{schema}.Sanitize()); err != nil {
		return nil, errors.Join(fmt.Errorf("records: %w", err), db.Close())
	}
	return migrated(ctx, &DB{db: db, postgres: true}, strings.NewReplacer("{serial}", "BIGSERIAL PRIMARY KEY", "{time}", "TIMESTAMPTZ", "{json}", "JSONB"))
}

func migrated(ctx context.Context, d *DB, names *strings.Replacer) (*DB, error) {
	if _, err := d.db.ExecContext(ctx, names.Replace(tables)); err != nil {
		return nil, errors.Join(fmt.Errorf("records: tables: %w", err), d.db.Close())
	}
	return d, nil
}

// Close closes the database.
func (d *DB) Close() error { return d.db.Close() }

// in returns a statement in the syntax of the database: ?1 is $1 in PostgreSQL.
func (d *DB) in(statement string) string {
	if d.postgres {
		return strings.ReplaceAll(statement, "?", "$")
	}
	return statement
}

func (d *DB) exec(ctx context.Context, statement string, args ...any) (int64, error) {
	r, err := d.db.ExecContext(ctx, d.in(statement), args...)
	if err != nil {
		return 0, fmt.Errorf("records: %w", err)
	}
	n, err := r.RowsAffected()
	if err != nil {
		return 0, fmt.Errorf("records: %w", err)
	}
	return n, nil
}

// all reads every row that a statement returns.
func all[T any](ctx context.Context, d *DB, scan func(scan func(...any) error) (T, error), statement string, args ...any) ([]T, error) {
	rows, err := d.db.QueryContext(ctx, d.in(statement), args...)
	if err != nil {
		return nil, fmt.Errorf("records: %w", err)
	}
	defer rows.Close()
	var out []T
	for rows.Next() {
		v, err := scan(rows.Scan)
		if err != nil {
			return nil, fmt.Errorf("records: %w", err)
		}
		out = append(out, v)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("records: %w", err)
	}
	return out, nil
}

// one returns the first row, or ErrNotFound.
func one[T any](list []T, err error) (T, error) {
	var none T
	if err != nil {
		return none, err
	}
	if len(list) == 0 {
		return none, ErrNotFound
	}
	return list[0], nil
}

func now() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }
