// Package supatest gives tests a database like that of a Supabase project: its roles,
// its schemas auth and extensions, and pgvector outside of the search path. What is
// not there are its services: PostgREST, the auth server, the pooler.
package supatest

import (
	"context"
	_ "embed"
	"errors"
	"net/url"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/weft-go/weft/internal/pgtest"
)

//go:embed shim.sql
var shim string

// Database returns the URL of the database that the tests of a package share, for the
// server's own user. Prepare, if not nil, adds to it.
func Database(tb testing.TB, prepare func(ctx context.Context, conn *pgx.Conn) error) string {
	tb.Helper()
	server := pgtest.DirectURL(tb)
	return pgtest.Database(tb, func(ctx context.Context, conn *pgx.Conn) error {
		if err := addShim(ctx, server, conn); err != nil || prepare == nil {
			return err
		}
		return prepare(ctx, conn)
	})
}

// addShim takes turns with other packages: roles belong to all databases of a server.
func addShim(ctx context.Context, server string, conn *pgx.Conn) (err error) {
	gate, err := pgx.Connect(ctx, server)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, gate.Close(ctx)) }() // which opens it
	if _, err := gate.Exec(ctx, `SELECT pg_advisory_lock(hashtextextended('weft supatest', 0))`); err != nil {
		return err
	}
	_, err = conn.Exec(ctx, shim, pgx.QueryExecModeSimpleProtocol)
	return err
}

// Authenticator returns the URL for the user authenticator, which owns nothing and
// may take on the roles of the project. It is for servers that believe who somebody
// says to be, as those of scripts/postgres do.
func Authenticator(tb testing.TB, database string) string {
	tb.Helper()
	u, err := url.Parse(database)
	if err != nil {
		tb.Fatalf("supatest: %v", err)
	}
	u.User = url.UserPassword("authenticator", "authenticator")
	return u.String()
}
