package pgtest

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
)

// Connect opens a connection that does not cache statements. The end of the test closes
// the connection.
func Connect(tb testing.TB, url string) *pgx.Conn {
	tb.Helper()
	conn, err := connect(url)
	if err != nil {
		tb.Fatalf("pgtest: %v", err)
	}
	tb.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

// Ask returns the first column of the first row of a query. It opens and closes a
// connection.
func Ask[T any](tb testing.TB, url, sql string, args ...any) (answer T) {
	tb.Helper()
	use(tb, url, func(conn *pgx.Conn) error {
		return conn.QueryRow(context.Background(), sql, args...).Scan(&answer)
	})
	return answer
}

// Do runs a statement, or several if there are no arguments. It opens and closes a
// connection.
func Do(tb testing.TB, url, sql string, args ...any) {
	tb.Helper()
	use(tb, url, func(conn *pgx.Conn) error {
		_, err := conn.Exec(context.Background(), sql, args...)
		return err
	})
}

func use(tb testing.TB, url string, fn func(*pgx.Conn) error) {
	tb.Helper()
	conn, err := connect(url)
	if err != nil {
		tb.Fatalf("pgtest: %v", err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	if err := fn(conn); err != nil {
		tb.Fatal(err)
	}
}

func connect(url string) (*pgx.Conn, error) {
	config, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, err
	}
	config.DefaultQueryExecMode = pgx.QueryExecModeExec
	return pgx.ConnectConfig(context.Background(), config)
}
