package supacheckpoint_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/supacheckpoint"
)

func TestProposalsStoresDocumentsWithSessions(t *testing.T) {
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
					require.NoError(t, d.Put(ctx, thread, json.RawMessage(c.put)))
					got, err := d.Get(ctx, thread)
					wantJSON(t, "put", got, err, c.want)
				}
				n := ask[int](t, p, `SELECT count(*)::int FROM public.proposal_checkpoints WHERE thread_id = $1 AND updated_at > created_at`, thread)
				assert.Equal(t, 1, n, "rows that say when they were updated")
				require.NoError(t, d.PutSession(ctx, thread, supacheckpoint.SessionUpdate{Status: "completed", Metadata: json.RawMessage(`{"score":3}`)}))
				var sessions []supacheckpoint.Session
				for s, err := range d.Sessions(ctx, supacheckpoint.SessionQuery{Statuses: []string{"completed"}}) {
					require.NoError(t, err)
					sessions = append(sessions, s)
				}
				require.Len(t, sessions, 1)
				assert.Equal(t, user, sessions[0].User)
				assert.Equal(t, thread, sessions[0].Thread)
				assert.Equal(t, 1, sessions[0].Checkpoints)
				assert.Equal(t, `{"score": 3}`, string(sessions[0].Metadata))
				assert.True(t, sessions[0].LastActivity.After(sessions[0].Start), "%+v", sessions[0])
				one, err := d.Session(ctx, thread)
				assert.NoError(t, err)
				assert.Equal(t, proposal, one.Proposal)
				assert.Equal(t, sessions, []supacheckpoint.Session{one})
				for unknown, want := range map[string]error{"none": checkpoint.ErrNotFound, "": checkpoint.ErrInvalid} {
					s, err := d.Session(ctx, unknown)
					assert.ErrorIs(t, err, want, "the session of %q", unknown)
					assert.Empty(t, s.Proposal, "the session of %q", unknown)
				}
				for range 2 {
					assert.NoError(t, d.Delete(ctx, thread), "delete")
				}
				got, err = d.Get(ctx, thread)
				wantJSON(t, "deleted", got, err, "")
			})
		}
	}
}

// Proposals reads rows that other programs write with SQL as the user, and these programs
// can read its rows.
func TestProposalsSharesRowsWithPlainSQL(t *testing.T) {
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
		ON CONFLICT (thread_id, user_id) DO UPDATE SET proposal_id = excluded.proposal_id, last_activity = excluded.last_activity`, thread, user, proposal)
	for range 2 {
		for _, statement := range []string{upsert, session} {
			n, err := asUserFor(t, conn, user, statement)
			require.NoError(t, err, statement)
			require.Equal(t, int64(1), n, statement)
		}
	}
	got, err := d.Get(ctx, thread)
	wantJSON(t, "theirs", got, err, `{"state":{"section":2},"config":{},"thread_id":"`+thread+`"}`)
	require.NoError(t, d.Put(ctx, thread, json.RawMessage(`{"state":{"section":3}}`)))
	read := fmt.Sprintf(`SELECT FROM proposal_checkpoints c JOIN proposal_sessions s USING (thread_id, user_id, proposal_id)
		WHERE thread_id = '%s' AND c.metadata = '{}' AND s.metadata = '{}' AND s.status = 'active'
		AND checkpoint_data->>'thread_id' = thread_id AND checkpoint_data->'state'->>'section' = '3'`, thread)
	n, err := asUserFor(t, conn, user, read)
	assert.NoError(t, err)
	assert.Equal(t, int64(1), n)
}

// asUserFor runs SQL like [asUser], but commits the transaction.
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

func TestProposalsRejectsInvalidDocumentsAndOwners(t *testing.T) {
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
		assert.ErrorIs(t, proposals(t, c.store, c.o).Put(t.Context(), thread, json.RawMessage(c.data)), c.want, name)
		for _, table := range []string{"proposal_checkpoints", "proposal_sessions"} {
			n := ask[int](t, p, `SELECT count(*)::int FROM public.`+table+` WHERE thread_id = $1`, thread)
			assert.Equal(t, 0, n, "%s: rows of %s", name, table)
		}
	}
	for _, table := range []string{`x"; drop table proposals; --`, "a.b", "1", " ", strings.Repeat("x", 64), "tab\x00le"} {
		_, err := mine.Proposals(supacheckpoint.ProposalOptions{Table: table})
		assert.ErrorIs(t, err, checkpoint.ErrInvalid, "table %q", table)
	}
}

