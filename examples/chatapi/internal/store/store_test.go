package store_test

import (
	"encoding/base64"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"go.uber.org/goleak"

	"github.com/weft-go/weft/checkpoint/supacheckpoint"
	"github.com/weft-go/weft/examples/chatapi/internal/store"
	"github.com/weft-go/weft/internal/pgtest"
	"github.com/weft-go/weft/internal/supatest"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/pgmemory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(pgtest.Main(m)) }

// key returns an API key of a role, in the form of a JWT.
func key(role string) string {
	part := func(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }
	return part(`{"alg":"HS256","typ":"JWT"}`) + "." + part(`{"iss":"supabase","ref":"abcdefgh","role":"`+role+`","exp":4102444800}`) + "." + part("signature")
}

const project = "SUPABASE_URL=https://abcdefgh.supabase.co"

// Supabase is on if and only if its URL and its key are set.
func TestRead(t *testing.T) {
	t.Parallel()
	const database = "SUPABASE_DB_URL=postgres://a/b"
	for _, tt := range []struct {
		env  []string
		want string
		url  string
	}{
		{nil, "SQLite, in here", ""},
		{[]string{"DATABASE_URL=postgres://c/d"}, "PostgreSQL", "postgres://c/d"},
		{[]string{project}, "SQLite, in here", ""},
		{[]string{"SUPABASE_SERVICE_ROLE_KEY=" + key("service_role")}, "SQLite, in here", ""},
		{[]string{project, "DATABASE_URL=postgres://c/d"}, "PostgreSQL", "postgres://c/d"},
		{[]string{project, "SUPABASE_SERVICE_ROLE_KEY=" + key("service_role"), database}, "Supabase", "postgres://a/b"},
		{[]string{project, "SUPABASE_KEY=" + key("service_role"), database}, "Supabase", "postgres://a/b"},
		{[]string{project, "SUPABASE_KEY=sb_secret_0123456789", "DATABASE_URL=postgres://c/d"}, "Supabase", "postgres://c/d"},
		{[]string{project, "SUPABASE_SERVICE_ROLE_KEY=" + key("service_role")}, "error: SUPABASE_DB_URL is not set", ""},
		{[]string{database}, "error: SUPABASE_DB_URL is set, and SUPABASE_URL", ""},
		{[]string{database, project}, "error: SUPABASE_DB_URL is set, and SUPABASE_URL", ""},
	} {
		c, err := store.Config{Folder: "here"}.Read(environment(tt.env))
		got := c.String()
		if err != nil {
			got = "error: " + err.Error()
		}
		if !strings.HasPrefix(got, tt.want) || err == nil && c.Database != tt.url {
			t.Errorf("%.200s: got %s, %s", tt.env, got, c.Database)
		}
	}
	if got := (store.Config{}).String(); got != "nothing is kept" {
		t.Errorf("got %s", got)
	}
}

func environment(set []string) func(string) string {
	return func(name string) string {
		for _, s := range set {
			if value, ok := strings.CutPrefix(s, name+"="); ok {
				return value
			}
		}
		return ""
	}
}

// Read refuses a public key in both variables, and the error does not show the key.
func TestAnonKey(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"SUPABASE_SERVICE_ROLE_KEY", "SUPABASE_KEY"} {
		for _, anon := range []string{key("anon"), "sb_publishable_0123456789"} {
			_, err := store.Config{}.Read(environment([]string{project, name + "=" + anon, "SUPABASE_DB_URL=postgres://a/b"}))
			if !errors.Is(err, supacheckpoint.ErrAnonKey) || !strings.Contains(err.Error(), name) || strings.Contains(err.Error(), anon) {
				t.Errorf("%s: got %v", name, err)
			}
		}
	}
}

// For a zero Config, there is no memory, but there are stores for checkpoints and runs.
func TestNothing(t *testing.T) {
	t.Parallel()
	s, err := store.Open(t.Context(), store.Config{})
	if err != nil || s.Checkpoints == nil || s.Runs == nil || s.Memory != nil || s.Close() != nil {
		t.Errorf("got %+v, %v", s, err)
	}
}

func TestOpenFails(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "memory.db"), []byte("this is no database, and is long enough to be seen as none"), 0o600); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(folder, "memory.db")
	for _, c := range []store.Config{{Folder: folder}, {Folder: file}, {Database: "postgres://%"}, {Database: "postgres://%", Supabase: true}, {Database: pgtest.URL(t), Schema: "no name"}} {
		if s, err := store.Open(t.Context(), c); err == nil {
			t.Errorf("%+v: no error, %v", c, s.Close())
		}
	}
}

// In a Supabase project, other programs read stored conversations as rows, and this program continues
// conversations that they wrote.
func TestSupabase(t *testing.T) {
	t.Parallel()
	c := store.Config{Database: supatest.Database(t, nil), Supabase: true, Lease: time.Second}
	t.Run("by hand", func(t *testing.T) { byHand(t, c.Database) })
	s, err := store.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	conn, err := pgx.Connect(t.Context(), c.Database)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	t.Run("columns", func(t *testing.T) { columns(t, conn) })
	t.Run("rows", func(t *testing.T) { rows(t, conn, s) })
	t.Run("updated_at", func(t *testing.T) { updated(t, conn, s) })
	t.Run("again", func(t *testing.T) {
		const count = `SELECT (SELECT count(*) FROM agent_conversations) * 100 + (SELECT sum(jsonb_array_length(messages)) FROM agent_conversations)`
		var before, after int
		if err := conn.QueryRow(t.Context(), count).Scan(&before); err != nil {
			t.Fatal(err)
		}
		byHand(t, c.Database, "42P07", "23505") // existing tables are refused, and no row is added or lost
		if err := conn.QueryRow(t.Context(), count).Scan(&after); err != nil || before != after || before < 208 {
			t.Errorf("got %d, and before it was %d; %v", after, before, err)
		}
	})
}

