package supacheckpoint_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/supacheckpoint"
)

// documentPlace is a place whose database has the tables of documents.
func documentPlace(tb testing.TB, newPlace func(testing.TB) place) place {
	tb.Helper()
	p := newPlace(tb)
	migrateDocuments(tb, p)
	return p
}

func migrateDocuments(tb testing.TB, p place) {
	tb.Helper()
	owner := p
	owner.url = p.database
	owner.options.Documents = true
	if err := supacheckpoint.Migrate(context.Background(), owner.pool(tb, 1), owner.options); err != nil {
		tb.Fatal(err)
	}
}

// member returns the ids of a new user and of a proposal of theirs.
func member(tb testing.TB, p place) (user, proposal string) {
	tb.Helper()
	user = newUser()
	do(tb, p, `INSERT INTO auth.users (id) VALUES ($1)`, user)
	return user, ask[string](tb, p, `INSERT INTO public.proposals (user_id) VALUES ($1) RETURNING id::text`, user)
}

func about(proposal string) supacheckpoint.ProposalOptions {
	return supacheckpoint.ProposalOptions{Proposal: func(context.Context, string) (string, error) { return proposal, nil }}
}

func proposals(tb testing.TB, store *supacheckpoint.Store, o supacheckpoint.ProposalOptions) *supacheckpoint.Proposals {
	tb.Helper()
	d, err := store.Proposals(o)
	if err != nil {
		tb.Fatal(err)
	}
	return d
}

func wantJSON(tb testing.TB, what string, got json.RawMessage, err error, want string) {
	tb.Helper()
	var a, b any
	if err == nil && want != "" {
		err = errors.Join(json.Unmarshal(got, &a), json.Unmarshal([]byte(want), &b))
	}
	if err != nil || !reflect.DeepEqual(a, b) || want == "" && got != nil {
		tb.Errorf("%s: got %s, error %v want %s", what, got, err, want)
	}
}

func TestAgents(t *testing.T) {
	t.Parallel()
	for name, newPlace := range places {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := documentPlace(t, newPlace)
			agents, err := p.open(t).Agents()
			if err != nil {
				t.Fatal(err)
			}
			ctx, thread := t.Context(), supacheckpoint.ThreadID("interior-designer", "")
			got, err := agents.Get(ctx, thread)
			wantJSON(t, "none", got, err, "")
			for _, text := range []string{`{"messages":["hi"],"n":1.50}`, `["any","JSON"]`, `null`, `{"messages":[]}`} {
				if err := agents.Put(ctx, thread, json.RawMessage(text)); err != nil {
					t.Fatal(err)
				}
				got, err := agents.Get(ctx, thread)
				wantJSON(t, "put", got, err, text)
			}
			if n := ask[int](t, p, `SELECT count(*)::int FROM public.agent_checkpoints WHERE thread_id = $1 AND updated_at > created_at`, thread); n != 1 {
				t.Errorf("got %d rows want 1 that was updated", n)
			}
			for range 2 {
				if err := agents.Delete(ctx, thread); err != nil {
					t.Errorf("delete: %v", err)
				}
			}
			got, err = agents.Get(ctx, thread)
			wantJSON(t, "deleted", got, err, "")
		})
	}
}

// The rows are those that other programs read and write, by statements as these.
func TestAgentsInPlainSQL(t *testing.T) {
	t.Parallel()
	p := documentPlace(t, directPlace)
	agents, err := p.open(t).Agents()
	if err != nil {
		t.Fatal(err)
	}
	ctx, thread := t.Context(), supacheckpoint.ThreadID("designer", "conversation-1")
	const upsert = `INSERT INTO agent_checkpoints (thread_id, checkpoint_data, updated_at) VALUES ($1, $2::jsonb, now())
		ON CONFLICT (thread_id) DO UPDATE SET checkpoint_data = excluded.checkpoint_data, updated_at = excluded.updated_at`
	do(t, p, upsert, thread, `{"messages": [], "iterations": 3}`)
	got, err := agents.Get(ctx, thread)
	wantJSON(t, "theirs", got, err, `{"messages":[],"iterations":3}`)
	if err := agents.Put(ctx, thread, json.RawMessage(`{"messages": [{"role": "user"}]}`)); err != nil {
		t.Fatal(err)
	}
	const read = `SELECT checkpoint_data->'messages'->0->>'role' FROM agent_checkpoints WHERE thread_id = $1`
	if role := ask[string](t, p, read, thread); role != "user" {
		t.Errorf("ours: got %q want user", role)
	}
}

