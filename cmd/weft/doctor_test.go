package main

import (
	"context"
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/pgcheckpoint"
	"github.com/weft-go/weft/checkpoint/sqlitecheckpoint"
	"github.com/weft-go/weft/internal/pgtest"
	"github.com/weft-go/weft/internal/supatest"
	"github.com/weft-go/weft/server/runs"
	"github.com/weft-go/weft/server/runs/sqliteruns"
)

// faultsOf examines a store and returns its faults by the name of the check.
func faultsOf(t *testing.T, d *doctor) map[string]finding {
	t.Helper()
	if d.now == nil {
		d.now = time.Now
	}
	if d.free == nil {
		d.free = func(string) (uint64, error) { return 1 << 40, nil }
	}
	if d.idle == 0 {
		d.idle = 15 * time.Minute
	}
	d.examine(t.Context())
	faults := map[string]finding{}
	for _, f := range d.found {
		if f.Fault {
			assert.NotContains(t, faults, f.Check)
			faults[f.Check] = f
		}
	}
	return faults
}

// only checks that the doctor finds a single fault, by this check, and that its text and remedy contain the arguments.
func only(t *testing.T, d *doctor, check, text, remedy string) {
	t.Helper()
	faults := faultsOf(t, d)
	require.Contains(t, faults, check, "%+v", d.found)
	assert.Contains(t, faults[check].Text, text)
	assert.Contains(t, faults[check].Remedy, remedy)
	assert.Len(t, faults, 1, "%+v", faults)
}

// sqliteFile returns a closed file with the threads of the shop and the tables of a server.
func sqliteFile(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "threads.db")
	s, err := sqlitecheckpoint.Open(t.Context(), file, sqlitecheckpoint.Options{})
	require.NoError(t, err)
	fill(t, s)
	r, err := sqliteruns.Open(t.Context(), file, sqliteruns.Options{})
	require.NoError(t, err)
	require.NoError(t, r.Close())
	require.NoError(t, s.Close())
	return file
}

// execute runs SQL statements on a SQLite file, without its store.
func execute(t *testing.T, file string, statements ...string) {
	t.Helper()
	db, err := sql.Open("sqlite", file)
	require.NoError(t, err)
	db.SetMaxOpenConns(1)
	for _, s := range statements {
		_, err := db.ExecContext(t.Context(), s)
		require.NoError(t, err, s)
	}
	require.NoError(t, db.Close())
}

func key(b byte) []byte { return []byte(strings.Repeat(string(rune(b)), checkpoint.KeySize)) }

