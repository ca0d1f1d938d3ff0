// Package supatest provides tests with a database that resembles the database of a Supabase
// project. It has the roles, the schemas auth and extensions, and pgvector outside of the
// search path. It lacks the services of Supabase: PostgREST, the auth server and the pooler.
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

// Policies is the start of a query for the policies of the schema $1. The view pg_policies must not
// be used: it reads the expressions of all schemas before it selects one, and so locks tables that
// other tests drop at that moment.
const Policies = `WITH policy AS MATERIALIZED (
	SELECT c.relname, p.* FROM pg_policy p JOIN pg_class c ON c.oid = p.polrelid WHERE c.relnamespace = $1::regnamespace
), policies AS (
	SELECT relname AS tablename, polname AS policyname, polroles::regrole[]::text[] AS roles, polcmd = 'r' AS reads,
		pg_get_expr(polqual, polrelid) AS qual, pg_get_expr(polwithcheck, polrelid) AS with_check FROM policy
) `

// Database returns the URL of a database that the tests of a package share. The user of the
// URL is a superuser. If prepare is not nil, it is called with the new database.
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

// addShim adds the roles and schemas of Supabase. It holds a lock, since all databases of a
// server share the roles, and the tests of several packages run concurrently.
func addShim(ctx context.Context, server string, conn *pgx.Conn) (err error) {
	lock, err := pgx.Connect(ctx, server)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Close(ctx)) }() // also releases the lock
	if _, err := lock.Exec(ctx, `SELECT pg_advisory_lock(hashtextextended('weft supatest', 0))`); err != nil {
		return err
	}
	_, err = conn.Exec(ctx, shim, pgx.QueryExecModeSimpleProtocol)
	return err
}

// Authenticator returns the URL of a database for the user authenticator. This user owns
// nothing, and may set the roles of the project. The server must use trust authentication,
// like the servers of scripts/postgres.
func Authenticator(tb testing.TB, database string) string {
	tb.Helper()
	u, err := url.Parse(database)
	if err != nil {
		tb.Fatalf("supatest: %v", err)
	}
	u.User = url.UserPassword("authenticator", "authenticator")
	return u.String()
}
