package pgcheckpoint

import (
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// connConfig returns nil for what does not tell how it connects.
func connConfig(db DB) *pgx.ConnConfig {
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

func defaultMode(db DB) pgx.QueryExecMode {
	if c := connConfig(db); c != nil {
		return c.DefaultQueryExecMode
	}
	return pgx.QueryExecModeCacheStatement
}

// pooled reports whether there is a transaction pooler in between.
func pooled(db DB, p Pooling) bool {
	if p != Detect {
		return p == Transaction
	}
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