func TestDoctorNamesTheFaultsOfASQLiteStore(t *testing.T) {
	t.Parallel()
	insertExpired := func(t *testing.T, file string) {
		t.Helper()
		r, err := sqliteruns.Open(t.Context(), file, sqliteruns.Options{})
		require.NoError(t, err)
		at := time.Now().Add(-48 * time.Hour).Truncate(time.Microsecond)
		require.NoError(t, r.Insert(t.Context(), runs.Record{Kind: runs.Thread, ID: served, Status: "idle", Created: at, Updated: at, Expires: at, Metadata: json.RawMessage(`{}`), Data: json.RawMessage(`{}`)}))
		require.NoError(t, r.Close())
	}
	for _, tt := range []struct {
		name         string
		spoil        func(t *testing.T, d *doctor)
		check        string
		text, remedy string
	}{
		{"no file", func(_ *testing.T, d *doctor) { d.db += "x" }, "store", "does not exist", "check -db"},
		{"a folder", func(_ *testing.T, d *doctor) { d.db = filepath.Dir(d.db) }, "store", "is a folder", "name the file"},
		{"another file", func(t *testing.T, d *doctor) {
			require.NoError(t, os.WriteFile(d.db, []byte(strings.Repeat("text ", 4000)), 0o600))
		}, "store", "cannot be read", "backup"},
		{"no threads", func(t *testing.T, d *doctor) {
			d.db += "x"
			execute(t, d.db, "PRAGMA journal_mode = WAL", "CREATE TABLE other (n INTEGER)")
			require.NoError(t, os.Chmod(d.db, 0o600))
		}, "store", "has no threads", "check -db"},
		{"a mode for all", func(t *testing.T, d *doctor) { require.NoError(t, os.Chmod(d.db, 0o644)) }, "mode", "(0644)", "chmod 600"},
		{"a full disk", func(_ *testing.T, d *doctor) { d.free = func(string) (uint64, error) { return 20 << 20, nil } }, "space", "20 MB are free", "free space"},
		{"another journal", func(t *testing.T, d *doctor) { execute(t, d.db, "PRAGMA journal_mode = DELETE") }, "journal", "delete and not wal", "opens the store"},
		{"a large log", func(t *testing.T, d *doctor) {
			require.NoError(t, os.WriteFile(d.db+"-wal", nil, 0o600))
			require.NoError(t, os.Truncate(d.db+"-wal", 300<<20))
		}, "log", "has 300 MB", "reads for a long time"},
		{"a damaged page", damagePage, "integrity", "damaged", "backup"},
		{"an older schema", func(t *testing.T, d *doctor) {
			execute(t, d.db, "DELETE FROM cp_migration WHERE version = (SELECT max(version) FROM cp_migration)")
		}, "schema", "pending: 0", "weft threads migrate"},
		{"an older schema of runs", func(t *testing.T, d *doctor) {
			execute(t, d.db, "DELETE FROM run_migration WHERE version = (SELECT max(version) FROM run_migration)")
		}, "schema", "pending: 0", "weft threads migrate"},
		{"a newer schema", func(t *testing.T, d *doctor) {
			execute(t, d.db, "INSERT INTO cp_migration (version, name, checksum, applied) VALUES (99, '099_future', '00', 0)")
		}, "schema", "it has 099_future", "use the version of weft"},
		{"a damaged checkpoint", func(t *testing.T, d *doctor) {
			execute(t, d.db, "UPDATE cp_step SET changes = zeroblob(length(changes)) WHERE key = (SELECT max(key) FROM cp_step)")
		}, "data", "1 of 4 read threads cannot be read: order-4", "backup"},
		{"a stuck thread", func(_ *testing.T, d *doctor) { d.now = func() time.Time { return time.Now().Add(time.Hour) } }, "stuck", "1 thread with due tasks and no run for longer than 15m: order-4", "resume"},
		{"a clock behind", func(_ *testing.T, d *doctor) { d.now = func() time.Time { return time.Now().Add(-time.Hour) } }, "clock", "younger than the present", "clock"},
		{"a thread beyond its retention", insertFor(insertExpired), "retention", "1 thread older than their retention: " + served, "start the server"},
		{"a run that no server takes", insertFor(func(t *testing.T, file string) {
			t.Helper()
			r, err := sqliteruns.Open(t.Context(), file, sqliteruns.Options{})
			require.NoError(t, err)
			at := time.Now().Add(-time.Hour).Truncate(time.Microsecond)
			require.NoError(t, r.Insert(t.Context(), runs.Record{Kind: runs.Run, ID: served, Parent: served, Status: "pending", Created: at, Updated: at, Metadata: json.RawMessage(`{}`), Data: json.RawMessage(`{}`)}))
			require.NoError(t, r.Close())
		}), "queue", "1 run waiting, the first since 1h, and none is executed", "start a server"},
		{"keys for a store without encryption", func(t *testing.T, d *doctor) { d.keys = keyFile(t, "2026", 1) }, "keys", `the values of this store are not encrypted: leave out -keys: checkpoint: thread "order-`, "leave out -keys"},
		{"values of a later form", func(t *testing.T, d *doctor) {
			d.db, d.keys = filepath.Join(t.TempDir(), "later.db"), keyFile(t, "2026", 1)
			s, err := sqlitecheckpoint.Open(t.Context(), d.db, sqlitecheckpoint.Options{})
			require.NoError(t, err)
			require.NoError(t, s.Put(t.Context(), checkpoint.Checkpoint{Key: checkpoint.Key{Thread: "order-1", ID: "1"}, Control: []byte{3}}, ""))
			require.NoError(t, s.Close())
		}, "keys", "encryption of form 3", "use the version of weft"},
		{"no keys", func(t *testing.T, d *doctor) { encryptFile(t, d) }, "keys", "are encrypted", "-keys"},
		{"wrong keys", func(t *testing.T, d *doctor) { encryptFile(t, d); d.keys = keyFile(t, "2026", 2) }, "keys", "another key", "-keys"},
		{"a missing key", func(t *testing.T, d *doctor) { encryptFile(t, d); d.keys = keyFile(t, "2027", 1) }, "keys", `needs key "2026"`, "-keys"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := &doctor{address: address{db: sqliteFile(t)}}
			tt.spoil(t, d)
			only(t, d, tt.check, tt.text, tt.remedy)
		})
	}
}

func insertFor(fn func(t *testing.T, file string)) func(*testing.T, *doctor) {
	return func(t *testing.T, d *doctor) { t.Helper(); fn(t, d.db) }
}

