package account

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite" // the driver

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/pgcheckpoint"
	"github.com/weft-go/weft/checkpoint/sqlitecheckpoint"
	"github.com/weft-go/weft/checkpoint/supacheckpoint"
)

// Local keeps everything in SQLite files, or in a PostgreSQL database. A token identifies its user. The program
// signs tokens with its own secret.
type Local struct {
	*supacheckpoint.Verifier
	threads  threadStore
	db       *sql.DB
	postgres bool
	close    func() error
}

type threadStore interface {
	checkpoint.Store
	checkpoint.Leaser
}

var _ Backend = (*Local)(nil)

// OpenSQLite opens the files in a folder, and creates them if they do not exist.
func OpenSQLite(ctx context.Context, folder string, secret []byte) (*Local, error) {
	store, err := sqlitecheckpoint.Open(ctx, filepath.Join(folder, "checkpoints.db"), sqlitecheckpoint.Options{})
	if err != nil {
		return nil, err
	}
	db, err := sql.Open("sqlite", "file:"+filepath.Join(folder, "sessions.db")+"?_pragma=journal_mode(wal)&_pragma=busy_timeout(5000)&_pragma=foreign_keys(1)&_txlock=immediate")
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	db.SetMaxOpenConns(4)
	return open(ctx, &Local{threads: store, db: db, close: store.Close}, secret)
}

// OpenPostgres opens a schema of a database, and creates the schema and the tables if they do not exist.
func OpenPostgres(ctx context.Context, address, schema string, secret []byte) (*Local, error) {
	store, err := pgcheckpoint.Open(ctx, address, pgcheckpoint.Options{Schema: schema, LeaseTime: leaseTime})
	if err != nil {
		return nil, err
	}
	config, err := pgx.ParseConfig(address)
	if err != nil {
		store.Close()
		return nil, fmt.Errorf("%w: DATABASE_URL can not be read", ErrConfig) // err may have the password
	}
	config.RuntimeParams["search_path"] = pgx.Identifier{schema}.Sanitize()
	db := stdlib.OpenDB(*config)
	db.SetMaxOpenConns(8)
	return open(ctx, &Local{threads: store, db: db, postgres: true, close: func() error { store.Close(); return nil }}, secret)
}

// leaseTime is the time for which a thread of a killed process stays busy. SQLite's leases end with their process.
const leaseTime = 10 * time.Second

const tables = `
CREATE TABLE IF NOT EXISTS proposals (id TEXT PRIMARY KEY, user_id TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS proposal_sessions (
	thread_id TEXT NOT NULL, user_id TEXT NOT NULL, proposal_id TEXT NOT NULL REFERENCES proposals(id),
	status TEXT NOT NULL, last_activity BIGINT NOT NULL, metadata TEXT NOT NULL, PRIMARY KEY (user_id, thread_id));
CREATE INDEX IF NOT EXISTS proposal_sessions_last_activity ON proposal_sessions (last_activity);`

func open(ctx context.Context, l *Local, secret []byte) (_ *Local, err error) {
	if l.Verifier, err = supacheckpoint.NewVerifier(supacheckpoint.VerifierOptions{Secret: secret, Issuer: Issuer}); err == nil {
		_, err = l.db.ExecContext(ctx, tables)
	}
	if err != nil {
		return nil, errors.Join(wrap("tables", err), l.Close())
	}
	return l, nil
}

// Close closes the databases.
func (l *Local) Close() error { return errors.Join(l.db.Close(), l.close()) }

// in returns a statement in the syntax of the database: ?1 is $1 in PostgreSQL.
func (l *Local) in(statement string) string {
	if l.postgres {
		return strings.ReplaceAll(statement, "?", "$")
	}
	return statement
}

func (l *Local) exec(ctx context.Context, statement string, args ...any) error {
	_, err := l.db.ExecContext(ctx, l.in(statement), args...)
	return err
}

// Threads implements [Backend].
func (l *Local) Threads() checkpoint.Store { return l.threads }

// As implements [Backend].
func (l *Local) As(u supacheckpoint.User) (Account, error) { return localAccount{l, u.ID}, nil }

// CleanUp implements [Backend]. It skips threads that a run holds.
func (l *Local) CleanUp(ctx context.Context, idle time.Duration, statuses ...string) (int, error) {
	rows, err := l.db.QueryContext(ctx, l.in(`SELECT user_id, thread_id FROM proposal_sessions
		WHERE thread_id LIKE '`+threads+`%' AND last_activity <= ?1 AND (?2 = '' OR ?2 LIKE '%,' || status || ',%')`),
		time.Now().Add(-idle).UnixMilli(), list(statuses))
	if err != nil {
		return 0, wrap("clean up", err)
	}
	var due []localAccount
	var threads []string
	for rows.Next() {
		a, thread := localAccount{local: l}, ""
		if err = errors.Join(err, rows.Scan(&a.user, &thread)); err == nil {
			due, threads = append(due, a), append(threads, thread)
		}
	}
	if err := errors.Join(err, rows.Err(), rows.Close()); err != nil {
		return 0, wrap("clean up", err)
	}
	n := 0
	for i, a := range due {
		err := a.remove(ctx, threads[i])
		if errors.Is(err, checkpoint.ErrConflict) {
			continue
		}
		if err != nil {
			return n, wrap("clean up", err)
		}
		n++
	}
	return n, nil
}