// What is missing is named.
func TestAgentsRefuses(t *testing.T) {
	t.Parallel()
	p := documentPlace(t, directPlace)
	store := p.open(t)
	for name, s := range map[string]*supacheckpoint.Store{"a user": as(t, store, ann), "the service, for a user": forUser(t, store, ann)} {
		if _, err := s.Agents(); !errors.Is(err, supacheckpoint.ErrRole) {
			t.Errorf("%s: got error %v want %v", name, err, supacheckpoint.ErrRole)
		}
	}
	agents, err := store.Agents()
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ thread, data string }{
		"no thread":        {"", `{}`},
		"a NUL":            {"a\x00b", `{}`},
		"no JSON":          {"t", `{`},
		"a NUL in JSON":    {"t", `{"a":"\u0000"}`},
		"half a character": {"t", `{"a":"\ud800"}`},
	} {
		if err := agents.Put(t.Context(), c.thread, json.RawMessage(c.data)); !errors.Is(err, checkpoint.ErrInvalid) {
			t.Errorf("%s: got error %v want %v", name, err, checkpoint.ErrInvalid)
		}
	}
}

func TestProposals(t *testing.T) {
	t.Parallel()
	for name, newPlace := range places {
		for who, bind := range map[string]bindFunc{"service for a user": forUser, "user": as} {
			t.Run(who+", "+name, func(t *testing.T) {
				t.Parallel()
				p := documentPlace(t, newPlace)
				user, proposal := member(t, p)
				d := proposals(t, bind(t, p.open(t), user), about(proposal))
				ctx, thread := t.Context(), supacheckpoint.ProposalThreadID(proposal, "")
				got, err := d.Get(ctx, thread)
				wantJSON(t, "none", got, err, "")
				for _, c := range []struct{ put, want string }{
					{`{"state":{"n":1}}`, `{"state":{"n":1},"thread_id":"` + thread + `"}`},
					{` { "state" : {} , "config" : {"x":1} } `, `{"state":{},"config":{"x":1},"thread_id":"` + thread + `"}`},
					{`{"thread_id":"another","state":{},"more":[1]}`, `{"more":[1],"state":{},"thread_id":"` + thread + `"}`},
				} {
					if err := d.Put(ctx, thread, json.RawMessage(c.put)); err != nil {
						t.Fatal(err)
					}
					got, err := d.Get(ctx, thread)
					wantJSON(t, "put", got, err, c.want)
				}
				if n := ask[int](t, p, `SELECT count(*)::int FROM public.proposal_checkpoints WHERE thread_id = $1 AND updated_at > created_at`, thread); n != 1 {
					t.Errorf("got %d rows want 1 that was updated", n)
				}
				if err := d.PutSession(ctx, thread, supacheckpoint.SessionUpdate{Status: "completed", Metadata: json.RawMessage(`{"score":3}`)}); err != nil {
					t.Fatal(err)
				}
				var sessions []supacheckpoint.Session
				for s, err := range d.Sessions(ctx, supacheckpoint.SessionQuery{Statuses: []string{"completed"}}) {
					if err != nil {
						t.Fatal(err)
					}
					sessions = append(sessions, s)
				}
				if len(sessions) != 1 || sessions[0].User != user || sessions[0].Thread != thread || sessions[0].Checkpoints != 1 ||
					string(sessions[0].Metadata) != `{"score": 3}` || !sessions[0].LastActivity.After(sessions[0].Start) {
					t.Errorf("got sessions %+v", sessions)
				}
				if one, err := d.Session(ctx, thread); err != nil || one.Proposal != proposal || !reflect.DeepEqual(sessions, []supacheckpoint.Session{one}) {
					t.Errorf("got session %+v, error %v, want that of %+v", one, err, sessions)
				}
				for unknown, want := range map[string]error{"none": checkpoint.ErrNotFound, "": checkpoint.ErrInvalid} {
					if s, err := d.Session(ctx, unknown); !errors.Is(err, want) || s.Proposal != "" {
						t.Errorf("the session of %q: got %+v, error %v want %v", unknown, s, err, want)
					}
				}
				for range 2 {
					if err := d.Delete(ctx, thread); err != nil {
						t.Errorf("delete: %v", err)
					}
				}
				got, err = d.Get(ctx, thread)
				wantJSON(t, "deleted", got, err, "")
			})
		}
	}
}

