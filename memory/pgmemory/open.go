package pgmemory

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/weft-go/weft/memory/driver"
)

// A DB is a memory in a PostgreSQL database. It is safe for concurrent use, unless it uses a single
// connection or a transaction.
type DB struct {
	link    *link
	pool    *pgxpool.Pool // closed by Close; nil if the caller owns the connection
	options Options
	schema  string
	quoted  string
	vector  string // the schema of pgvector, quoted
	sizes   *sizes
}

// New returns a memory that uses a pool, a connection or a transaction. The caller still owns it.
// In a transaction, changes take effect when the caller commits.
//
// New reads the version of the database. It returns [ErrNotMigrated] if migrations are missing, and
// [ErrFormat] if another version of this package has migrated the database.
func New(ctx context.Context, on Conn, o Options) (*DB, error) {
	d, err := makeDB(on, o)
	if err == nil {
		err = d.prepare(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("pgmemory: new: %w", classify(err))
	}
	return d, nil
}

func makeDB(on Conn, o Options) (*DB, error) {
	if on == nil {
		return nil, fmt.Errorf("no database: %w", driver.ErrInvalid)
	}
	if err := o.check(); err != nil {
		return nil, err
	}
	l, err := newLink(on, &o)
	if err != nil {
		return nil, err
	}
	o.Exact = cmp.Or(o.Exact, defaultExact)
	schema := cmp.Or(o.Schema, defaultSchema)
	return &DB{link: l, options: o, schema: schema, quoted: pgx.Identifier{schema}.Sanitize(), sizes: newSizes()}, nil
}

// Open connects to a database, migrates it if necessary, and returns a memory with its own pool.
// Call [DB.Close] at the end. The address is a URL or keyword string for pgxpool.ParseConfig; it
// may also have the parameter pgbouncer=true.
func Open(ctx context.Context, address string, o Options) (*DB, error) {
	d, err := open(ctx, address, o)
	if err != nil {
		return nil, fmt.Errorf("pgmemory: open: %w", classify(err))
	}
	return d, nil
}

func open(ctx context.Context, address string, o Options) (*DB, error) {
	config, err := PoolConfig(address, o.Pooling)
	if err != nil {
		return nil, err
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	d, err := makeDB(pool, o)
	if err == nil {
		err = d.migrate(ctx)
	}
	if err == nil {
		err = d.prepare(ctx)
	}
	if err != nil {
		pool.Close()
		return nil, err
	}
	d.pool = pool
	return d, nil
}

// Close waits for running calls and closes the pool of [Open]. It does not close the connection
// that was passed to [New].
func (d *DB) Close() {
	if d.pool != nil {
		d.pool.Close()
	}
}

// Bind returns a memory on the database of d with another [Options.Before], for example to give
// each call the rights of a user. It sends no statement, so a program may call it for each request.
// The memory cannot be used after d is closed.
//
// Bind is not a method, so that a type that embeds a bound DB has no method that binds it to
// another user.
func Bind(d *DB, before func(ctx context.Context, b *pgx.Batch) error) (*DB, error) {
	n, l := *d, *d.link
	l.before = before
	n.link, n.pool, n.sizes = &l, nil, newSizes()
	if err := l.check(); err != nil {
		return nil, fmt.Errorf("pgmemory: bind: %w", err)
	}
	return &n, nil
}

// Facts returns the database's store of facts.
func (d *DB) Facts() driver.FactStore { return &factStore{d} }

// sql replaces the default schema in a statement.
func (d *DB) sql(text string) string {
	if d.schema == defaultSchema {
		return text
	}
	return strings.ReplaceAll(text, defaultSchema+".", d.quoted+".")
}

// vectorQuery selects the schema of pgvector.
const vectorQuery = `SELECT n.nspname FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'vector'`

// prepare checks the version of the database and finds the schema of pgvector.
func (d *DB) prepare(ctx context.Context) error {
	if err := d.checkVersion(ctx); err != nil {
		return err
	}
	name := ""
	err := d.link.read(ctx, vectorQuery, nil, func() {}, func(rows pgx.Rows) error { return rows.Scan(&name) })
	if err == nil && name == "" {
		err = fmt.Errorf("no extension vector: %w", ErrNotMigrated)
	}
	d.vector = pgx.Identifier{name}.Sanitize()
	return err
}
