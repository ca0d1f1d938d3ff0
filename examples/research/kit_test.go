package main

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"

	"github.com/weft-go/weft/examples/research/internal/account"
	"github.com/weft-go/weft/examples/research/internal/api"
	"github.com/weft-go/weft/examples/research/internal/desk"
	"github.com/weft-go/weft/examples/research/internal/document"
	"github.com/weft-go/weft/examples/research/internal/offline"
	"github.com/weft-go/weft/internal/pgtest"
	"github.com/weft-go/weft/internal/supatest"
	"github.com/weft-go/weft/llm"
)

// asProgram names the variable that makes the test binary run as the program, in another process.
const asProgram = "RESEARCH_TEST_AS_PROGRAM"

// variables are the environment variables that the program reads. TestMain unsets them.
var variables = []string{
	"SUPABASE_DB_URL", "SUPABASE_URL", "SUPABASE_SERVICE_ROLE_KEY", "SUPABASE_KEY", "SUPABASE_JWT_SECRET", "SUPABASE_JWKS_URL",
	"NEXT_PUBLIC_SUPABASE_URL", "NEXT_PUBLIC_SUPABASE_ANON_KEY",
	"LLM_PROVIDER", "LLM_MODEL", "LLM_API_KEY", "OPENAI_API_KEY", "OPENAI_BASE_URL",
	"ANTHROPIC_API_KEY", "GOOGLE_API_KEY", "MISTRAL_API_KEY", "OLLAMA_HOST",
}

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
		return
	}
	for _, name := range variables {
		if err := os.Unsetenv(name); err != nil {
			panic(err)
		}
	}
	goleak.VerifyTestMain(pgtest.Main(m))
}

const rfp = `# Request for proposals: ferry timetable

## 1. Introduction

The City of Lindau invites proposals for a timetable of its ferries.

## 2. Requirements

- The system must show departures in real time.
- The contractor shall train 12 members of staff.

## 3. Schedule

Proposals are due on 2027-04-02 at noon.

## 4. Budget

The budget is 180,000 EUR including tax.
`

// A place is a server of a test, over one of the backends.
type place struct {
	*server
	t        *testing.T
	url      string
	secret   []byte
	issuer   string
	database string // empty for SQLite
	said     *log
	config   config
}

// log keeps the log of the server.
type log struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// places are the backends.
var places = map[string]func(*testing.T, llm.Model) *place{"SQLite": onSQLite, "PostgreSQL": onPostgres, "Supabase": onSupabase}

// inPlaces runs a test on every backend. A nil model is the offline one.
func inPlaces(t *testing.T, model func() llm.Model, test func(*testing.T, *place)) {
	t.Helper()
	t.Parallel()
	for name, open := range places {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := llm.Model(offline.Model{})
			if model != nil {
				m = model()
			}
			test(t, open(t, m))
		})
	}
}

const testSecret = "a secret of the tests that has more than 32 bytes"

func onSQLite(t *testing.T, m llm.Model) *place {
	t.Helper()
	return newPlace(t, m, "", nil)
}

func onPostgres(t *testing.T, m llm.Model) *place {
	t.Helper()
	return newPlace(t, m, pgtest.DirectURL(t), map[string]string{"DATABASE_URL": pgtest.DirectURL(t)})
}

const project = "http://127.0.0.1:54321"

func onSupabase(t *testing.T, m llm.Model) *place {
	t.Helper()
	database := supabase(t)
	p := newPlace(t, m, database, projectEnv(t, database))
	p.secret, p.issuer = []byte(testSecret), project+"/auth/v1"
	return p
}

// projectEnv returns the environment of a service of a project. Its login owns nothing, so only policies and grants
// give it rights.
func projectEnv(t *testing.T, database string) map[string]string {
	t.Helper()
	return map[string]string{
		"SUPABASE_DB_URL": supatest.Authenticator(t, database), "SUPABASE_URL": project, "SUPABASE_JWT_SECRET": testSecret,
		"SUPABASE_SERVICE_ROLE_KEY": apiKey(t, "service_role"),
	}
}