// What other programs write under the policies, by statements as these, is read, and they
// read what is written here.
func TestProposalsInPlainSQL(t *testing.T) {
	t.Parallel()
	p := documentPlace(t, directPlace)
	user, proposal := member(t, p)
	d := proposals(t, as(t, p.open(t), user), about(proposal))
	ctx, thread := t.Context(), supacheckpoint.ProposalThreadID(proposal, "writer")
	conn := p.conn(t)
	upsert := fmt.Sprintf(`INSERT INTO proposal_checkpoints (thread_id, user_id, proposal_id, checkpoint_data, updated_at)
		VALUES ('%s', '%s', '%s', '{"thread_id": "%[1]s", "config": {}, "state": {"section": 2}}', now())
		ON CONFLICT (thread_id, user_id) DO UPDATE SET thread_id = excluded.thread_id, user_id = excluded.user_id,
		proposal_id = excluded.proposal_id, checkpoint_data = excluded.checkpoint_data, updated_at = excluded.updated_at`, thread, user, proposal)
	session := fmt.Sprintf(`INSERT INTO proposal_sessions (thread_id, user_id, proposal_id, last_activity) VALUES ('%s', '%s', '%s', now())
		ON CONFLICT (thread_id) DO UPDATE SET user_id = excluded.user_id, proposal_id = excluded.proposal_id, last_activity = excluded.last_activity`, thread, user, proposal)
	for range 2 {
		for _, statement := range []string{upsert, session} {
			if n, err := asUserFor(t, conn, user, statement); n != 1 || err != nil {
				t.Fatalf("%s: got %d rows, error %v", statement, n, err)
			}
		}
	}
	got, err := d.Get(ctx, thread)
	wantJSON(t, "theirs", got, err, `{"state":{"section":2},"config":{},"thread_id":"`+thread+`"}`)
	if err := d.Put(ctx, thread, json.RawMessage(`{"state":{"section":3}}`)); err != nil {
		t.Fatal(err)
	}
	read := fmt.Sprintf(`SELECT FROM proposal_checkpoints c JOIN proposal_sessions s USING (thread_id, user_id, proposal_id)
		WHERE thread_id = '%s' AND c.metadata = '{}' AND s.metadata = '{}' AND s.status = 'active'
		AND checkpoint_data->>'thread_id' = thread_id AND checkpoint_data->'state'->>'section' = '3'`, thread)
	if n, err := asUserFor(t, conn, user, read); n != 1 || err != nil {
		t.Errorf("ours: got %d rows, error %v", n, err)
	}
}

// asUserFor runs SQL as [asUser] does, and keeps what it did.
func asUserFor(t *testing.T, conn *pgx.Conn, user, sql string) (n int64, err error) {
	t.Helper()
	err = pgx.BeginFunc(t.Context(), conn, func(tx pgx.Tx) error {
		claims := fmt.Sprintf(`{"sub":%q,"role":"authenticated"}`, user)
		_, err := tx.Exec(t.Context(), `SELECT set_config('role', 'authenticated', true), set_config('request.jwt.claims', $1, true)`, claims)
		if err != nil {
			return err
		}
		tag, err := tx.Exec(t.Context(), sql)
		n = tag.RowsAffected()
		return err
	})
	return n, err
}

