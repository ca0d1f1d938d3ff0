package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/pgcheckpoint"
	"github.com/weft-go/weft/internal/pgdb"
	"github.com/weft-go/weft/server/runs/memruns"
	"github.com/weft-go/weft/server/runs/pgruns"
)

// postgres checks a PostgreSQL database.
func (d *doctor) postgres(ctx context.Context) {
	pool, err := d.pool(ctx)
	if err != nil {
		d.fault("store", "check -db", "%v", err)
		return
	}
	defer pool.Close()
	if err := d.connection(ctx, pool); err != nil {
		d.fault("store", "check the address, the network and the rights of the user; if the database does not run, its log says why, such as a full disk",
			"the database cannot be reached: %v", err)
		return
	}
	if err := d.writable(ctx, pool); err != nil {
		d.fault("writes", "run weft doctor as the role that owns the tables", "a write cannot be tried: %v", err)
	}
	if err := d.grants(ctx, pool); err != nil {
		d.fault("grants", "check -role", "the rights of the role cannot be examined: %v", err)
	}
	if err := errors.Join(d.clock(ctx, pool), d.vector(ctx, pool), d.security(ctx, pool)); err != nil {
		d.fault("rights", "run weft doctor as the role that owns the tables", "the database cannot be examined: %v", err)
	}
	s, ok := d.tables(ctx, pool)
	if !ok {
		return
	}
	if err := d.queueTables(ctx, pool, s); err != nil {
		d.fault("schema", "run weft doctor as the role that owns the tables", "the tables of the queue cannot be examined: %v", err)
	}
	if err := errors.Join(d.others(ctx, pool), d.leases(ctx, pool)); err != nil {
		d.fault("leases", "run weft doctor as the role that owns the tables", "the leases cannot be read: %v", err)
	}
	if s.queue, err = d.queue(ctx, pool); err != nil {
		d.fault("queue", "run weft doctor as the role that owns the tables", "the queue cannot be read: %v", err)
	}
	d.contents(ctx, s)
}

// connection reports the version of the server, and whether the connection uses a pooler in transaction mode.
func (d *doctor) connection(ctx context.Context, pool *pgxpool.Pool) error {
	conn, err := pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	var version, database string
	if err := conn.QueryRow(ctx, `SELECT current_setting('server_version'), current_database()`).Scan(&version, &database); err != nil {
		return err
	}
	d.ok("store", "PostgreSQL %s, database %s, schema %s", version, database, d.schemaName())
	if conn.Conn().Config().DefaultQueryExecMode == pgx.QueryExecModeExec {
		d.ok("pooler", "a pooler in transaction mode: statements are not prepared")
	} else {
		d.ok("pooler", "a direct connection, or a pooler in session mode")
	}
	return nil
}

// settingsQuery returns whether the database is a standby, and whether its transactions are read-only.
const settingsQuery = `SELECT pg_is_in_recovery(), current_setting('transaction_read_only')::boolean`

// writable checks that the database accepts writes. It writes to a temporary table, in a transaction that it rolls back.
func (d *doctor) writable(ctx context.Context, pool *pgxpool.Pool) error {
	var standby, readOnly bool
	if err := pool.QueryRow(ctx, settingsQuery).Scan(&standby, &readOnly); err != nil {
		return err
	}
	switch {
	case standby:
		d.fault("writes", "give the programs the address of the primary database, or promote this one", "the database is a standby, which is read-only")
		return nil
	case readOnly:
		d.fault("writes", "make room first if the disk is full: some providers make a full database read-only; then reset default_transaction_read_only for the database, the role or the server",
			"the database is read-only: default_transaction_read_only is on")
		return nil
	}
	err := d.tryWrite(ctx, pool)
	refusal, ok := errors.AsType[*pgconn.PgError](err)
	switch {
	case err == nil:
		d.ok("writes", "the database takes writes")
	case ok && pgdb.IsFull(refusal):
		d.fault("writes", "enlarge the disk, or the memory or limit that the text names, or free space, such as that of old logs of the database; weft threads prune then makes room for new checkpoints",
			"the database is full: %s", refusal.Message)
	case ok && refusal.Code == noRight:
		d.skip("writes", "not tried, because the role may not create temporary tables: %s", refusal.Message)
	default:
		return err
	}
	return nil
}

// noRight is the error code for a statement that the role has no right to execute.
const noRight = "42501"

// probe is the number of bytes that weft doctor tries to write.
const probe = 64 << 10

func (d *doctor) tryWrite(ctx context.Context, pool *pgxpool.Pool) error {
	tx, err := pool.Begin(ctx)
	if err != nil {
		return err
	}
	for _, statement := range []string{
		"CREATE TEMPORARY TABLE weft_doctor (data text) ON COMMIT DROP",
		"ALTER TABLE weft_doctor ALTER COLUMN data SET STORAGE PLAIN", // uncompressed
		fmt.Sprintf("INSERT INTO weft_doctor SELECT repeat('x', 4096) FROM generate_series(1, %d)", probe/4096),
	} {
		if _, err = tx.Exec(ctx, statement); err != nil {
			break
		}
	}
	return errors.Join(err, tx.Rollback(ctx))
}

