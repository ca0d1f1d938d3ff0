package studio

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite" // the driver
)

// ErrNotFound says that a conversation or record does not exist, or that it belongs to another user.
var ErrNotFound = errors.New("studio: not found")

// A DB holds the records. It is safe for concurrent use.
type DB struct {
	db       *sql.DB
	postgres bool
}

// tables creates the tables. A record is a quote, an order or a scene. Only one record can have a call_key.
const tables = `
CREATE TABLE IF NOT EXISTS designer_conversation (
	id TEXT PRIMARY KEY, user_id TEXT NOT NULL, agent_id TEXT NOT NULL, title TEXT NOT NULL, updated BIGINT NOT NULL);
CREATE INDEX IF NOT EXISTS designer_conversation_user ON designer_conversation (user_id, updated);
CREATE TABLE IF NOT EXISTS designer_record (
	call_key TEXT PRIMARY KEY, id TEXT NOT NULL UNIQUE, kind TEXT NOT NULL, user_id TEXT NOT NULL, body TEXT NOT NULL, made BIGINT NOT NULL);
CREATE INDEX IF NOT EXISTS designer_record_user ON designer_record (user_id, kind, made)`

// OpenSQLite opens the database in a file, and creates the file if it does not exist.
func OpenSQLite(ctx context.Context, path string) (*DB, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600) // SQLite would let everybody read it
	if err != nil {
		return nil, fmt.Errorf("studio: %w", err)
	}
	if err := errors.Join(file.Chmod(0o600), file.Close()); err != nil { // a file of an older version may be readable by all
		return nil, fmt.Errorf("studio: %w", err)
	}
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=journal_mode(wal)&_pragma=secure_delete(on)&_pragma=busy_timeout(5000)&_txlock=immediate")
	if err != nil {
		return nil, fmt.Errorf("studio: %w", err)
	}
	db.SetMaxOpenConns(4)
	return migrated(ctx, &DB{db: db})
}

// OpenPostgres opens a schema of a database, and creates the schema and its tables if they do not exist.
func OpenPostgres(ctx context.Context, address, schema string) (*DB, error) {
	config, err := pgx.ParseConfig(address)
	if err != nil {
		return nil, errors.New("studio: the address of the database can not be read") // err may have the password
	}
	name := pgx.Identifier{schema}.Sanitize()
	config.RuntimeParams["search_path"] = name
	config.DefaultQueryExecMode = pgx.QueryExecModeExec // works through a pooler, too
	d := &DB{stdlib.OpenDB(*config), true}
	d.db.SetMaxOpenConns(8)
	if _, err := d.db.ExecContext(ctx, "CREATE SCHEMA IF NOT EXISTS "+name); err != nil {
		return nil, errors.Join(fmt.Errorf("studio: %w", err), d.Close())
	}
	return migrated(ctx, d)
}

func migrated(ctx context.Context, d *DB) (*DB, error) {
	for statement := range strings.SplitSeq(tables, ";") {
		if _, err := d.db.ExecContext(ctx, statement); err != nil {
			return nil, errors.Join(fmt.Errorf("studio: tables: %w", err), d.Close())
		}
	}
	return d, nil
}

// Close closes the database.
func (d *DB) Close() error { return d.db.Close() }

// in returns a statement in the syntax of the database: ?1 becomes $1 for PostgreSQL.
func (d *DB) in(statement string) string {
	if d.postgres {
		return strings.ReplaceAll(statement, "?", "$")
	}
	return statement
}

// Keep stores value as a record, unless a record already has the key. It returns the stored value of
// the key.
func Keep[T any](ctx context.Context, d *DB, r Record, value T) (T, error) {
	var kept T
	body, err := json.Marshal(value)
	if err != nil {
		return kept, fmt.Errorf("studio: %w", err)
	}
	if r.Key == "" || r.User == "" {
		return kept, errors.New("studio: a record needs a key and a user")
	}
	_, err = d.db.ExecContext(ctx, d.in(`INSERT INTO designer_record (call_key, id, kind, user_id, body, made)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT (call_key) DO NOTHING`), r.Key, r.ID, r.Kind, r.User, string(body), time.Now().UnixMicro())
	if err != nil {
		return kept, fmt.Errorf("studio: keep %s: %w", r.Kind, err)
	}
	return scan[T](d.db.QueryRowContext(ctx, d.in(`SELECT body FROM designer_record WHERE call_key = ?1 AND user_id = ?2`), r.Key, r.User))
}

// A Record identifies a stored value. [Keep] stores one record for a Key.
type Record struct{ Key, ID, Kind, User string }

// Get returns the record with an id and a kind, if it belongs to the user, or [ErrNotFound].
func Get[T any](ctx context.Context, d *DB, user, kind, id string) (T, error) {
	return scan[T](d.db.QueryRowContext(ctx, d.in(`SELECT body FROM designer_record WHERE id = ?1 AND kind = ?2 AND user_id = ?3`), id, kind, user))
}

// List returns a user's records of a kind, the newest first.
func List[T any](ctx context.Context, d *DB, user, kind string) (out []T, err error) {
	err = d.each(ctx, func(rows *sql.Rows) error {
		v, err := scan[T](rows)
		out = append(out, v)
		return err
	}, `SELECT body FROM designer_record WHERE user_id = ?1 AND kind = ?2 ORDER BY made DESC LIMIT 1000`, user, kind)
	return out, err
}

func scan[T any](row interface{ Scan(...any) error }) (v T, err error) {
	var body string
	if err = row.Scan(&body); err == nil {
		err = json.Unmarshal([]byte(body), &v)
	}
	if errors.Is(err, sql.ErrNoRows) {
		return v, ErrNotFound
	}
	if err != nil {
		return v, fmt.Errorf("studio: %w", err)
	}
	return v, nil
}

func (d *DB) each(ctx context.Context, fn func(*sql.Rows) error, statement string, args ...any) error {
	rows, err := d.db.QueryContext(ctx, d.in(statement), args...)
	if err != nil {
		return fmt.Errorf("studio: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		if err := fn(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}