func TestProposalsRefuses(t *testing.T) {
	t.Parallel()
	p := documentPlace(t, directPlace)
	store := p.open(t)
	user, proposal := member(t, p)
	other, _ := member(t, p)
	mine := as(t, store, user)
	owner := func(id string, err error) func(context.Context) (string, error) {
		return func(context.Context) (string, error) { return id, err }
	}
	good := `{"state":{}}`
	for name, c := range map[string]struct {
		store *supacheckpoint.Store
		o     supacheckpoint.ProposalOptions
		data  string
		want  error
	}{
		"nobody":                   {store, about(proposal), good, supacheckpoint.ErrNoOwner},
		"no user":                  {store, supacheckpoint.ProposalOptions{User: owner("", nil), Proposal: about(proposal).Proposal}, good, supacheckpoint.ErrNoOwner},
		"no proposal":              {mine, supacheckpoint.ProposalOptions{}, good, supacheckpoint.ErrNoOwner},
		"an empty proposal":        {mine, about(""), good, supacheckpoint.ErrNoOwner},
		"a user that fails":        {store, supacheckpoint.ProposalOptions{User: owner("", errAny), Proposal: about(proposal).Proposal}, good, errAny},
		"a user that is no id":     {store, supacheckpoint.ProposalOptions{User: owner("ann", nil), Proposal: about(proposal).Proposal}, good, checkpoint.ErrInvalid},
		"a proposal that is no id": {mine, about("7"), good, checkpoint.ErrInvalid},
		"another user":             {mine, supacheckpoint.ProposalOptions{User: owner(other, nil), Proposal: about(proposal).Proposal}, good, supacheckpoint.ErrRole},
		"another, as the service":  {forUser(t, store, user), supacheckpoint.ProposalOptions{User: owner(other, nil), Proposal: about(proposal).Proposal}, good, supacheckpoint.ErrRole},
		"no state":                 {mine, about(proposal), `{"thread_id":"t"}`, supacheckpoint.ErrDocument},
		"a state that is a list":   {mine, about(proposal), `{"state":[]}`, supacheckpoint.ErrDocument},
		"a state of null":          {mine, about(proposal), `{"state":null}`, supacheckpoint.ErrDocument},
		"a state in other letters": {mine, about(proposal), `{"State":{}}`, supacheckpoint.ErrDocument},
		"a config that is a text":  {mine, about(proposal), `{"state":{},"config":"x"}`, supacheckpoint.ErrDocument},
		"a thread that is 7":       {mine, about(proposal), `{"state":{},"thread_id":7}`, supacheckpoint.ErrDocument},
		"a list":                   {mine, about(proposal), `[]`, supacheckpoint.ErrDocument},
		"null":                     {mine, about(proposal), `null`, supacheckpoint.ErrDocument},
		"no JSON":                  {mine, about(proposal), `{`, supacheckpoint.ErrDocument},
		"a NUL in it":              {mine, about(proposal), `{"state":{"a":"\u0000"}}`, checkpoint.ErrInvalid},
		"half a character in it":   {mine, about(proposal), `{"state":{"a":"\udc00"}}`, checkpoint.ErrInvalid},
	} {
		thread := "refused " + name + user
		if err := proposals(t, c.store, c.o).Put(t.Context(), thread, json.RawMessage(c.data)); !errors.Is(err, c.want) {
			t.Errorf("%s: got error %v want %v", name, err, c.want)
		}
		for _, table := range []string{"proposal_checkpoints", "proposal_sessions"} {
			if n := ask[int](t, p, `SELECT count(*)::int FROM public.`+table+` WHERE thread_id = $1`, thread); n != 0 {
				t.Errorf("%s: %s has a row", name, table)
			}
		}
	}
	for _, table := range []string{`x"; drop table proposals; --`, "a.b", "1", " ", strings.Repeat("x", 64), "tab\x00le"} {
		if _, err := mine.Proposals(supacheckpoint.ProposalOptions{Table: table}); !errors.Is(err, checkpoint.ErrInvalid) {
			t.Errorf("table %q: got error %v want %v", table, err, checkpoint.ErrInvalid)
		}
	}
}

