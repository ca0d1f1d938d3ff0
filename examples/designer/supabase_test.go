package main

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/weft-go/weft/checkpoint/pgcheckpoint"
	"github.com/weft-go/weft/checkpoint/supacheckpoint"
	"github.com/weft-go/weft/internal/supatest"
)

const (
	projectURL    = "http://127.0.0.1:54321"
	projectSecret = "a-secret-of-a-project-that-is-long-enough"
	annID         = "11111111-1111-4111-8111-111111111111"
	bobID         = "22222222-2222-4222-8222-222222222222"
)

// tokenOf returns an access token of a user, in the form of a Supabase project.
func tokenOf(user, secret string) string {
	part := func(v map[string]any) string {
		data, err := json.Marshal(v)
		if err != nil {
			panic(err)
		}
		return base64.RawURLEncoding.EncodeToString(data)
	}
	text := part(map[string]any{"alg": "HS256", "typ": "JWT"}) + "." + part(map[string]any{
		"sub": user, "aud": "authenticated", "role": "authenticated", "iss": projectURL + "/auth/v1", "exp": time.Now().Add(time.Hour).Unix(),
	})
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(text))
	return text + "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// rows returns the rows of a query, each as one string.
func rows(t *testing.T, conn *pgx.Conn, sql string, args ...any) []string {
	t.Helper()
	found, err := conn.Query(t.Context(), sql, args...)
	if err != nil {
		t.Fatal(err)
	}
	list, err := pgx.CollectRows(found, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	return list
}

const columnsOf = `SELECT column_name || ' ' || data_type || CASE is_nullable WHEN 'YES' THEN ' null' ELSE '' END
	FROM information_schema.columns WHERE table_schema = 'public' AND table_name = $1 ORDER BY ordinal_position`

// In a Supabase project the program stores documents and memories in tables that other programs read, and verifies
// the tokens of the project's users.
func TestSupabase(t *testing.T) {
	t.Parallel()
	database := supatest.Database(t, nil)
	s := store{env: []string{"SUPABASE_DB_URL=" + database, "SUPABASE_URL=" + projectURL, "SUPABASE_JWT_SECRET=" + projectSecret}}.serve(t)
	conn, err := pgx.Connect(t.Context(), database)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())

	t.Run("tokens", func(t *testing.T) {
		for token, want := range map[string]int{"": 401, "nonsense": 401, tokenOf(annID, "another secret"): 401, tokenOf(annID, projectSecret): 200} {
			s.token = token
			if status, body := s.get(t, "GET", "/api/sessions", ""); status != want {
				t.Errorf("%.20q: %d %s, want %d", token, status, body, want)
			}
		}
	})
	s.token = tokenOf(annID, projectSecret)
	r := s.result(t, `{"message":"I prefer oak. Find oak chairs under 700"}`)

	t.Run("agent_checkpoints", func(t *testing.T) {
		want := "id uuid; thread_id text; checkpoint_data jsonb; created_at timestamp with time zone; updated_at timestamp with time zone"
		if got := strings.Join(rows(t, conn, columnsOf, "agent_checkpoints"), "; "); strings.ReplaceAll(got, " null", "") != want {
			t.Errorf("the columns are %s, want %s", got, want)
		}
		got := strings.Join(rows(t, conn, `SELECT contype::text || ' ' || pg_get_constraintdef(oid) FROM pg_constraint
			WHERE conrelid = 'public.agent_checkpoints'::regclass AND contype IN ('p', 'u') ORDER BY 1`), "; ")
		if want := "p PRIMARY KEY (id); u UNIQUE (thread_id)"; got != want {
			t.Errorf("the keys are %s, want %s", got, want)
		}
	})
	t.Run("agent_checkpoints_index", func(t *testing.T) {
		indexed := rows(t, conn, `SELECT indexdef FROM pg_indexes WHERE schemaname = 'public' AND tablename = 'agent_checkpoints' AND indexdef LIKE '%(thread_id)%'`)
		if len(indexed) == 0 {
			t.Error("no index is on thread_id")
		}
	})
	t.Run("document", func(t *testing.T) {
		var document struct {
			Messages          []json.RawMessage `json:"messages"`
			CollectedProducts []struct{ ID string }
			FinalResponse     string
			TurnCount         int
		}
		read := func() {
			docs := rows(t, conn, `SELECT checkpoint_data::text FROM agent_checkpoints WHERE thread_id = $1`, r.ThreadID)
			if len(docs) != 1 {
				t.Fatalf("there are %d documents", len(docs))
			}
			if err := json.Unmarshal([]byte(docs[0]), &document); err != nil {
				t.Fatal(err)
			}
		}
		read()
		if len(document.Messages) != 4 && len(document.Messages) != 6 || len(document.CollectedProducts) == 0 || document.FinalResponse != *r.Response || document.TurnCount != 1 {
			t.Errorf("the document is %+v", document)
		}
		s.result(t, `{"message":"hello","conversationId":"`+r.ConversationID+`"}`)
		if read(); document.TurnCount != 2 {
			t.Errorf("after two turns the document is %+v", document)
		}
		if status, body := s.get(t, "DELETE", "/api/sessions/"+r.ConversationID, ""); status != 204 {
			t.Errorf("delete: %d %s", status, body)
		}
		if left := rows(t, conn, `SELECT thread_id FROM agent_checkpoints`); len(left) != 0 {
			t.Errorf("left are %q", left)
		}
	})
	t.Run("agent_memories", func(t *testing.T) {
		columns := "; " + strings.Join(rows(t, conn, columnsOf, "agent_memories"), "; ") + "; "
		for _, want := range []string{
			"id uuid", "user_id text", "workspace_id text", "agent_id text", "memory_type text", "content text", "conversation_id text", "metadata jsonb",
			"created_at timestamp with time zone",
		} {
			if !strings.Contains(strings.ReplaceAll(columns, " null;", ";"), "; "+want+"; ") {
				t.Errorf("the columns are %s, want %s", columns, want)
			}
		}
		if status, body := s.get(t, "POST", "/api/memories", `{"type":"context","content":"Previously discussed marble flooring"}`); status != 201 {
			t.Errorf("%d %s", status, body)
		}
		const mine = `SELECT user_id || ' ' || coalesce(workspace_id, '') || ' ' || memory_type || ' ' || content FROM agent_memories WHERE content LIKE 'Previously%'`
		if got := rows(t, conn, mine); len(got) != 1 || got[0] != annID+" studio context Previously discussed marble flooring" {
			t.Errorf("the memories are %q", got)
		}
		for user, want := range map[string]int{annID: 1, bobID: 0} { // row-level security compares user_id with auth.uid()
			tx, err := conn.Begin(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			claims := fmt.Sprintf(`{"sub":%q,"role":"authenticated"}`, user)
			if _, err := tx.Exec(t.Context(), `SELECT set_config('request.jwt.claims', $1, true), set_config('role', 'authenticated', true)`, claims); err != nil {
				t.Fatal(err)
			}
			if got := rows(t, conn, mine); len(got) != want {
				t.Errorf("%s sees %q", user, got)
			}
			_, err = tx.Exec(t.Context(), `INSERT INTO agent_memories (user_id, memory_type, content) VALUES ($1, 'fact', 'x')`, annID)
			if (err == nil) != (want == 1) {
				t.Errorf("%s writes for ann: %v", user, err)
			}
			if err := tx.Rollback(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := conn.Exec(t.Context(), `INSERT INTO agent_memories (user_id, memory_type, content) VALUES ($1, 'mood', 'x')`, annID); err == nil {
			t.Error("the database takes any type")
		}
	})
	t.Run("what_is_missing_is_named", func(t *testing.T) {
		for name, statements := range map[string][2]string{
			"table":      {`ALTER TABLE agent_checkpoints RENAME TO hidden`, `ALTER TABLE hidden RENAME TO agent_checkpoints`},
			"permission": {`REVOKE ALL ON agent_checkpoints FROM service_role`, `GRANT ALL ON agent_checkpoints TO service_role`},
		} {
			if _, err := conn.Exec(t.Context(), statements[0]); err != nil {
				t.Fatal(err)
			}
			missing(t, database, name)
			if _, err := conn.Exec(t.Context(), statements[1]); err != nil {
				t.Fatal(err)
			}
		}
		u, err := url.Parse(database)
		if err != nil {
			t.Fatal(err)
		}
		u.Path = "/postgres"
		out, status := store{env: []string{"SUPABASE_DB_URL=" + u.String()}}.says(t, "", "hi")
		if status != 1 || !strings.Contains(out, "auth") && !strings.Contains(out, "Supabase") {
			t.Errorf("a database that is no project: %d %s", status, out)
		}
	})
}

// missing fails unless each operation on the table returns an error that names it.
func missing(t *testing.T, database, what string) {
	t.Helper()
	project, err := supacheckpoint.Open(t.Context(), database, supacheckpoint.Options{
		Checkpoint: pgcheckpoint.Options{Schema: "designer"}, Migrated: true, Retry: supacheckpoint.Retry{Max: -1},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer project.Close()
	documents, err := project.Agents()
	if err != nil {
		t.Fatal(err)
	}
	_, get := documents.Get(t.Context(), "t")
	for name, err := range map[string]error{"get": get, "put": documents.Put(t.Context(), "t", json.RawMessage(`{}`)), "delete": documents.Delete(t.Context(), "t")} {
		if err == nil || !strings.Contains(err.Error(), "agent_checkpoints") {
			t.Errorf("%s without the %s: got %v", name, what, err)
		}
	}
}