func (d *doctor) schemaName() string { return cmp.Or(d.address.schema, defaultSchema) }

// clock compares the clocks of this machine and of the database.
func (d *doctor) clock(ctx context.Context, pool *pgxpool.Pool) error {
	began, before := time.Now(), d.now()
	var theirs time.Time
	if err := pool.QueryRow(ctx, `SELECT clock_timestamp()`).Scan(&theirs); err != nil {
		return err
	}
	skew := before.Add(time.Since(began) / 2).Sub(theirs)
	if skew.Abs() > skewLimit {
		d.fault("clock", "set the clocks by NTP; leases and ages are those of the database", "the clock of this machine differs from that of the database by %s", skew.Round(time.Second))
		return nil
	}
	d.ok("clock", "it agrees with that of the database")
	return nil
}

// leastVector is the first version of pgvector with iterative scans.
const leastVector = "0.8"

// vector checks pgvector, which only a memory needs.
func (d *doctor) vector(ctx context.Context, db querier) error {
	var installed, available *string
	var memory bool
	err := db.QueryRow(ctx, `SELECT (SELECT extversion FROM pg_extension WHERE extname = 'vector'),
	(SELECT default_version FROM pg_available_extensions WHERE name = 'vector'),
	EXISTS (SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1::text AND c.relname = 'mem_fact')`,
		d.schemaName()).Scan(&installed, &available, &memory)
	switch {
	case err != nil:
		return err
	case installed != nil && older(*installed, leastVector):
		d.fault("pgvector", "install pgvector "+leastVector+" or newer, then ALTER EXTENSION vector UPDATE",
			"the extension has the version %s; searches with filters need %s", *installed, leastVector)
	case installed != nil:
		d.ok("pgvector", "version %s", *installed)
	case memory:
		d.fault("pgvector", "CREATE EXTENSION vector", "the schema has a memory, and the extension is not there")
	case available != nil:
		d.ok("pgvector", "not installed; version %s is available, which package pgmemory needs", *available)
	default:
		d.ok("pgvector", "not available; package pgmemory needs it")
	}
	return nil
}

// older reports whether a version is older than another. It compares only the first two numbers.
func older(version, than string) bool {
	var a, b, c, e int
	_, err1 := fmt.Sscanf(version, "%d.%d", &a, &b)
	_, err2 := fmt.Sscanf(than, "%d.%d", &c, &e)
	return err1 == nil && err2 == nil && (a < c || a == c && b < e)
}

const (
	// policiesQuery has the parameter schema. It returns the tables cp_* of the schema and the tables that a user of the
	// project can access, each with whether it has a policy and forced row-level security.
	policiesQuery = `SELECT c.relname, c.relrowsecurity AND c.relforcerowsecurity AND EXISTS (SELECT FROM pg_policy p WHERE p.polrelid = c.oid)
	FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
	WHERE n.nspname = $1::text AND c.relkind IN ('r', 'p') AND (c.relname LIKE 'cp\_%'
		OR EXISTS (SELECT FROM pg_roles r WHERE r.rolname IN ('anon', 'authenticated')
			AND has_table_privilege(r.oid, c.oid, 'SELECT, INSERT, UPDATE, DELETE'))) ORDER BY 1`
	bypassQuery = `SELECT rolname FROM pg_roles WHERE rolname IN ('anon', 'authenticated') AND (rolbypassrls OR rolsuper) ORDER BY 1`
)