// One user does not reach what is another's, be it by the store or by SQL, also where both
// have threads of one id.
func TestProposalsAreApart(t *testing.T) {
	t.Parallel()
	p := documentPlace(t, directPlace)
	store := p.open(t)
	userA, proposalA := member(t, p)
	userB, proposalB := member(t, p)
	a, b := proposals(t, as(t, store, userA), about(proposalA)), proposals(t, as(t, store, userB), about(proposalB))
	ctx, thread := t.Context(), supacheckpoint.ProposalThreadID(proposalA, "")
	if err := a.Put(ctx, thread, json.RawMessage(`{"state":{"of":"a"}}`)); err != nil {
		t.Fatal(err)
	}
	got, err := b.Get(ctx, thread)
	wantJSON(t, "b's, before", got, err, "")
	if err := b.Delete(ctx, thread); err != nil {
		t.Error(err)
	}
	if err := b.PutSession(ctx, thread, supacheckpoint.SessionUpdate{Status: "taken"}); !errors.Is(err, checkpoint.ErrConflict) {
		t.Errorf("b's session of a's thread: got error %v want %v", err, checkpoint.ErrConflict)
	}
	asB := proposals(t, forUser(t, store, userB), about(proposalB))
	if err := asB.PutSession(ctx, thread, supacheckpoint.SessionUpdate{Status: "taken"}); !errors.Is(err, checkpoint.ErrConflict) {
		t.Errorf("the same by the service: got error %v want %v", err, checkpoint.ErrConflict)
	}
	for name, d := range map[string]*supacheckpoint.Proposals{"b": b, "the service for b": asB} {
		if s, err := d.Session(ctx, thread); !errors.Is(err, checkpoint.ErrNotFound) {
			t.Errorf("%s: got the session %+v, error %v", name, s, err)
		}
	}
	if n, err := b.CleanUp(ctx, supacheckpoint.SessionQuery{Statuses: []string{"active"}}); n != 0 || err != nil {
		t.Errorf("b cleans up: got %d, error %v", n, err)
	}
	if err := b.Put(ctx, thread, json.RawMessage(`{"state":{"of":"b"}}`)); err != nil {
		t.Fatal(err)
	}
	for who, c := range map[string]struct {
		d    *supacheckpoint.Proposals
		want string
	}{
		"a": {a, "a"}, "b": {b, "b"}, "the service for b": {asB, "b"}, "the service for a": {proposals(t, forUser(t, store, userA), about(proposalA)), "a"},
	} {
		got, err := c.d.Get(ctx, thread)
		wantJSON(t, who, got, err, `{"state":{"of":"`+c.want+`"},"thread_id":"`+thread+`"}`)
	}
	if err := b.Put(ctx, "about a's proposal", json.RawMessage(`{"state":{}}`)); err != nil {
		t.Fatal(err)
	}
	about := proposals(t, as(t, store, userB), about(proposalA))
	if err := about.Put(ctx, "about a's proposal", json.RawMessage(`{"state":{}}`)); !refused(err) {
		t.Errorf("b, about a's proposal: got error %v, want a refusal", err)
	}

	conn := p.conn(t)
	for _, table := range []string{"proposal_checkpoints", "proposal_sessions", "proposals"} {
		theirs := " WHERE user_id = '" + userA + "'"
		for _, attack := range []string{
			"SELECT * FROM " + table + theirs,
			"UPDATE " + table + " SET user_id = '" + userB + "'" + theirs,
			"DELETE FROM " + table + theirs,
		} {
			if n, err := asUser(t, conn, userB, attack); n != 0 || err != nil && !refused(err) {
				t.Errorf("%s: got %d rows, error %v", attack, n, err)
			}
		}
	}
	for _, attack := range []string{
		`INSERT INTO proposal_checkpoints (thread_id, user_id, proposal_id, checkpoint_data) VALUES ('x', '` + userA + `', '` + proposalA + `', '{}')`,
		`INSERT INTO proposal_checkpoints (thread_id, user_id, proposal_id, checkpoint_data) VALUES ('x', '` + userB + `', '` + proposalA + `', '{}')`,
		`INSERT INTO proposal_sessions (thread_id, user_id, proposal_id) VALUES ('x', '` + userA + `', '` + proposalA + `')`,
		`INSERT INTO proposal_sessions (thread_id, user_id, proposal_id) VALUES ('` + thread + `', '` + userB + `', '` + proposalB + `')
			ON CONFLICT (thread_id) DO UPDATE SET user_id = excluded.user_id`,
		`UPDATE proposal_checkpoints SET user_id = '` + userA + `'`,
		`SELECT * FROM agent_checkpoints`,
		`INSERT INTO agent_checkpoints (thread_id, checkpoint_data) VALUES ('x', '{}')`,
		`TRUNCATE proposal_sessions`,
	} {
		if n, err := asUser(t, conn, userB, attack); !refused(err) {
			t.Errorf("%s: got %d rows, error %v, want a refusal", attack, n, err)
		}
	}
}

