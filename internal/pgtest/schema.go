package pgtest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// prefix is the start of the names of all schemas and databases of tests. The Unix time
// of the creation follows. Later tests use it to drop schemas of killed tests.
const prefix = "weft_test_"

// abandonedAfter is the age after which a schema or database is dropped.
const abandonedAfter = 3 * time.Hour

func newName() string {
	return prefix + strconv.FormatInt(time.Now().Unix(), 10) + "_" + strings.ToLower(rand.Text()[:12])
}

// abandoned reports whether a name is the name of a test schema or test database that is older
// than abandonedAfter.
func abandoned(name string, now time.Time) bool {
	rest, ok := strings.CutPrefix(name, prefix)
	second, _, _ := strings.Cut(rest, "_")
	made, err := strconv.ParseInt(second, 10, 64)
	return ok && err == nil && now.Sub(time.Unix(made, 0)) > abandonedAfter
}

// Schema creates a schema in the database of [URL] and returns its name. The end of the
// test drops the schema.
func Schema(tb testing.TB) string {
	tb.Helper()
	return SchemaIn(tb, DirectURL(tb))
}

// SchemaIn is like [Schema], but creates the schema in the database of a given URL.
func SchemaIn(tb testing.TB, url string) string {
	tb.Helper()
	if err := sweep(url); err != nil {
		tb.Fatalf("pgtest: %v", err)
	}
	name := newName()
	if err := execute(url, "CREATE SCHEMA "+name); err != nil {
		tb.Fatalf("pgtest: %v", err)
	}
	tb.Cleanup(func() {
		if err := execute(url, "DROP SCHEMA "+name+" CASCADE"); err != nil {
			tb.Errorf("pgtest: %v", err)
		}
	})
	return name
}

// database is the database that this process has created.
var database struct {
	sync.Mutex
	url string // empty if there is no database yet
}

// Database returns the URL of a database that the tests of a package share. The first call
// creates the database and calls prepare unless it is nil. [Main] drops the database.
func Database(tb testing.TB, prepare func(ctx context.Context, conn *pgx.Conn) error) string {
	tb.Helper()
	server := DirectURL(tb)
	database.Lock()
	defer database.Unlock()
	if database.url != "" {
		return database.url
	}
	name := newName()
	made, err := withDatabase(server, name)
	if err == nil {
		err = errors.Join(sweep(server), execute(server, "CREATE DATABASE "+name))
	}
	if err != nil {
		tb.Fatalf("pgtest: %v", err)
	}
	database.url = made
	if prepare == nil {
		return made
	}
	if err := connected(made, prepare); err != nil {
		tb.Fatalf("pgtest: prepare the database: %v", err)
	}
	return made
}

// WithDatabase combines the server of one URL with the database of another URL. Use it to
// access a [Database] through the server of [PooledURL].
func WithDatabase(tb testing.TB, server, made string) string {
	tb.Helper()
	from, err := url.Parse(made)
	if err == nil {
		server, err = withDatabase(server, strings.TrimPrefix(from.Path, "/"))
	}
	if err != nil {
		tb.Fatalf("pgtest: %v", err)
	}
	return server
}

func withDatabase(server, name string) (string, error) {
	u, err := url.Parse(server)
	if err != nil {
		return "", fmt.Errorf("parse the URL of the server: %w", err)
	}
	u.Path = "/" + name
	return u.String(), nil
}

// M is the part of [testing.M] that [Main] needs.
type M interface{ Run() int }

// Main wraps a testing.M. It drops the [Database] of the package after the tests. Use it
// in TestMain: goleak.VerifyTestMain(pgtest.Main(m)).
func Main(m M) M { return main{m} }

type main struct{ M }

func (m main) Run() int {
	code := m.M.Run()
	database.Lock()
	defer database.Unlock()
	if database.url == "" {
		return code
	}
	if err := drop(database.url); err != nil {
		fmt.Fprintf(os.Stderr, "pgtest: %v\n", err)
		code = max(code, 1)
	}
	return code
}

func drop(made string) error {
	server, err := direct()
	if err != nil {
		return err
	}
	u, err := url.Parse(made)
	if err != nil {
		return err
	}
	return execute(server, "DROP DATABASE "+strings.TrimPrefix(u.Path, "/")+" WITH (FORCE)")
}

// swept contains the URLs of databases whose abandoned schemas this process has dropped.
var swept sync.Map

func sweep(url string) error {
	once, _ := swept.LoadOrStore(url, sync.OnceValue(func() error {
		return connected(url, dropAbandoned)
	}))
	return once.(func() error)()
}

// dropAbandoned drops abandoned schemas and databases. Several processes may call it
// concurrently.
func dropAbandoned(ctx context.Context, conn *pgx.Conn) error {
	for _, kind := range []struct{ names, drop string }{
		{`SELECT nspname FROM pg_namespace WHERE nspname LIKE '` + prefix + `%'`, "DROP SCHEMA IF EXISTS %s CASCADE"},
		{`SELECT datname FROM pg_database WHERE datname LIKE '` + prefix + `%'`, "DROP DATABASE IF EXISTS %s WITH (FORCE)"},
	} {
		rows, err := conn.Query(ctx, kind.names)
		if err != nil {
			return err
		}
		names, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			return err
		}
		for _, name := range names {
			if abandoned(name, time.Now()) {
				// Ignore the error, since another process may drop the same schema or database.
				_, _ = conn.Exec(ctx, fmt.Sprintf(kind.drop, pgx.Identifier{name}.Sanitize()))
			}
		}
	}
	return nil
}

func execute(url, sql string) error {
	return connected(url, func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, sql, pgx.QueryExecModeSimpleProtocol)
		return err
	})
}

// connected calls fn with a new connection.
func connected(url string, fn func(ctx context.Context, conn *pgx.Conn) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	return errors.Join(fn(ctx, conn), conn.Close(ctx))
}