// damagePage overwrites the root page of the table cp_label.
func damagePage(t *testing.T, d *doctor) {
	t.Helper()
	db, err := sql.Open("sqlite", d.db)
	require.NoError(t, err)
	var page int64
	require.NoError(t, db.QueryRowContext(t.Context(), "SELECT rootpage FROM sqlite_schema WHERE name = 'cp_label'").Scan(&page))
	require.NoError(t, db.Close())
	f, err := os.OpenFile(d.db, os.O_RDWR, 0)
	require.NoError(t, err)
	_, err = f.WriteAt([]byte(strings.Repeat("damaged ", 512)), (page-1)*4096)
	require.NoError(t, err)
	require.NoError(t, f.Close())
}

func keyFile(t *testing.T, id string, b byte) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "keys")
	require.NoError(t, os.WriteFile(file, []byte(id+" "+base64.StdEncoding.EncodeToString(key(b))+"\n"), 0o600))
	return file
}

// encryptFile replaces the file by one with encrypted threads.
func encryptFile(t *testing.T, d *doctor) {
	t.Helper()
	d.db = filepath.Join(t.TempDir(), "sealed.db")
	inner, err := sqlitecheckpoint.Open(t.Context(), d.db, sqlitecheckpoint.Options{})
	require.NoError(t, err)
	s, err := checkpoint.Encrypted(inner, checkpoint.KeyRing{Active: "2026", Keys: map[string][]byte{"2026": key(1)}})
	require.NoError(t, err)
	fill(t, s)
	require.NoError(t, inner.Close())
}

// A thread that a run holds is not stuck for the doctor, even if the run has stored nothing for longer than the idle time.
func TestDoctorDoesNotCallAThreadStuckThatARunHolds(t *testing.T) {
	t.Parallel()
	file := sqliteFile(t)
	s, err := sqlitecheckpoint.Open(t.Context(), file, sqlitecheckpoint.Options{})
	require.NoError(t, err)
	lease, err := s.Lease(t.Context(), "order-4")
	require.NoError(t, err)
	d := &doctor{address: address{db: file}, now: func() time.Time { return time.Now().Add(time.Hour) }}
	assert.Empty(t, faultsOf(t, d))
	require.NoError(t, lease.Release(t.Context()))
	require.NoError(t, s.Close())
}

// The doctor changes no file. It does not even migrate an older file.
func TestDoctorChangesNoFile(t *testing.T) {
	t.Parallel()
	file := sqliteFile(t)
	execute(t, file, "DELETE FROM cp_migration WHERE version = (SELECT max(version) FROM cp_migration)", "PRAGMA wal_checkpoint(TRUNCATE)")
	before, err := os.ReadFile(file)
	require.NoError(t, err)
	faultsOf(t, &doctor{address: address{db: file}})
	after, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, before, after)
}

// A postgresStore is a doctor of a PostgreSQL store, with a connection on which a test changes the tables directly.
type postgresStore struct {
	*doctor
	url, schema string
	conn        *pgx.Conn
}

func (p *postgresStore) exec(t *testing.T, statement string, args ...any) {
	t.Helper()
	_, err := p.conn.Exec(t.Context(), strings.ReplaceAll(statement, "weft.", p.schema+"."), args...)
	require.NoError(t, err, statement)
}

func newPostgresStore(t *testing.T, url, schema string) *postgresStore {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, conn.Close(context.WithoutCancel(t.Context()))) })
	return &postgresStore{&doctor{address: address{db: url, schema: schema}}, url, schema, conn}
}