// A user cannot read or change another user's documents, with the store or with SQL. Both
// users can have a thread with the same id.
func TestProposalsOfUsersAreSeparate(t *testing.T) {
	t.Parallel()
	p := documentPlace(t, directPlace)
	store := p.open(t)
	userA, proposalA := member(t, p)
	userB, proposalB := member(t, p)
	a, b := proposals(t, as(t, store, userA), about(proposalA)), proposals(t, as(t, store, userB), about(proposalB))
	ctx, thread := t.Context(), supacheckpoint.ProposalThreadID(proposalA, "")
	require.NoError(t, a.Put(ctx, thread, json.RawMessage(`{"state":{"of":"a"}}`)))
	got, err := b.Get(ctx, thread)
	wantJSON(t, "b's, before", got, err, "")
	assert.NoError(t, b.Delete(ctx, thread))
	asB := proposals(t, forUser(t, store, userB), about(proposalB))
	for name, d := range map[string]*supacheckpoint.Proposals{"b": b, "the service for b": asB} {
		_, err := d.Session(ctx, thread)
		assert.ErrorIs(t, err, checkpoint.ErrNotFound, name)
	}
	n, err := b.CleanUp(ctx, supacheckpoint.SessionQuery{Statuses: []string{"active"}})
	assert.NoError(t, err, "b cleans up")
	assert.Equal(t, 0, n, "b cleans up")
	require.NoError(t, b.Put(ctx, thread, json.RawMessage(`{"state":{"of":"b"}}`)))
	for who, c := range map[string]struct {
		d    *supacheckpoint.Proposals
		want string
	}{
		"a": {a, "a"}, "b": {b, "b"}, "the service for b": {asB, "b"}, "the service for a": {proposals(t, forUser(t, store, userA), about(proposalA)), "a"},
	} {
		got, err := c.d.Get(ctx, thread)
		wantJSON(t, who, got, err, `{"state":{"of":"`+c.want+`"},"thread_id":"`+thread+`"}`)
	}
	require.NoError(t, b.Put(ctx, "about a's proposal", json.RawMessage(`{"state":{}}`)))
	err = proposals(t, as(t, store, userB), about(proposalA)).Put(ctx, "about a's proposal", json.RawMessage(`{"state":{}}`))
	assert.True(t, refused(err), "b, about a's proposal: got error %v", err)

	conn := p.conn(t)
	for _, table := range []string{"proposal_checkpoints", "proposal_sessions", "proposals"} {
		theirs := " WHERE user_id = '" + userA + "'"
		for _, attack := range []string{
			"SELECT * FROM " + table + theirs,
			"UPDATE " + table + " SET user_id = '" + userB + "'" + theirs,
			"DELETE FROM " + table + theirs,
		} {
			n, err := asUser(t, conn, userB, attack)
			assert.Zero(t, n, attack)
			assert.True(t, err == nil || refused(err), "%s: got error %v", attack, err)
		}
	}
	for _, attack := range []string{
		`INSERT INTO proposal_checkpoints (thread_id, user_id, proposal_id, checkpoint_data) VALUES ('x', '` + userA + `', '` + proposalA + `', '{}')`,
		`INSERT INTO proposal_checkpoints (thread_id, user_id, proposal_id, checkpoint_data) VALUES ('x', '` + userB + `', '` + proposalA + `', '{}')`,
		`INSERT INTO proposal_sessions (thread_id, user_id, proposal_id) VALUES ('x', '` + userA + `', '` + proposalA + `')`,
		`INSERT INTO proposal_sessions (thread_id, user_id, proposal_id) VALUES ('` + thread + `', '` + userB + `', '` + proposalB + `')
			ON CONFLICT (thread_id, user_id) DO UPDATE SET user_id = '` + userA + `'`,
		`INSERT INTO proposal_sessions (id, thread_id, user_id, proposal_id) VALUES (999999, 'x', '` + userB + `', '` + proposalB + `')`,
		`UPDATE proposal_sessions SET id = 999999`,
		`INSERT INTO proposal_checkpoints (id, thread_id, user_id, proposal_id, checkpoint_data) VALUES (999999, 'x', '` + userB + `', '` + proposalB + `', '{}')`,
		`UPDATE proposal_checkpoints SET user_id = '` + userA + `'`,
		`SELECT * FROM agent_checkpoints`,
		`INSERT INTO agent_checkpoints (thread_id, checkpoint_data) VALUES ('x', '{}')`,
		`TRUNCATE proposal_sessions`,
	} {
		_, err := asUser(t, conn, userB, attack)
		assert.True(t, refused(err), "%s: got error %v", attack, err)
	}
}