// supabase returns a database like that of a Supabase project, with the tables of this program.
func supabase(t *testing.T) string {
	t.Helper()
	database := supatest.Database(t, nil)
	migrate.Do(func() {
		env := projectEnv(t, database)
		env["SUPABASE_DB_URL"] = database
		withEnv(t, env, func() {
			b, err := account.OpenSupabase(t.Context(), false, nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := b.Close(); err != nil {
				t.Fatal(err)
			}
		})
	})
	return database
}

var (
	migrate sync.Once
	envLock sync.Mutex
)

// environ returns the environment for another process. If withEnv has set variables, environ waits until they are unset.
func environ() []string {
	envLock.Lock()
	defer envLock.Unlock()
	return os.Environ()
}

// withEnv sets variables, calls a function, and unsets the variables.
func withEnv(t *testing.T, env map[string]string, fn func()) {
	t.Helper()
	envLock.Lock()
	defer envLock.Unlock()
	before := os.Getenv("DATABASE_URL")
	defer func() { _ = os.Setenv("DATABASE_URL", before) }()
	_ = os.Unsetenv("DATABASE_URL") //nolint:usetesting // of tests that run at once
	for name, value := range env {
		if err := os.Setenv(name, value); err != nil { //nolint:usetesting // as above
			t.Fatal(err)
		}
	}
	defer func() {
		for name := range env {
			_ = os.Unsetenv(name)
		}
	}()
	fn()
}

func newPlace(t *testing.T, m llm.Model, database string, env map[string]string) *place {
	t.Helper()
	p := &place{t: t, database: database, issuer: account.Issuer, said: &log{}}
	p.server = &server{Server: api.Server{Desk: desk.Desk{Model: m, Logger: slog.New(slog.NewTextHandler(p.said, nil))}}}
	c := config{folder: t.TempDir(), migrated: true}
	if env["DATABASE_URL"] != "" {
		c.schema = pgtest.Schema(t)
	}
	var err error
	withEnv(t, env, func() { _, err = p.open(t.Context(), c) })
	if err != nil {
		t.Fatal(err)
	}
	p.secret, p.config = p.server.Secret, c
	t.Cleanup(func() {
		if err := p.close(); err != nil {
			t.Error(err)
		}
	})
	if p.Documents, err = document.OpenFolder(c.folder + "/documents"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Documents.Close() })
	srv, err := p.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = srv.Close(context.Background()) }) // the error may be that the test has closed the backend
	served := httptest.NewServer(p.Handler())
	p.url = served.URL
	t.Cleanup(func() {
		served.CloseClientConnections()
		served.Close()
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	})
	return p
}

func apiKey(t *testing.T, role string) string {
	t.Helper()
	return signed(t, []byte(testSecret), jwt.MapClaims{"iss": "supabase", "role": role, "exp": time.Now().Add(time.Hour).Unix()})
}

func signed(t *testing.T, secret []byte, claims jwt.MapClaims) string {
	t.Helper()
	text, err := jwt.NewWithClaims(jwt.SigningMethodHS256, claims).SignedString(secret)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// with connects as the owner of the database.
func (p *place) with(fn func(context.Context, *pgx.Conn) error) {
	p.t.Helper()
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, p.database)
	if err == nil {
		err = errors.Join(fn(ctx, conn), conn.Close(ctx))
	}
	if err != nil {
		p.t.Fatal(err)
	}
}

func (p *place) sql(statement string, args ...any) {
	p.t.Helper()
	p.with(func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, statement, args...)
		return err
	})
}

// ask returns the first column of the first row.
func ask[T any](p *place, query string, args ...any) T {
	p.t.Helper()
	var v T
	p.with(func(ctx context.Context, conn *pgx.Conn) error { return conn.QueryRow(ctx, query, args...).Scan(&v) })
	return v
}

// list returns the first column of all rows.
func list(p *place, query string, args ...any) (all []string) {
	p.t.Helper()
	p.with(func(ctx context.Context, conn *pgx.Conn) error {
		rows, err := conn.Query(ctx, query, args...)
		if err == nil {
			all, err = pgx.CollectRows(rows, pgx.RowTo[string])
		}
		return err
	})
	return all
}
