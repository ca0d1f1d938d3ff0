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

// A DB is an agent's memory in a PostgreSQL database. It is safe for use by any number of
// goroutines, unless it was made on a single connection or a transaction.
type DB struct {
	link    *link
	pool    *pgxpool.Pool // to close; nil for what is the caller's
	options Options
	schema  string
	quoted  string
	vector  string // the schema of pgvector, quoted
	sizes   *sizes
}

// New returns a memory that works on a pool, a connection or a transaction, which stays
// the caller's. In a transaction, what is done takes effect when the caller commits.
//
// New asks the database whether it is migrated: [ErrNotMigrated] says that it is
// not, and [ErrFormat] that another version of this package has been at it.
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

// Open connects to a database, migrates it unless that is done, and returns a
// memory with a pool of its own. The caller closes it. The URL is one as
// pgxpool.ParseConfig reads it; it may also have the parameter pgbouncer=true.
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

// Close closes the pool of [Open], once the calls that use it have ended. It does
// nothing to what was given to [New].
func (d *DB) Close() {
	if d.pool != nil {
		d.pool.Close()
	}
}

// Bind returns a memory on the database of d with an [Options.Before] of its own, such as one
// that gives each call the rights of a user. It asks the database nothing, so one may be
// made for each request; it ends when d is closed.
//
// It is no method, so that a type which embeds a bound memory does not offer its user
// another's.
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
func (d *DB) Facts() driver.FactStore { return &Facts{d} }

// sql puts the schema into a statement.
func (d *DB) sql(text string) string {
	if d.schema == defaultSchema {
		return text
	}
	return strings.ReplaceAll(text, defaultSchema+".", d.quoted+".")
}

// vectorQuery finds where pgvector is.
const vectorQuery = `SELECT n.nspname FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'vector'`

// prepare finds out what has to be known of the database.
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
