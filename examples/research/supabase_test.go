package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/weft-go/weft/checkpoint/supacheckpoint"
	"github.com/weft-go/weft/examples/research/internal/account"
	"github.com/weft-go/weft/internal/supatest"
)

// column is a column of a table: its name, type, whether it may be null, and its default.
type column = string

func columns(p *place, table string) []column {
	p.t.Helper()
	return list(p, `SELECT column_name || ' ' || data_type || CASE is_nullable WHEN 'NO' THEN ' not null' ELSE '' END
		|| coalesce(' ' || CASE WHEN column_default LIKE 'nextval%' THEN 'serial' ELSE column_default END, '')
		FROM information_schema.columns WHERE table_schema = 'public' AND table_name = $1 ORDER BY ordinal_position`, table)
}

// The tables have the form that other programs expect.
func TestTables(t *testing.T) {
	t.Parallel()
	p := onSupabase(t, nil)
	for table, want := range map[string]struct {
		columns     []column
		constraints []string
		indexed     []string
	}{
		"proposal_checkpoints": {
			[]column{
				"id bigint not null serial", "thread_id text not null", "user_id uuid not null", "proposal_id uuid not null",
				"checkpoint_data jsonb not null", "metadata jsonb '{}'::jsonb",
				"created_at timestamp with time zone not null now()", "updated_at timestamp with time zone not null now()",
			},
			[]string{
				"FOREIGN KEY (proposal_id) REFERENCES proposals(id)", "FOREIGN KEY (user_id) REFERENCES auth.users(id)",
				"PRIMARY KEY (id)", "UNIQUE (thread_id, user_id)",
			},
			[]string{"(proposal_id)", "(thread_id)", "(user_id)"},
		},
		"proposal_sessions": {
			[]column{
				"id bigint not null serial", "thread_id text not null", "user_id uuid not null", "proposal_id uuid not null",
				"status text not null 'active'::text", "start_time timestamp with time zone not null now()",
				"last_activity timestamp with time zone not null now()", "metadata jsonb '{}'::jsonb",
			},
			[]string{
				"FOREIGN KEY (proposal_id) REFERENCES proposals(id)", "FOREIGN KEY (user_id) REFERENCES auth.users(id)",
				"PRIMARY KEY (id)", "UNIQUE (thread_id, user_id)",
			},
			[]string{"(proposal_id)", "(status)", "(thread_id)", "(user_id)"},
		},
	} {
		t.Run(table, func(t *testing.T) {
			if got := columns(p, table); !slices.Equal(got, want.columns) {
				t.Errorf("got columns %q want %q", got, want.columns)
			}
			got := list(p, `SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = $1::text::regclass AND contype IN ('p', 'u', 'f') ORDER BY 1`, "public."+table)
			if !slices.Equal(got, want.constraints) {
				t.Errorf("got constraints %q want %q", got, want.constraints)
			}
			// Each of these columns has an index besides the indexes of the constraints.
			got = list(p, `SELECT substring(indexdef from '\(.*\)') FROM pg_indexes WHERE schemaname = 'public' AND tablename = $1 AND indexname LIKE 'idx\_%' ORDER BY 1`, table)
			if !slices.Equal(got, want.indexed) {
				t.Errorf("got indexes %q want %q", got, want.indexed)
			}
		})
	}
}

// Row-level security is on, with a policy for each thing that a user may do.
func TestPolicies(t *testing.T) {
	t.Parallel()
	p := onSupabase(t, nil)
	const mine = `auth\.uid\(\).* = user_id`
	for table, want := range map[string]map[string]struct{ using, check bool }{
		"proposal_checkpoints": {"SELECT": {true, false}, "INSERT": {false, true}, "UPDATE": {true, true}, "DELETE": {true, false}},
		"proposal_sessions":    {"ALL": {true, true}},
	} {
		t.Run(table, func(t *testing.T) {
			if !ask[bool](p, `SELECT relrowsecurity AND relforcerowsecurity FROM pg_class WHERE oid = $1::text::regclass`, "public."+table) {
				t.Error("row-level security is not on")
			}
			if n := ask[int](p, `SELECT count(*)::int FROM pg_policies WHERE schemaname = 'public' AND tablename = $1`, table); n != len(want) {
				t.Errorf("got %d policies want %d", n, len(want))
			}
			for command, has := range want {
				using := ask[string](p, `SELECT string_agg(coalesce(qual, ''), '') FROM pg_policies WHERE schemaname = 'public' AND tablename = $1 AND cmd = $2`, table, command)
				check := ask[string](p, `SELECT string_agg(coalesce(with_check, ''), '') FROM pg_policies WHERE schemaname = 'public' AND tablename = $1 AND cmd = $2`, table, command)
				if got := regexp.MustCompile(mine).MatchString(using); got != has.using {
					t.Errorf("%s: USING is %q", command, using)
				}
				if got := regexp.MustCompile(mine).MatchString(check); got != has.check {
					t.Errorf("%s: WITH CHECK is %q", command, check)
				}
			}
		})
	}
}