func TestDoctorNamesTheFaultsOfAPostgreSQLStore(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name         string
		spoil        func(t *testing.T, p *postgresStore)
		check        string
		text, remedy string
	}{
		{"no server", func(_ *testing.T, p *postgresStore) { p.db = "postgres://u:secret@127.0.0.1:1/d" }, "store", "cannot be reached", "check the address"},
		{"an invalid URL", func(_ *testing.T, p *postgresStore) { p.db = "postgres://u:secret@h:x/d" }, "store", "is invalid", "check -db"},
		{"no tables", func(_ *testing.T, p *postgresStore) { p.address.schema += "x" }, "schema", "older than this version", "weft threads migrate"},
		{"an older schema", func(t *testing.T, p *postgresStore) {
			p.exec(t, "DELETE FROM weft.cp_migration WHERE version = (SELECT max(version) FROM weft.cp_migration)")
		}, "schema", "and this package needs version", "weft threads migrate"},
		{"a newer schema", func(t *testing.T, p *postgresStore) {
			p.exec(t, "INSERT INTO weft.cp_migration (version, name, checksum) VALUES (99, '099_future', '00')")
		}, "schema", "newer than this version", "use the version of weft"},
		{"a clock ahead", func(_ *testing.T, p *postgresStore) {
			p.now, p.idle = func() time.Time { return time.Now().Add(time.Hour) }, 2*time.Hour
		}, "clock", "by 1h0m", "NTP"},
		{"a run that died", func(t *testing.T, p *postgresStore) {
			p.exec(t, "UPDATE weft.cp_thread SET owner = gen_random_uuid(), epoch = epoch + 1, until = now() - interval '1 minute' WHERE id = 'order-4'")
		}, "leases", "1 thread whose run died: its lease has expired and was not released: order-4", "resume"},
		{"a run that hangs", func(t *testing.T, p *postgresStore) {
			p.exec(t, "UPDATE weft.cp_thread SET owner = gen_random_uuid(), until = now() + interval '1 minute' WHERE id = 'order-4'")
			p.exec(t, "UPDATE weft.cp_step SET time = time - interval '1 hour'")
		}, "leases", "stored nothing for longer than 15m: order-4", "cancel"},
		{"a parked thread", func(t *testing.T, p *postgresStore) {
			p.exec(t, "UPDATE weft.cp_step SET epoch = 1")
			p.exec(t, "UPDATE weft.cp_thread SET owner = gen_random_uuid(), epoch = 6, until = now() - interval '1 minute' WHERE id = 'order-3'")
		}, "leases", "last five runs died without storing anything: order-3", "Unpark"},
		{"a stuck thread", func(t *testing.T, p *postgresStore) {
			p.exec(t, "UPDATE weft.cp_step SET time = time - interval '1 hour'")
		}, "stuck", "1 thread with due tasks and no run for longer than 15m: order-4", "resume"},
		{"a damaged checkpoint", func(t *testing.T, p *postgresStore) {
			p.exec(t, "UPDATE weft.cp_step SET changes = '\\x00' WHERE thread = (SELECT key FROM weft.cp_thread WHERE id = 'order-1')")
		}, "data", "1 of 4 read threads cannot be read: order-1", "Repair"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := newPostgresStore(t, pgtest.DirectURL(t), pgtest.Schema(t))
			s, err := pgcheckpoint.Open(t.Context(), p.url, pgcheckpoint.Options{Schema: p.schema})
			require.NoError(t, err)
			fill(t, s)
			s.Close()
			tt.spoil(t, p)
			only(t, p.doctor, tt.check, tt.text, tt.remedy)
			for _, f := range p.found {
				assert.NotContains(t, f.Text, "secret")
			}
		})
	}
}

// The faults of row-level security need the roles of a Supabase project.
func TestDoctorNamesTheFaultsOfASupabaseProject(t *testing.T) {
	t.Parallel()
	p := supabase(t, "weft_doctor")
	fill(t, p.store)
	s := newPostgresStore(t, p.flags[1], p.flags[3])
	s.tenant = p.flags[5]
	assert.Empty(t, faultsOf(t, s.doctor))
	assert.Condition(t, func() bool {
		return slices.ContainsFunc(s.found, func(f finding) bool { return strings.HasPrefix(f.Text, "row-level security on ") })
	})

	s.found = nil
	s.exec(t, "ALTER TABLE weft.cp_write NO FORCE ROW LEVEL SECURITY")
	s.exec(t, "DROP POLICY own ON weft.cp_tag")
	only(t, s.doctor, "security", "cp_tag, cp_write", "20261121090003_weft_security.sql")

	s.found = nil
	s.exec(t, "CREATE TABLE weft.notes (n int)")
	s.exec(t, "GRANT SELECT ON weft.notes TO anon")
	s.exec(t, "ALTER TABLE weft.cp_write FORCE ROW LEVEL SECURITY")
	s.exec(t, "CREATE POLICY own ON weft.cp_tag TO authenticated USING (false)")
	only(t, s.doctor, "security", "without a policy: notes", "policies")
}

func TestDoctorPrintsAPostgreSQLStore(t *testing.T) {
	t.Parallel()
	p := newPostgresStore(t, pgtest.DirectURL(t), pgtest.Schema(t))
	s, err := pgcheckpoint.Open(t.Context(), p.url, pgcheckpoint.Options{Schema: p.schema})
	require.NoError(t, err)
	fill(t, s)
	s.Close()
	p.exec(t, "UPDATE weft.cp_thread SET owner = gen_random_uuid(), epoch = epoch + 1, until = now() - interval '1 minute' WHERE id = 'order-4'")
	m := newTerminal(t, map[string]string{"weft_schema": p.schema, "$DATABASE_URL": p.url})
	m.now = time.Now
	var version, database string
	require.NoError(t, p.conn.QueryRow(t.Context(), "SELECT current_setting('server_version'), current_database()").Scan(&version, &database))
	m.hidden["PostgreSQL "+version+", database "+database] = "PostgreSQL 17.12, database agents"
	m.run("doctor", "-db", "$DATABASE_URL", "-schema", "weft_schema")
	m.golden("doctor_postgres")
}