// Get returns an error for a stored row that is not a document. With FailOpen, Get logs this
// error and errors of the database, and returns no document.
func TestFailOpenLogsErrorsOfTheDatabase(t *testing.T) {
	t.Parallel()
	p := documentPlace(t, directPlace)
	store := p.open(t)
	user, proposal := member(t, p)
	do(t, p, `INSERT INTO public.proposal_checkpoints (thread_id, user_id, proposal_id, checkpoint_data) VALUES ('bad', $1::uuid, $2::uuid, '{"state":[]}')`, user, proposal)

	closed := proposals(t, as(t, store, user), about(proposal))
	_, err := closed.Get(t.Context(), "bad")
	assert.ErrorIs(t, err, supacheckpoint.ErrDocument)
	var said bytes.Buffer
	p.options.Logger = slog.New(slog.NewTextHandler(&said, nil))
	p.options.Retry = supacheckpoint.Retry{Max: -1}
	o := about(proposal)
	o.FailOpen = true
	mine := as(t, p.open(t), user)
	open := proposals(t, mine, o)
	data, err := open.Get(t.Context(), "bad")
	assert.NoError(t, err)
	assert.Nil(t, data)
	assert.Contains(t, said.String(), "invalid checkpoint data format")
	o.Table = "not_there"
	missing := proposals(t, mine, o)
	data, err = missing.Get(t.Context(), "t")
	assert.NoError(t, err, "a table that is not there")
	assert.Nil(t, data, "a table that is not there")
	assert.Contains(t, said.String(), "not_there", "a table that is not there")
	assert.NoError(t, missing.Delete(t.Context(), "t"), "delete from a table that is not there")
	err = missing.Put(t.Context(), "t", json.RawMessage(`{"state":{}}`))
	assert.ErrorIs(t, err, supacheckpoint.ErrNotMigrated, "put into a table that is not there")
	assert.ErrorContains(t, err, "not_there", "put into a table that is not there")
	// FailOpen does not apply to mistakes of the caller.
	_, err = open.Get(t.Context(), "")
	assert.ErrorIs(t, err, checkpoint.ErrInvalid, "no thread")
	nobody := proposals(t, p.open(t), supacheckpoint.ProposalOptions{FailOpen: true})
	_, err = nobody.Get(t.Context(), "t")
	assert.ErrorIs(t, err, supacheckpoint.ErrNoOwner, "no user")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = open.Get(ctx, "bad")
	assert.ErrorIs(t, err, context.Canceled)
	assert.ErrorIs(t, open.Delete(ctx, "bad"), context.Canceled)
}

func TestProposalsCleanUpDeletesIdleDocuments(t *testing.T) {
	t.Parallel()
	p := documentPlace(t, directPlace)
	store := p.open(t)
	user, proposal := member(t, p)
	d := proposals(t, as(t, store, user), about(proposal))
	ctx := t.Context()
	id := func(name string) string { return name + " " + user }
	for _, name := range []string{"old", "done", "written just now", "new"} {
		require.NoError(t, d.Put(ctx, id(name), json.RawMessage(`{"state":{}}`)))
	}
	require.NoError(t, d.PutSession(ctx, id("done"), supacheckpoint.SessionUpdate{Status: "completed"}))
	do(t, p, `UPDATE public.proposal_sessions SET last_activity = now() - interval '40 days' WHERE thread_id = ANY ($1)`, []string{id("old"), id("written just now")})
	do(t, p, `UPDATE public.proposal_checkpoints SET updated_at = now() - interval '40 days' WHERE thread_id = $1`, id("old"))
	for name, c := range map[string]struct {
		q    supacheckpoint.SessionQuery
		want int
	}{
		"old":       {supacheckpoint.SessionQuery{IdleFor: 30 * 24 * time.Hour}, 1},
		"completed": {supacheckpoint.SessionQuery{Statuses: []string{"completed", "failed"}}, 1},
	} {
		n, err := d.CleanUp(ctx, c.q)
		assert.NoError(t, err, name)
		assert.Equal(t, c.want, n, name)
	}
	n, err := d.CleanUp(ctx, supacheckpoint.SessionQuery{})
	assert.ErrorIs(t, err, checkpoint.ErrInvalid, "a query without a condition")
	assert.Equal(t, 0, n, "a query without a condition")
	left := ask[[]string](t, p, `SELECT array_agg(c.thread_id ORDER BY c.thread_id) FROM public.proposal_checkpoints c
		JOIN public.proposal_sessions s USING (thread_id, user_id) WHERE user_id = $1::uuid`, user)
	wantSame(t, "left", left, id("new"), id("written just now"))
	// The service lists the sessions of the user in the options. It can clean up for all users.
	o := about(proposal)
	o.User = func(context.Context) (string, error) { return user, nil }
	service := proposals(t, store, o)
	n = 0
	for s, err := range service.Sessions(ctx, supacheckpoint.SessionQuery{}) {
		n++
		assert.NoError(t, err)
		assert.Equal(t, user, s.User)
	}
	assert.Equal(t, 2, n)
	removed, err := service.CleanUp(ctx, supacheckpoint.SessionQuery{AllUsers: true, Prefix: id("new"), Statuses: []string{"active"}})
	assert.NoError(t, err, "of all users")
	assert.Equal(t, 1, removed, "of all users")
	for _, err := range proposals(t, store, about(proposal)).Sessions(ctx, supacheckpoint.SessionQuery{}) {
		assert.ErrorIs(t, err, supacheckpoint.ErrNoOwner, "no user")
	}
	for _, err := range d.Sessions(ctx, supacheckpoint.SessionQuery{AllUsers: true}) {
		assert.ErrorIs(t, err, supacheckpoint.ErrRole, "all users, as a user")
	}
}