// as runs SQL with the rights of the user, and returns the number of affected rows.
func (u user) as(sql string) (n int64, err error) {
	u.t.Helper()
	var refused error
	u.with(func(ctx context.Context, conn *pgx.Conn) error {
		tx, err := conn.Begin(ctx)
		if err != nil {
			return err
		}
		claims := fmt.Sprintf(`{"sub":%q,"role":"authenticated"}`, u.id)
		if _, err := tx.Exec(ctx, `SELECT set_config('role', 'authenticated', true), set_config('request.jwt.claims', $1, true)`, claims); err != nil {
			return err
		}
		tag, err := tx.Exec(ctx, sql)
		n, refused = tag.RowsAffected(), err
		return tx.Rollback(ctx)
	})
	return n, refused
}

// The rows of a run belong to its user, also in the database.
func TestRowsAreTheUsers(t *testing.T) {
	t.Parallel()
	p := onSupabase(t, nil)
	p.Model = newOffline()
	ann, bob := p.newUser(), p.newUser()
	r := ann.start(rfp)
	if n := ask[int](p, `SELECT count(*)::int FROM weft.cp_thread WHERE tenant = $1 AND id = $2`, ann.id, r.ThreadID); n != 1 {
		t.Errorf("got %d threads of the user want 1", n)
	}
	for _, table := range []string{"proposal_checkpoints", "proposal_sessions"} {
		theirs := fmt.Sprintf(" WHERE user_id = '%s'", ann.id)
		for verb, sql := range map[string]string{
			"select": "SELECT FROM " + table + theirs,
			"update": "UPDATE " + table + " SET metadata = '{}'" + theirs,
			"delete": "DELETE FROM " + table + theirs,
		} {
			if n, err := ann.as(sql); n != 1 || err != nil {
				t.Errorf("%s %s, by ann: got %d rows, error %v", verb, table, n, err)
			}
			if n, err := bob.as(sql); n != 0 || err != nil {
				t.Errorf("%s %s, by bob: got %d rows, error %v", verb, table, n, err)
			}
		}
		data := map[string]string{"proposal_checkpoints": ", checkpoint_data", "proposal_sessions": ""}[table]
		_, err := bob.as(fmt.Sprintf(`INSERT INTO %s (thread_id, user_id, proposal_id%s) SELECT 'x', '%s', '%s'%s`,
			table, data, ann.id, bob.proposal(), strings.Replace(data, "checkpoint_data", "'{}'", 1)))
		if err == nil || !strings.Contains(err.Error(), "row-level security") {
			t.Errorf("insert into %s, by bob for ann: got error %v", table, err)
		}
	}
}

// Programs that read no checkpoints can read the state of a session.
func TestPublished(t *testing.T) {
	t.Parallel()
	p := onSupabase(t, nil)
	p.Model = newOffline()
	u := p.newUser()
	r := u.start(rfp)
	row := ask[string](p, `SELECT checkpoint_data::text FROM proposal_checkpoints c JOIN proposal_sessions s USING (thread_id, user_id, proposal_id)
		WHERE thread_id = $1 AND user_id = $2::text::uuid AND s.status = 'completed' AND s.metadata->>'title' = 'rfp.md'`, r.ThreadID, u.id)
	var doc struct {
		ThreadID string `json:"thread_id"`
		Config   map[string]any
		State    struct {
			RFPDocument struct{ ID, Text string }
			Status      struct{ SolutionSought bool }
			Messages    []map[string]any
		}
	}
	if err := json.Unmarshal([]byte(row), &doc); err != nil {
		t.Fatal(err)
	}
	if doc.ThreadID != r.ThreadID || doc.Config == nil || doc.State.RFPDocument.Text != rfp || !doc.State.Status.SolutionSought {
		t.Errorf("got %s", row)
	}
	if len(doc.State.Messages) == 0 {
		t.Error("there are no messages")
	}
	for i, m := range doc.State.Messages {
		_, isText := m["content"].(string)
		_, isList := m["content"].([]any)
		more, has := m["additional_kwargs"]
		_, isMap := more.(map[string]any)
		if kind, ok := m["type"].(string); !ok || kind == "" || !isText && !isList || has && !isMap {
			t.Errorf("message %d is %v", i, m)
		}
	}
}