// What the database has that is no document is an error, and nothing like an absence,
// unless that is asked for.
func TestFailOpen(t *testing.T) {
	t.Parallel()
	p := documentPlace(t, directPlace)
	store := p.open(t)
	user, proposal := member(t, p)
	do(t, p, `INSERT INTO public.proposal_checkpoints (thread_id, user_id, proposal_id, checkpoint_data) VALUES ('bad', $1::uuid, $2::uuid, '{"state":[]}')`, user, proposal)

	closed := proposals(t, as(t, store, user), about(proposal))
	if data, err := closed.Get(t.Context(), "bad"); !errors.Is(err, supacheckpoint.ErrDocument) {
		t.Errorf("got %s, error %v want %v", data, err, supacheckpoint.ErrDocument)
	}
	var said bytes.Buffer
	p.options.Logger = slog.New(slog.NewTextHandler(&said, nil))
	p.options.Retry = supacheckpoint.Retry{Max: -1}
	o := about(proposal)
	o.FailOpen = true
	mine := as(t, p.open(t), user)
	open := proposals(t, mine, o)
	if data, err := open.Get(t.Context(), "bad"); data != nil || err != nil || !strings.Contains(said.String(), "invalid checkpoint data format") {
		t.Errorf("got %s, error %v, log %s", data, err, said.String())
	}
	o.Table = "not_there"
	missing := proposals(t, mine, o)
	if data, err := missing.Get(t.Context(), "t"); data != nil || err != nil || !strings.Contains(said.String(), "not_there") {
		t.Errorf("a table that is not there: got %s, error %v, log %s", data, err, said.String())
	}
	if err := missing.Delete(t.Context(), "t"); err != nil {
		t.Errorf("delete from a table that is not there: %v", err)
	}
	if err := missing.Put(t.Context(), "t", json.RawMessage(`{"state":{}}`)); !errors.Is(err, supacheckpoint.ErrNotMigrated) || !strings.Contains(err.Error(), "not_there") {
		t.Errorf("put into a table that is not there: got error %v", err)
	}
	// It is not for mistakes of the caller.
	if _, err := open.Get(t.Context(), ""); !errors.Is(err, checkpoint.ErrInvalid) {
		t.Errorf("no thread: got error %v want %v", err, checkpoint.ErrInvalid)
	}
	nobody := proposals(t, p.open(t), supacheckpoint.ProposalOptions{FailOpen: true})
	if _, err := nobody.Get(t.Context(), "t"); !errors.Is(err, supacheckpoint.ErrNoOwner) {
		t.Errorf("nobody: got error %v want %v", err, supacheckpoint.ErrNoOwner)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := open.Get(ctx, "bad"); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: got error %v want %v", err, context.Canceled)
	}
	if err := open.Delete(ctx, "bad"); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: got error %v want %v", err, context.Canceled)
	}
}

