package main

import (
	"context"
	"crypto/rand"
	"errors"
	"maps"
	"net"
	"os"
	"strings"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/weft-go/weft/checkpoint/pgcheckpoint"
)

// databaseURL names the PostgreSQL server of -stores.
var databaseURL = os.Getenv("DATABASE_URL")

// A database is a schema of its own on the PostgreSQL server. It counts round trips.
type database struct {
	pool   *pgxpool.Pool
	schema string // quoted for use in SQL
	name   string
	trips  *atomic.Int64
}

// openDatabase creates a schema. Close drops it. The settings are parameters of the
// server for all connections.
func openDatabase(ctx context.Context, settings map[string]string) (*database, error) {
	config, err := pgcheckpoint.PoolConfig(databaseURL, pgcheckpoint.Detect)
	if err != nil {
		return nil, err
	}
	maps.Copy(config.ConnConfig.RuntimeParams, settings)
	d := &database{name: "weft_bench_" + strings.ToLower(rand.Text()[:12]), trips: new(atomic.Int64)}
	d.schema = pgx.Identifier{d.name}.Sanitize()
	dial := config.ConnConfig.DialFunc
	config.ConnConfig.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &countingConn{Conn: conn, trips: d.trips}, nil
	}
	if d.pool, err = pgxpool.NewWithConfig(ctx, config); err != nil {
		return nil, err
	}
	if _, err := d.pool.Exec(ctx, "CREATE SCHEMA "+d.schema); err != nil {
		d.pool.Close()
		return nil, err
	}
	return d, nil
}

// store returns a checkpoint store in the schema.
func (d *database) store(ctx context.Context) (*pgcheckpoint.Store, error) {
	o := pgcheckpoint.Options{Schema: d.name}
	if err := pgcheckpoint.Migrate(ctx, d.pool, o); err != nil {
		return nil, err
	}
	return pgcheckpoint.New(ctx, d.pool, o)
}

// size returns how many bytes the tables of the schema take, with their indexes.
func (d *database) size(ctx context.Context) (n int64, err error) {
	const sql = `SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint FROM pg_class c
		JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1 AND c.relkind = 'r'`
	err = d.pool.QueryRow(ctx, sql, d.name).Scan(&n)
	return n, err
}

// close drops the schema and closes all connections.
func (d *database) close() error {
	// Drop the schema even if the measurement was interrupted.
	_, err := d.pool.Exec(context.Background(), "DROP SCHEMA "+d.schema+" CASCADE")
	d.pool.Close()
	return err
}

// A countingConn counts round trips. A write begins a round trip, unless nothing was
// read since the previous write.
type countingConn struct {
	net.Conn
	trips   *atomic.Int64
	waiting atomic.Bool
}

func (c *countingConn) Write(p []byte) (int, error) {
	if !c.waiting.Swap(true) {
		c.trips.Add(1)
	}
	return c.Conn.Write(p)
}

func (c *countingConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 {
		c.waiting.Store(false)
	}
	return n, err
}

// server describes the PostgreSQL server, for the line above the table.
func server(ctx context.Context) (string, error) {
	if databaseURL == "" {
		return "", errors.New("DATABASE_URL is empty: run make bench-stores, or set it to the URL that scripts/postgres prints")
	}
	conn, err := pgx.Connect(ctx, databaseURL)
	if err != nil {
		return "", err
	}
	defer func() { _ = conn.Close(ctx) }() // The answer has arrived.
	var text string
	err = conn.QueryRow(ctx, `SELECT 'PostgreSQL ' || split_part(current_setting('server_version'), ' ', 1)
		|| ', fsync ' || current_setting('fsync')`).Scan(&text)
	return text, err
}