// failing makes a table of documents whose policy fails for the first calls.
func failing(p *place, state string, fails int) (table string, tries func() int) {
	p.t.Helper()
	table = "failing_" + strings.ReplaceAll(strings.TrimPrefix(supacheckpoint.ThreadID("", ""), "-"), "-", "")
	p.sql(`CREATE TABLE ` + table + ` (LIKE proposal_checkpoints INCLUDING ALL)`)
	p.sql(`CREATE SEQUENCE ` + table + `_tries`)
	p.sql(fmt.Sprintf(`CREATE FUNCTION %s_fail() RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$ BEGIN
		IF nextval('%[1]s_tries') <= %d THEN RAISE EXCEPTION 'as asked' USING ERRCODE = '%s'; END IF;
		RETURN true;
	END $$`, table, fails, state))
	p.sql(`ALTER TABLE ` + table + ` ENABLE ROW LEVEL SECURITY`)
	p.sql(fmt.Sprintf(`CREATE POLICY fails ON %s TO authenticated USING (%[1]s_fail()) WITH CHECK (%[1]s_fail())`, table))
	p.sql(`GRANT ALL ON ` + table + `, ` + `proposals TO authenticated`)
	p.sql(`GRANT ALL ON SEQUENCE ` + table + `_tries, proposal_checkpoints_id_seq TO authenticated`)
	return table, func() int {
		return ask[int](p, `SELECT CASE WHEN is_called THEN last_value ELSE 0 END::int FROM `+table+`_tries`)
	}
}

// The store repeats a call that fails for a while, three times at most. It repeats no refused call, and no call for a
// missing row. With FailOpen, a read that fails returns nothing, and a removal returns no error.
func TestDocumentsAreTriedAgain(t *testing.T) {
	t.Parallel()
	p := onSupabase(t, nil)
	do := map[string]func(*supacheckpoint.Proposals) error{
		"get": func(d *supacheckpoint.Proposals) error {
			data, err := d.Get(t.Context(), "there")
			if (data == nil) == (err == nil) {
				return fmt.Errorf("got nothing: %w", err)
			}
			return err
		},
		"put": func(d *supacheckpoint.Proposals) error {
			return d.Put(t.Context(), "new", json.RawMessage(`{"state":{}}`))
		},
		"delete": func(d *supacheckpoint.Proposals) error { return d.Delete(t.Context(), "there") },
		"get what is not there": func(d *supacheckpoint.Proposals) error {
			data, err := d.Get(t.Context(), "not there")
			if data != nil {
				return fmt.Errorf("got %s", data)
			}
			return err
		},
	}
	for op, run := range do {
		for name, c := range map[string]struct {
			state     string
			fails     int
			tries     int
			ok, opens bool
		}{
			"twice":        {"40001", 2, 3, true, false},
			"for ever":     {"53300", 99, 4, false, true},
			"a constraint": {"23514", 99, 1, false, true},
			"no right":     {"42501", 99, 1, false, true},
		} {
			if op == "get what is not there" {
				if name != "for ever" {
					continue
				}
				c.tries, c.ok = 0, true
			}
			for _, open := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, %s, open %t", op, name, open), func(t *testing.T) {
					u, said := p.newUser(), &log{}
					store := p.open2(t, slog.New(slog.NewTextHandler(said, nil)))
					table, tries := failing(p, c.state, c.fails)
					proposal := u.proposal()
					p.sql(`INSERT INTO `+table+` (thread_id, user_id, proposal_id, checkpoint_data) VALUES ('there', $1::text::uuid, $2::text::uuid, '{"thread_id":"there","state":{}}')`, u.id, proposal)
					documents := u.documents(store, supacheckpoint.ProposalOptions{Table: table, FailOpen: open, Proposal: about(proposal)})
					err := run(documents)
					wantOK := c.ok
					if open && op == "delete" {
						wantOK = true
					}
					if open && op == "get" && !c.ok {
						if err == nil || err.Error() != "got nothing: %!w(<nil>)" {
							t.Errorf("got error %v want nothing, and no error", err)
						}
					} else if (err == nil) != wantOK {
						t.Errorf("got error %v", err)
					}
					// A statement that succeeds evaluates the policy more than once.
					if n := tries(); n < c.tries || !c.ok && n != c.tries {
						t.Errorf("tried %d times want %d", n, c.tries)
					}
					if again := strings.Count(said.String(), "wait="); again != max(0, c.tries-1) {
						t.Errorf("waited %d times want %d: %s", again, c.tries-1, said.String())
					}
					if open && !c.ok && op != "put" && !strings.Contains(said.String(), "level=ERROR") {
						t.Errorf("the log has %s", said.String())
					}
				})
			}
		}
	}
}

