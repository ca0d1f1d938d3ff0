// Package pgdb contains code that all stores on PostgreSQL share: the configuration of
// pools, the detection of transaction poolers, migrations, and random waits.
package pgdb

import (
	"cmp"
	"context"
	"math/rand/v2"
	"net/url"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// connectTimeout is the default timeout for a new connection of a pool.
const connectTimeout = 5 * time.Second

// PoolConfig returns the configuration of a pool for the URL. The connections of the pool do
// not prepare statements if they lead through a transaction pooler. The argument pooled says
// whether they do. If pooled is nil, PoolConfig looks for a pooler in the URL. If it finds
// none, the first connection of the pool looks for a pooler: see [detector].
func PoolConfig(address string, pooled *bool) (*pgxpool.Config, error) {
	address, requested := withoutParameter(address, "pgbouncer")
	config, err := pgxpool.ParseConfig(address)
	if err != nil {
		return nil, err
	}
	switch {
	case pooled != nil && *pooled, pooled == nil && (requested || poolerAt(&config.ConnConfig.Config)):
		dontPrepare(config.ConnConfig)
	case pooled == nil && config.ConnConfig.DefaultQueryExecMode == pgx.QueryExecModeCacheStatement:
		config.BeforeConnect = newDetector().beforeConnect
	}
	config.ConnConfig.ConnectTimeout = cmp.Or(config.ConnConfig.ConnectTimeout, connectTimeout)
	config.PingTimeout = cmp.Or(config.PingTimeout, connectTimeout)
	config.ShouldPing = func(context.Context, pgxpool.ShouldPingParams) bool { return false }
	return config, nil
}

// dontPrepare configures a connection to send statements without preparing them.
func dontPrepare(config *pgx.ConnConfig) {
	config.DefaultQueryExecMode = pgx.QueryExecModeExec
	config.StatementCacheCapacity = 0
	config.DescriptionCacheCapacity = 0
}

// withoutParameter removes a parameter from a URL, since the server does not know the
// parameter. It reports whether the parameter was true.
func withoutParameter(address, name string) (string, bool) {
	u, err := url.Parse(address)
	if err != nil || !strings.HasPrefix(u.Scheme, "postgres") {
		return address, false
	}
	q := u.Query()
	if !q.Has(name) {
		return address, false
	}
	requested := q.Get(name) == "true"
	q.Del(name)
	u.RawQuery = q.Encode()
	return u.String(), requested
}

// connConfig returns the configuration of the connections of db. It returns nil if db has no
// method that returns the configuration.
func connConfig(db any) *pgx.ConnConfig {
	switch db := db.(type) {
	case interface{ Config() *pgxpool.Config }:
		return db.Config().ConnConfig
	case interface{ Config() *pgx.ConnConfig }:
		return db.Config()
	case interface{ Conn() *pgx.Conn }:
		if c := db.Conn(); c != nil {
			return c.Config()
		}
	}
	return nil
}

// Caches reports whether a pool, a connection or a transaction caches prepared statements,
// which is the default of pgx. It returns true if the configuration is unknown. Prepared
// statements fail on a transaction pooler.
func Caches(db any) bool {
	c := connConfig(db)
	return c == nil || c.DefaultQueryExecMode == pgx.QueryExecModeCacheStatement
}

// Pooled reports whether the address of a pool, a connection or a transaction is the
// address of a transaction pooler.
func Pooled(db any) bool {
	c := connConfig(db)
	return c != nil && poolerAt(&c.Config)
}

// These are the usual ports of transaction poolers.
const (
	supavisorPort = 6543
	pgbouncerPort = 6432
)

func poolerAt(c *pgconn.Config) bool {
	return c.Port == supavisorPort || c.Port == pgbouncerPort || c.RuntimeParams["pgbouncer"] == "true" ||
		strings.HasPrefix(c.Host, "pooler.") || strings.Contains(c.Host, ".pooler.") || strings.Contains(c.Host, "-pooler.")
}

// Pause waits for a random time below the limit. If ctx ends first, it returns the error of
// ctx.
func Pause(ctx context.Context, limit time.Duration) error {
	t := time.NewTimer(rand.N(limit))
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
