package pgmemory

import (
	"cmp"
	"context"
	"net/url"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// PoolConfig returns what a pool for the URL is to be made of. Behind a transaction
// pooler its connections prepare no statements. Connecting takes five seconds at most
// unless the URL says otherwise, and idle connections are not asked whether they live:
// a call finds out, without that round trip.
func PoolConfig(address string, p Pooling) (*pgxpool.Config, error) {
	address, asked := withoutParameter(address, "pgbouncer")
	config, err := pgxpool.ParseConfig(address)
	if err != nil {
		return nil, err
	}
	if p == Transaction || p == Detect && (asked || poolerAt(&config.ConnConfig.Config)) {
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
func connConfig(on Conn) *pgx.ConnConfig {
	switch on := on.(type) {
	case *pgxpool.Pool:
		return on.Config().ConnConfig
	case *pgx.Conn:
		return on.Config()
	case interface{ Conn() *pgx.Conn }:
		if c := on.Conn(); c != nil {
			return c.Config()
		}
	}
	return nil
}

func defaultMode(on Conn) pgx.QueryExecMode {
	if c := connConfig(on); c != nil {
		return c.DefaultQueryExecMode
	}
	return pgx.QueryExecModeCacheStatement
}

// pooled reports whether there is a transaction pooler in between.
func pooled(on Conn, p Pooling) bool {
	if p != Detect {
		return p == Transaction
	}
	c := connConfig(on)
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