func TestDoctorRecognisesATransactionPooler(t *testing.T) {
	t.Parallel()
	d := &doctor{address: address{db: pgtest.DirectURL(t) + "&pgbouncer=true", schema: "none"}}
	faultsOf(t, d)
	assert.Contains(t, d.found, finding{Check: "pooler", Text: "a pooler in transaction mode: statements are not prepared"})
}

// A role belongs to the whole server, so the test changes it in a transaction and rolls the transaction back.
func TestDoctorNamesARoleToWhichNoPolicyApplies(t *testing.T) {
	t.Parallel()
	conn, err := pgx.Connect(t.Context(), supatest.Database(t, nil))
	require.NoError(t, err)
	defer func() { assert.NoError(t, conn.Close(context.WithoutCancel(t.Context()))) }()
	tx, err := conn.Begin(t.Context())
	require.NoError(t, err)
	defer func() { assert.NoError(t, tx.Rollback(context.WithoutCancel(t.Context()))) }()
	_, err = tx.Exec(t.Context(), "ALTER ROLE authenticated BYPASSRLS")
	require.NoError(t, err)
	d := &doctor{}
	require.NoError(t, d.roles(t.Context(), tx))
	require.Len(t, d.found, 1)
	assert.Equal(t, finding{Check: "roles", Fault: true, Text: "the policies do not apply to the role authenticated", Remedy: "ALTER ROLE authenticated NOSUPERUSER NOBYPASSRLS"}, d.found[0])
}

func TestDoctorNamesAnOldOrMissingExtension(t *testing.T) {
	t.Parallel()
	conn, err := pgx.Connect(t.Context(), supatest.Database(t, nil))
	require.NoError(t, err)
	defer func() { assert.NoError(t, conn.Close(context.WithoutCancel(t.Context()))) }()
	tx, err := conn.Begin(t.Context()) // the tests of the package share the database
	require.NoError(t, err)
	defer func() { assert.NoError(t, tx.Rollback(context.WithoutCancel(t.Context()))) }()
	d := &doctor{}
	look := func() finding {
		d.found = nil
		require.NoError(t, d.vector(t.Context(), tx))
		require.Len(t, d.found, 1)
		return d.found[0]
	}
	exec := func(text string) {
		_, err := tx.Exec(t.Context(), text)
		require.NoError(t, err)
	}
	exec("DROP EXTENSION IF EXISTS vector CASCADE")
	f := look()
	assert.False(t, f.Fault)
	assert.Contains(t, f.Text, "not installed")
	exec("CREATE SCHEMA IF NOT EXISTS weft")
	exec("CREATE TABLE weft.mem_fact (n int)")
	f = look()
	assert.True(t, f.Fault)
	assert.Contains(t, f.Text, "the extension is not there")
	exec("CREATE EXTENSION vector")
	f = look()
	assert.False(t, f.Fault, "%+v", f)
	exec("UPDATE pg_extension SET extversion = '0.7.4' WHERE extname = 'vector'")
	f = look()
	assert.True(t, f.Fault)
	assert.Contains(t, f.Text, "0.7.4")
	assert.Contains(t, f.Remedy, "ALTER EXTENSION vector UPDATE")
}

func TestDoctorPrintsFaultsWithRemedies(t *testing.T) {
	t.Parallel()
	file := sqliteFile(t)
	m := newTerminal(t, map[string]string{"threads.db": file})
	m.now = time.Now
	m.run("doctor", "-db", "threads.db")
	m.golden("doctor")
	require.NoError(t, os.Chmod(file, 0o644))
	m.now = func() time.Time { return time.Now().Add(24 * time.Hour) }
	_, code := m.run("doctor", "-db", "threads.db")
	assert.Equal(t, exitFailed, code)
	m.golden("doctor_faults")
	_, out, _ := m.call("doctor", "-db", "threads.db", "-json")
	var report struct {
		Faults   int
		Findings []finding
	}
	require.NoError(t, json.Unmarshal([]byte(out), &report))
	assert.Equal(t, 2, report.Faults)
}