// byHand runs the migrations one after the other, as the SQL editor of a project does. The scripts of
// [pgmemory.Scripts] may fail with one of the codes.
func byHand(t *testing.T, database string, refused ...string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), database)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	own, err1 := pgmemory.Scripts("")
	public, err2 := pgmemory.SupabaseScripts("")
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	for i, script := range append(own, public...) {
		_, err := conn.Exec(t.Context(), script.SQL, pgx.QueryExecModeSimpleProtocol)
		answer, _ := errors.AsType[*pgconn.PgError](err)
		if err != nil && (i >= len(own) || !slices.Contains(refused, answer.Code)) {
			t.Errorf("%s: %v", script.Name, err)
		}
	}
}

// columns checks the columns that other programs expect.
func columns(t *testing.T, conn *pgx.Conn) {
	for table, want := range map[string][]string{
		"agent_conversations": {"session_id text", "messages jsonb", "updated_at timestamptz", "user_id text"},
		"agent_memories":      {"id uuid", "user_id text", "content text", "embedding vector"},
		"user_context":        {"user_id text", "plan text", "usage jsonb", "preferences jsonb"},
		"knowledge_chunks":    {"id uuid", "content text", "source text", "embedding vector"},
	} {
		found, err := conn.Query(t.Context(), `SELECT column_name || ' ' || udt_name FROM information_schema.columns WHERE table_schema = 'public' AND table_name = $1`, table)
		if err != nil {
			t.Fatal(err)
		}
		have, err := pgx.CollectRows(found, pgx.RowTo[string])
		if err != nil {
			t.Fatal(err)
		}
		for _, column := range want {
			if !strings.Contains("\n"+strings.Join(have, "\n")+"\n", "\n"+column+"\n") {
				t.Errorf("%s has no %s: %v", table, column, have)
			}
		}
	}
}

// rows checks that this program reads and writes rows in the form of a Python program.
func rows(t *testing.T, conn *pgx.Conn, s *store.Stores) {
	const python = `[{"type":"system","data":{"content":"Be brief."}},{"type":"human","data":{"content":"Hello?","id":null}},{"type":"ai","data":{"content":"Hello.","tool_calls":[]}}]`
	if _, err := conn.Exec(t.Context(), `INSERT INTO agent_conversations (session_id, messages, user_id, updated_at) VALUES ('of-python', $1, 'ann', now())`, python); err != nil {
		t.Fatal(err)
	}
	m, err := memory.New(s.Memory, memory.Options{})
	if err != nil {
		t.Fatal(err)
	}
	history := m.Conversations()
	ann := memory.Scope{User: "ann"}
	before, err := history.Load(t.Context(), ann, "of-python")
	if err != nil || len(before) != 3 || before[1].Role != llm.RoleUser || before[2].Text() != "Hello." {
		t.Fatalf("got %v, %v", before, err)
	}
	turn := memory.Turn{Session: "of-python", Mode: memory.AnswersOnly, Messages: append(memory.PlainMessages(before), llm.User("And now?"), llm.Assistant("Now, too."))}
	if _, err := history.Append(t.Context(), ann, turn); err != nil {
		t.Fatal(err)
	}
	var kinds, user string
	err = conn.QueryRow(t.Context(), `SELECT (SELECT string_agg((m ->> 'type') || ' ' || (m #>> '{data,content}'), ', ') FROM jsonb_array_elements(messages) AS m), user_id
		FROM agent_conversations WHERE session_id = 'of-python'`).Scan(&kinds, &user)
	if want := "system Be brief., human Hello?, ai Hello., human And now?, ai Now, too."; err != nil || kinds != want || user != "ann" {
		t.Errorf("got %s of %s, %v", kinds, user, err)
	}
}

// updated checks that a session stays one row, and that each save sets a later time.
func updated(t *testing.T, conn *pgx.Conn, s *store.Stores) {
	m, err := memory.New(s.Memory, memory.Options{})
	if err != nil {
		t.Fatal(err)
	}
	history := m.Conversations()
	bob := memory.Scope{User: "bob"}
	var last time.Time
	for i := range 3 {
		if _, err := history.Append(t.Context(), bob, memory.Turn{Session: "saved", Messages: []llm.Message{llm.User("hello")}}); err != nil {
			t.Fatal(err)
		}
		var n, messages int
		var at time.Time
		err := conn.QueryRow(t.Context(), `SELECT count(*), max(jsonb_array_length(messages)), max(updated_at) FROM agent_conversations WHERE session_id = 'saved'`).Scan(&n, &messages, &at)
		if err != nil || n != 1 || messages != i+1 || !at.After(last) {
			t.Errorf("%d rows with %d messages of %v, and before it was %v; %v", n, messages, at, last, err)
		}
		last = at
	}
	if unknown, err := history.Load(t.Context(), bob, "unknown"); err != nil || len(unknown) != 0 {
		t.Errorf("got %v, %v", unknown, err)
	}
}