func list(statuses []string) string {
	if len(statuses) == 0 {
		return ""
	}
	return "," + strings.Join(statuses, ",") + ","
}

type localAccount struct {
	local *Local
	user  string
}

// Thread puts the user before the id, since two users may have threads with the same id. The ids of the server's
// threads are unique.
func (a localAccount) Thread(id string) (checkpoint.Store, string) {
	if IsUUID(id) {
		return a.local.threads, id
	}
	return a.local.threads, a.user + "/" + id
}

func (a localAccount) remove(ctx context.Context, thread string) error {
	_, name := a.Thread(thread)
	lease, err := a.local.threads.Lease(ctx, name)
	if err != nil {
		return err
	}
	err = lease.DeleteThread(ctx, name)
	if err == nil {
		err = a.DeleteSession(ctx, thread)
	}
	return errors.Join(err, lease.Release(ctx))
}

func (a localAccount) AddProposal(ctx context.Context) (string, error) {
	random := make([]byte, 16)
	_, _ = rand.Read(random) // it never fails
	id := asUUID(random)
	return id, wrap("proposal", a.local.exec(ctx, `INSERT INTO proposals (id, user_id) VALUES (?1, ?2)`, id, a.user))
}

func (a localAccount) HasProposal(ctx context.Context, id string) (has bool, err error) {
	err = a.local.db.QueryRowContext(ctx, a.local.in(`SELECT count(*) > 0 FROM proposals WHERE id = ?1 AND user_id = ?2`),
		strings.ToLower(id), a.user).Scan(&has)
	return has, wrap("proposal", err)
}

func (a localAccount) DeleteProposal(ctx context.Context, id string) error {
	return wrap("proposal", a.local.exec(ctx, `DELETE FROM proposals WHERE id = ?1 AND user_id = ?2
		AND NOT EXISTS (SELECT 1 FROM proposal_sessions WHERE proposal_id = ?1)`, id, a.user))
}

const sessionColumns = `SELECT thread_id, proposal_id, status, last_activity, metadata FROM proposal_sessions WHERE user_id = ?1 `

func (a localAccount) sessions(ctx context.Context, rest string, args ...any) (all []Session, err error) {
	rows, err := a.local.db.QueryContext(ctx, a.local.in(sessionColumns+rest), append([]any{a.user}, args...)...)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Err(), rows.Close()) }()
	for rows.Next() {
		var s Session
		var at int64
		var metadata []byte
		if err := rows.Scan(&s.Thread, &s.Proposal, &s.Status, &at, &metadata); err != nil {
			return nil, err
		}
		s.LastActivity = time.UnixMilli(at).UTC()
		if s.About, err = about(metadata); err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

func (a localAccount) Session(ctx context.Context, thread string) (Session, error) {
	found, err := a.sessions(ctx, `AND thread_id = ?2`, thread)
	if err == nil && len(found) == 0 {
		err = ErrNotFound
	}
	if err != nil {
		return Session{}, wrap("session", err)
	}
	return found[0], nil
}

func (a localAccount) Sessions(ctx context.Context) ([]Session, error) {
	all, err := a.sessions(ctx, `ORDER BY last_activity DESC, thread_id LIMIT ?2`, mostSessions)
	return all, wrap("sessions", err)
}

func (a localAccount) PutSession(ctx context.Context, s Session) error {
	metadata, err := s.json()
	if err == nil {
		err = a.local.exec(ctx, `INSERT INTO proposal_sessions (thread_id, user_id, proposal_id, status, last_activity, metadata)
			VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT (user_id, thread_id)
			DO UPDATE SET status = excluded.status, last_activity = excluded.last_activity, metadata = excluded.metadata`,
			s.Thread, a.user, s.Proposal, cmp.Or(s.Status, Active), time.Now().UnixMilli(), string(metadata))
	}
	return wrap("session", err)
}

func (a localAccount) PutStatus(ctx context.Context, s Session) error {
	return wrap("session", a.local.exec(ctx, `UPDATE proposal_sessions SET status = ?3, last_activity = ?4 WHERE user_id = ?1 AND thread_id = ?2`,
		a.user, s.Thread, cmp.Or(s.Status, Active), time.Now().UnixMilli()))
}

func (a localAccount) DeleteSession(ctx context.Context, thread string) error {
	return wrap("session", a.local.exec(ctx, `DELETE FROM proposal_sessions WHERE user_id = ?1 AND thread_id = ?2`, a.user, thread))
}

// Publish does nothing: no other program reads the local database.
func (a localAccount) Publish(context.Context, Session, json.RawMessage) error { return nil }
