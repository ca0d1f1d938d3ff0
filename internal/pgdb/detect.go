package pgdb

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// A detector detects whether the connections of a pool lead through a transaction pooler.
// A server sends each client the id of the server process. A pooler invents this id, since
// the process can be different in each transaction. If pg_backend_pid() returns a
// different id, there is a pooler.
//
// The first connection of a pool opens one more connection for this query. The detector
// keeps the result.
type detector struct {
	sem           chan struct{} // held while the fields known and pooled are read or written
	known, pooled bool
}

func newDetector() *detector { return &detector{sem: make(chan struct{}, 1)} }

// beforeConnect configures a new connection. It is the BeforeConnect of a pgxpool.Config.
func (d *detector) beforeConnect(ctx context.Context, config *pgx.ConnConfig) error {
	select {
	case d.sem <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-d.sem }()
	if !d.known {
		pooled, err := detectPooler(ctx, config)
		if err != nil {
			return err
		}
		d.known, d.pooled = true, pooled
	}
	if d.pooled {
		dontPrepare(config)
	}
	return nil
}

// detectPooler reports whether there is a pooler. It reports false if the server does not
// have the function pg_backend_pid.
func detectPooler(ctx context.Context, config *pgx.ConnConfig) (bool, error) {
	config = config.Copy()
	dontPrepare(config)
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return false, err
	}
	defer func() { _ = conn.Close(ctx) }()
	var pid int64
	err = conn.QueryRow(ctx, `SELECT pg_backend_pid()::bigint`).Scan(&pid)
	if _, ok := errors.AsType[*pgconn.PgError](err); ok {
		return false, nil
	}
	return err == nil && pid != int64(conn.PgConn().PID()), err
}

// DetectPooler reports whether a connection leads through a transaction pooler. It opens one, unless the address
// already shows a pooler.
func DetectPooler(ctx context.Context, config *pgx.ConnConfig) (bool, error) {
	if poolerAt(&config.Config) {
		return true, nil
	}
	return detectPooler(ctx, config)
}