// The session is not worth an error when the document is stored.
func TestProposalSessionFails(t *testing.T) {
	t.Parallel()
	p := documentPlace(t, directPlace)
	userA, proposalA := member(t, p)
	userB, proposalB := member(t, p)
	var said bytes.Buffer
	p.options.Logger = slog.New(slog.NewTextHandler(&said, nil))
	store := p.open(t)
	thread := supacheckpoint.ProposalThreadID(proposalA, "shared")
	for _, d := range []*supacheckpoint.Proposals{
		proposals(t, as(t, store, userA), about(proposalA)), proposals(t, as(t, store, userB), about(proposalB)),
	} {
		if err := d.Put(t.Context(), thread, json.RawMessage(`{"state":{}}`)); err != nil {
			t.Error(err)
		}
	}
	if !strings.Contains(said.String(), "level=WARN") || !strings.Contains(said.String(), "another user has a session") {
		t.Errorf("got log %q", said.String())
	}
	if owner := ask[string](t, p, `SELECT user_id::text FROM public.proposal_sessions WHERE thread_id = $1`, thread); owner != userA {
		t.Errorf("the session is of %s want %s", owner, userA)
	}
}

func TestProposalsCleanUp(t *testing.T) {
	t.Parallel()
	p := documentPlace(t, directPlace)
	store := p.open(t)
	user, proposal := member(t, p)
	d := proposals(t, as(t, store, user), about(proposal))
	ctx := t.Context()
	id := func(name string) string { return name + " " + user }
	for _, name := range []string{"old", "done", "written just now", "new"} {
		if err := d.Put(ctx, id(name), json.RawMessage(`{"state":{}}`)); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.PutSession(ctx, id("done"), supacheckpoint.SessionUpdate{Status: "completed"}); err != nil {
		t.Fatal(err)
	}
	do(t, p, `UPDATE public.proposal_sessions SET last_activity = now() - interval '40 days' WHERE thread_id = ANY ($1)`, []string{id("old"), id("written just now")})
	do(t, p, `UPDATE public.proposal_checkpoints SET updated_at = now() - interval '40 days' WHERE thread_id = $1`, id("old"))
	for name, c := range map[string]struct {
		q    supacheckpoint.SessionQuery
		want int
	}{
		"old":       {supacheckpoint.SessionQuery{IdleFor: 30 * 24 * time.Hour}, 1},
		"completed": {supacheckpoint.SessionQuery{Statuses: []string{"completed", "failed"}}, 1},
	} {
		if n, err := d.CleanUp(ctx, c.q); n != c.want || err != nil {
			t.Errorf("%s: removed %d want %d, error %v", name, n, c.want, err)
		}
	}
	if n, err := d.CleanUp(ctx, supacheckpoint.SessionQuery{}); n != 0 || !errors.Is(err, checkpoint.ErrInvalid) {
		t.Errorf("everything: removed %d, error %v", n, err)
	}
	left := ask[[]string](t, p, `SELECT array_agg(c.thread_id ORDER BY c.thread_id) FROM public.proposal_checkpoints c
		JOIN public.proposal_sessions s USING (thread_id, user_id) WHERE user_id = $1::uuid`, user)
	wantSame(t, "left", left, id("new"), id("written just now"))
	// By the service, for whom the options name, and for all.
	o := about(proposal)
	o.User = func(context.Context) (string, error) { return user, nil }
	service := proposals(t, store, o)
	n := 0
	for s, err := range service.Sessions(ctx, supacheckpoint.SessionQuery{}) {
		if n++; err != nil || s.User != user {
			t.Errorf("got %+v, error %v", s, err)
		}
	}
	if n != 2 {
		t.Errorf("got %d sessions want 2", n)
	}
	removed, err := service.CleanUp(ctx, supacheckpoint.SessionQuery{AllUsers: true, Prefix: id("new"), Statuses: []string{"active"}})
	if removed != 1 || err != nil {
		t.Errorf("of all users: removed %d want 1, error %v", removed, err)
	}
	for s, err := range proposals(t, store, about(proposal)).Sessions(ctx, supacheckpoint.SessionQuery{}) {
		if !errors.Is(err, supacheckpoint.ErrNoOwner) {
			t.Errorf("of nobody: got %+v, error %v", s, err)
		}
	}
	for s, err := range d.Sessions(ctx, supacheckpoint.SessionQuery{AllUsers: true}) {
		if !errors.Is(err, supacheckpoint.ErrRole) {
			t.Errorf("of all, by one: got %+v, error %v", s, err)
		}
	}
}
