// Package pgdb is what the stores on PostgreSQL have in common: pools that suit a
// transaction pooler, finding one, and waiting before something is tried again.
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

// connectTimeout is how long a pool waits for a new connection.
const connectTimeout = 5 * time.Second

// PoolConfig returns what a pool for the URL is to be made of. Behind a transaction
// pooler, which is found out if pooled is nil, its connections prepare no statements.
func PoolConfig(address string, pooled *bool) (*pgxpool.Config, error) {
	address, asked := withoutParameter(address, "pgbouncer")
	config, err := pgxpool.ParseConfig(address)
	if err != nil {
		return nil, err
	}
	if pooled != nil && *pooled || pooled == nil && (asked || poolerAt(&config.ConnConfig.Config)) {
		config.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeExec
		config.ConnConfig.StatementCacheCapacity = 0
		config.ConnConfig.DescriptionCacheCapacity = 0
	}
	config.ConnConfig.ConnectTimeout = cmp.Or(config.ConnConfig.ConnectTimeout, connectTimeout)
	config.PingTimeout = cmp.Or(config.PingTimeout, connectTimeout)
	config.ShouldPing = func(context.Context, pgxpool.ShouldPingParams) bool { return false }
	return config, nil
}

// withoutParameter removes a parameter that a server would not know from a URL,
// and reports whether it was true.
func withoutParameter(address, name string) (string, bool) {
	u, err := url.Parse(address)
	if err != nil || !strings.HasPrefix(u.Scheme, "postgres") {
		return address, false
	}
	q := u.Query()
	if !q.Has(name) {
		return address, false
	}
	asked := q.Get(name) == "true"
	q.Del(name)
	u.RawQuery = q.Encode()
	return u.String(), asked
}

// connConfig returns nil for what does not tell how it connects.
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

// Caches reports whether statements on a pool, a connection or a transaction are prepared
// and kept, which is the default of pgx, and breaks behind a transaction pooler.
func Caches(db any) bool {
	c := connConfig(db)
	return c == nil || c.DefaultQueryExecMode == pgx.QueryExecModeCacheStatement
}

// Pooled reports whether there is a transaction pooler before a pool, a connection or a
// transaction, as far as that can be told.
func Pooled(db any) bool {
	c := connConfig(db)
	return c != nil && poolerAt(&c.Config)
}

// The ports of Supavisor in transaction mode and of PgBouncer.
const (
	supavisorPort = 6543
	pgbouncerPort = 6432
)

func poolerAt(c *pgconn.Config) bool {
	return c.Port == supavisorPort || c.Port == pgbouncerPort || c.RuntimeParams["pgbouncer"] == "true" ||
		strings.HasPrefix(c.Host, "pooler.") || strings.Contains(c.Host, ".pooler.") || strings.Contains(c.Host, "-pooler.")
}

// Pause waits for a random part of the time.
func Pause(ctx context.Context, most time.Duration) error {
	t := time.NewTimer(rand.N(most))
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