// security checks row-level security, in the schema of a Supabase project.
func (d *doctor) security(ctx context.Context, pool *pgxpool.Pool) error {
	project, err := d.isProject(ctx, pool)
	if err != nil {
		return err
	}
	if !project {
		d.ok("security", "no row-level security: the program keeps users apart")
		return nil
	}
	rows, err := pool.Query(ctx, policiesQuery, d.schemaName())
	if err != nil {
		return err
	}
	var open []string
	n, name, guarded := 0, "", false
	_, err = pgx.ForEachRow(rows, []any{&name, &guarded}, func() error {
		if n++; !guarded {
			open = append(open, name)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if len(open) > 0 {
		d.fault("security", "apply the policies of package supacheckpoint again (supabase/migrations/20261121090003_weft_security.sql); until then users may see threads of others",
			"tables without forced row-level security or without a policy: %s", strings.Join(open, ", "))
	}
	if len(open) == 0 {
		d.ok("security", "row-level security on %s", counted(n, "table"))
	}
	return d.roles(ctx, pool)
}

// roles looks for roles of users to which no policy applies.
func (d *doctor) roles(ctx context.Context, db querier) error {
	rows, err := db.Query(ctx, bypassQuery)
	if err != nil {
		return err
	}
	free, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err == nil && len(free) > 0 {
		d.fault("roles", "ALTER ROLE "+free[0]+" NOSUPERUSER NOBYPASSRLS", "the policies do not apply to the role %s", strings.Join(free, ", "))
	}
	return err
}

// A querier is a pool, a connection or a transaction.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// tables opens the stores, which check their schema.
func (d *doctor) tables(ctx context.Context, pool *pgxpool.Pool) (*store, bool) {
	s := &store{runs: memruns.New(), held: d.held(pool)}
	var err error
	if s.checkpoints, err = d.checkpoints(ctx, pool); err == nil {
		r, failed := pgruns.New(ctx, pool, pgruns.Options{Schema: d.address.schema})
		switch names, read := d.migrations(ctx, pool); {
		case failed == nil:
			s.runs = r
		case read != nil:
			err = read
		case !errors.Is(failed, pgruns.ErrNotMigrated) || contains(names, "001_runs"): // a database without any run may lack their tables
			err = failed
		}
	}
	switch {
	case err == nil:
		d.ok("schema", "of this version, none pending")
		return s, true
	case errors.Is(err, pgcheckpoint.ErrNotMigrated), errors.Is(err, pgruns.ErrNotMigrated):
		d.schemaFault(true, err.Error())
	case errors.Is(err, checkpoint.ErrFormat), errors.Is(err, pgruns.ErrFormat):
		d.schemaFault(false, err.Error())
	default:
		d.fault("store", "", "the store cannot be opened: %v", err)
	}
	return nil, false
}

// leasesQuery has two parameters: the tenant, or "" for all tenants, and the idle time in seconds. It returns the
// threads with a fault and the kind of the fault: parked (runs died repeatedly and stored nothing), died (a run died),
// or hangs (a run holds its lease and has stored nothing for the idle time).
const leasesQuery = `SELECT CASE WHEN t.tenant = $1::text THEN t.id ELSE t.id || ' (tenant ' || t.tenant || ')' END, CASE WHEN t.until >= clock_timestamp() THEN 'hangs'
	WHEN s.epoch > 0 AND t.epoch - s.epoch >= 5 THEN 'parked' ELSE 'died' END
	FROM %s t LEFT JOIN LATERAL (SELECT epoch, time FROM %s WHERE thread = t.key ORDER BY seq DESC LIMIT 1) s ON true
	WHERE $1::text IN ('', t.tenant) AND t.owner IS NOT NULL
	AND (t.until < clock_timestamp() OR coalesce(s.time, t.created) < clock_timestamp() - make_interval(secs => $2::float8)) ORDER BY t.tenant, t.id`

// others reports the number of tenants whose threads the checks data and stuck leave out.
func (d *doctor) others(ctx context.Context, pool *pgxpool.Pool) error {
	if d.tenant != "" {
		return nil
	}
	n, err := d.tenants(pool)(ctx)
	if err == nil && n > 0 {
		d.ok("tenants", "threads of %s are not part of the checks data and stuck; -tenant chooses one", counted(n, "tenant"))
	}
	return err
}

// leases looks for leases of runs that have died or hang. It checks all tenants unless -tenant names one.
func (d *doctor) leases(ctx context.Context, pool *pgxpool.Pool) error {
	schema := d.schemaName()
	text := fmt.Sprintf(leasesQuery, pgx.Identifier{schema, "cp_thread"}.Sanitize(), pgx.Identifier{schema, "cp_step"}.Sanitize())
	rows, err := pool.Query(ctx, text, d.tenant, d.idle.Seconds())
	if err != nil {
		return err
	}
	by := map[string][]string{}
	var id, kind string
	_, err = pgx.ForEachRow(rows, []any{&id, &kind}, func() error { by[kind] = append(by[kind], id); return nil })
	if err != nil {
		return err
	}
	for _, f := range []struct{ kind, what, remedy string }{
		{"died", "whose run died: its lease has expired and was not released", "servers that share a queue take them by themselves in riverqueue.Options.Lease (10 s) when one runs, and a server without a queue at its start; a program continues them with Thread.Invoke, and weft threads resume THREAD -server URL those that stay"},
		{"parked", "whose last five runs died without storing anything", "find out why (memory?), then pgcheckpoint.Store.Unpark"},
		{"hangs", "held by a run that has stored nothing for longer than " + short(d.idle), "look at the process; weft threads cancel THREAD -server URL ends the run"},
	} {
		if ids := by[f.kind]; len(ids) > 0 {
			d.fault("leases", f.remedy, "%s %s: %s", counted(len(ids), "thread"), f.what, some(ids))
		}
	}
	if len(by) == 0 {
		d.ok("leases", "no run has died or hangs")
	}
	return nil
}