// open2 opens another store, with shorter waits between retries.
func (p *place) open2(t *testing.T, logger *slog.Logger) *supacheckpoint.Store {
	t.Helper()
	store, err := supacheckpoint.Open(t.Context(), supatest.Authenticator(t, p.database), supacheckpoint.Options{
		Migrated: true, Logger: logger, Retry: supacheckpoint.Retry{Delay: time.Millisecond},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(store.Close)
	return store
}

func (u user) documents(store *supacheckpoint.Store, o supacheckpoint.ProposalOptions) *supacheckpoint.Proposals {
	u.t.Helper()
	mine, err := store.As(supacheckpoint.User{ID: u.id})
	if err != nil {
		u.t.Fatal(err)
	}
	d, err := mine.Proposals(o)
	if err != nil {
		u.t.Fatal(err)
	}
	return d
}

// The environment names the project, with the variables of the service or of the front end.
func TestEnvironment(t *testing.T) {
	t.Parallel()
	database := supabase(t)
	for name, c := range map[string]struct {
		change map[string]string
		want   string
	}{
		"as it is":                        {nil, ""},
		"the front end's URL":             {map[string]string{"SUPABASE_URL": "", "NEXT_PUBLIC_SUPABASE_URL": project}, ""},
		"the front end's URL and key":     {map[string]string{"SUPABASE_URL": "", "NEXT_PUBLIC_SUPABASE_URL": project, "NEXT_PUBLIC_SUPABASE_ANON_KEY": apiKey(t, "anon")}, ""},
		"DATABASE_URL":                    {map[string]string{"SUPABASE_DB_URL": "", "DATABASE_URL": supatest.Authenticator(t, database)}, ""},
		"the secret key for the browser":  {map[string]string{"NEXT_PUBLIC_SUPABASE_ANON_KEY": apiKey(t, "service_role")}, "must not reach a browser"},
		"the anon key for the service":    {map[string]string{"SUPABASE_SERVICE_ROLE_KEY": apiKey(t, "anon")}, supacheckpoint.ErrAnonKey.Error()},
		"no project":                      {map[string]string{"SUPABASE_URL": ""}, "NEXT_PUBLIC_SUPABASE_URL is set"},
		"no database":                     {map[string]string{"SUPABASE_DB_URL": ""}, "SUPABASE_DB_URL is not set"},
		"what is no database of projects": {map[string]string{"SUPABASE_DB_URL": "postgres://127.0.0.1:1/x?connect_timeout=1&password=pa55word"}, "SUPABASE_DB_URL"},
	} {
		env := projectEnv(t, database)
		for k, v := range c.change {
			env[k] = v
		}
		ctx := t.Context()
		if strings.HasPrefix(name, "what is no database") { // do not wait for all retries
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, 100*time.Millisecond)
			defer cancel()
		}
		var b *account.Supabase
		var err error
		withEnv(t, env, func() { b, err = account.OpenSupabase(ctx, true, nil) })
		if err == nil {
			err = b.Close()
		}
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got error %v want %q", name, err, c.want)
		}
		for _, key := range []string{env["SUPABASE_SERVICE_ROLE_KEY"], testSecret, "pa55word"} {
			if err != nil && strings.Contains(err.Error(), key) {
				t.Errorf("%s: the error has a secret", name)
			}
		}
	}
}
