package supacheckpoint_test

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/supacheckpoint"
	"github.com/weft-go/weft/internal/supatest"
)

// session returns the session of a thread, which must exist.
func session(tb testing.TB, store *supacheckpoint.Store, thread string) supacheckpoint.Session {
	tb.Helper()
	s, err := store.Session(tb.Context(), thread)
	require.NoError(tb, err)
	return s
}

func putSession(tb testing.TB, store *supacheckpoint.Store, thread, status, metadata string) {
	tb.Helper()
	u := supacheckpoint.SessionUpdate{Status: status}
	if metadata != "" {
		u.Metadata = json.RawMessage(metadata)
	}
	require.NoError(tb, store.PutSession(tb.Context(), thread, u))
}

// sessionsOf lists sessions as "user/thread".
func sessionsOf(tb testing.TB, store *supacheckpoint.Store, q supacheckpoint.SessionQuery) []string {
	tb.Helper()
	list := []string{}
	for s, err := range store.Sessions(tb.Context(), q) {
		require.NoError(tb, err)
		list = append(list, strings.TrimPrefix(s.User+"/"+s.Thread, "/"))
	}
	return list
}

func wantSame[T comparable](tb testing.TB, what string, got []T, want ...T) {
	tb.Helper()
	if len(want) == 0 {
		assert.Empty(tb, got, what)
		return
	}
	assert.Equal(tb, want, got, what)
}

// The first checkpoint of a thread creates its session. Each later checkpoint updates the
// session, and DeleteThread deletes it.
func TestSessionFollowsThread(t *testing.T) {
	t.Parallel()
	for name, newPlace := range places {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			store := as(t, p.open(t), ann)
			ctx := t.Context()
			_, err := store.Session(ctx, "plan")
			assert.ErrorIs(t, err, checkpoint.ErrNotFound, "before")
			putAll(t, store, "plan", 1)
			first := session(t, store, "plan")
			assert.Equal(t, ann, first.User)
			assert.Equal(t, "plan", first.Thread)
			assert.Equal(t, "active", first.Status)
			assert.Equal(t, "{}", string(first.Metadata))
			assert.Equal(t, 1, first.Checkpoints)
			age := first.LastActivity.Sub(first.Start)
			assert.GreaterOrEqual(t, age, time.Duration(0))
			assert.LessOrEqual(t, age, time.Minute)
			putSession(t, store, "plan", "waiting", `{"topic": "roof"}`)
			c := step("plan", 2)
			require.NoError(t, store.Put(ctx, c, c.Parent))
			second := session(t, store, "plan")
			assert.Equal(t, "waiting", second.Status)
			assert.Equal(t, `{"topic": "roof"}`, string(second.Metadata))
			assert.Equal(t, 2, second.Checkpoints)
			assert.True(t, second.Start.Equal(first.Start), "got %v want %v", second.Start, first.Start)
			assert.True(t, second.LastActivity.After(first.LastActivity), "%v is not after %v", second.LastActivity, first.LastActivity)
			putSession(t, store, "plan", "", "")
			s := session(t, store, "plan")
			assert.Equal(t, "waiting", s.Status, "an empty update")
			assert.True(t, s.LastActivity.After(second.LastActivity), "an empty update: %v is not after %v", s.LastActivity, second.LastActivity)
			require.NoError(t, store.CopyThread(ctx, "plan", "copy"))
			s = session(t, store, "copy")
			assert.Equal(t, "active", s.Status, "the copy")
			assert.Equal(t, 2, s.Checkpoints, "the copy")
			require.NoError(t, store.DeleteThread(ctx, "plan"))
			_, err = store.Session(ctx, "plan")
			assert.ErrorIs(t, err, checkpoint.ErrNotFound, "after")
			wantSame(t, "sessions", sessionsOf(t, store, supacheckpoint.SessionQuery{}), ann+"/copy")
		})
	}
}

// A lease creates no session, and neither does a Put that fails. A failed Put does not
// change an existing session.
func TestSessionIsUnchangedByLeaseAndFailedPut(t *testing.T) {
	t.Parallel()
	store := as(t, directPlace(t).open(t), ann)
	ctx := t.Context()
	held, err := store.Lease(ctx, "plan")
	require.NoError(t, err)
	wantSame(t, "a lease", sessionsOf(t, store, supacheckpoint.SessionQuery{}))
	stale := step("plan", 2)
	assert.ErrorIs(t, held.Put(ctx, stale, stepID(1)), checkpoint.ErrConflict)
	wantSame(t, "refused", sessionsOf(t, store, supacheckpoint.SessionQuery{}))
	putSession(t, store, "plan", "planned", "")
	assert.ErrorIs(t, held.Put(ctx, stale, stepID(1)), checkpoint.ErrConflict)
	s := session(t, store, "plan")
	assert.Equal(t, "planned", s.Status, "refused, with a session")
	assert.Equal(t, 0, s.Checkpoints, "refused, with a session")
	require.NoError(t, held.Put(ctx, step("plan", 1), ""))
	s = session(t, store, "plan")
	assert.Equal(t, "planned", s.Status)
	assert.Equal(t, 1, s.Checkpoints)
	// The thread is deleted while it is leased.
	require.NoError(t, store.DeleteThread(ctx, "plan"))
	wantSame(t, "emptied", sessionsOf(t, store, supacheckpoint.SessionQuery{}))
	require.NoError(t, held.Put(ctx, step("plan", 1), ""))
	s = session(t, store, "plan")
	assert.Equal(t, "active", s.Status, "after a new checkpoint")
	assert.Equal(t, 1, s.Checkpoints, "after a new checkpoint")
	assert.NoError(t, held.Release(ctx))
}

func TestSessionsListsTheMatches(t *testing.T) {
	t.Parallel()
	p := directPlace(t)
	store := p.open(t)
	anns, bobs := as(t, store, ann), as(t, store, bob)
	for i := range 230 {
		putSession(t, anns, fmt.Sprintf("t%03d", i), []string{"completed", "failed", "active"}[i%3], "")
	}
	putSession(t, bobs, "t000", "completed", "")
	putSession(t, bobs, "x", "", "")
	putSession(t, store, "job", "", "")
	do(t, p, `UPDATE weft.cp_session SET last_activity = last_activity - interval '2 days' WHERE thread_id < 't005'`)
	type query = supacheckpoint.SessionQuery
	for name, c := range map[string]struct {
		store *supacheckpoint.Store
		q     query
		n     int
		first string
	}{
		"all of a user":            {anns, query{}, 230, ann + "/t000"},
		"a page and more":          {anns, query{Limit: 101}, 101, ann + "/t000"},
		"a few":                    {anns, query{Limit: 2}, 2, ann + "/t000"},
		"a status":                 {anns, query{Statuses: []string{"failed"}}, 77, ann + "/t001"},
		"two":                      {anns, query{Statuses: []string{"failed", "completed"}}, 154, ann + "/t000"},
		"none of no status":        {anns, query{Statuses: []string{}}, 0, ""},
		"idle":                     {anns, query{IdleFor: 24 * time.Hour}, 5, ann + "/t000"},
		"idle with a status":       {anns, query{IdleFor: 24 * time.Hour, Statuses: []string{"failed"}}, 2, ann + "/t001"},
		"idle for longer":          {anns, query{IdleFor: 72 * time.Hour}, 0, ""},
		"a prefix":                 {anns, query{Prefix: "t01"}, 10, ann + "/t010"},
		"a prefix is no pattern":   {anns, query{Prefix: "t%"}, 0, ""},
		"of another":               {bobs, query{}, 2, bob + "/t000"},
		"of the service":           {store, query{}, 1, "job"},
		"of all":                   {store, query{AllUsers: true}, 233, "job"},
		"of all, idle":             {store, query{AllUsers: true, IdleFor: time.Hour}, 7, "job"},
		"of all, with a few":       {store, query{AllUsers: true, Limit: 232}, 232, "job"},
		"of one, for the service":  {forUser(t, store, bob), query{}, 2, bob + "/t000"},
		"a prefix that is a quote": {anns, query{Prefix: "'"}, 0, ""},
	} {
		got := sessionsOf(t, c.store, c.q)
		assert.Len(t, got, c.n, name)
		if c.n > 0 && len(got) > 0 {
			assert.Equal(t, c.first, got[0], name)
		}
		assert.True(t, slices.IsSorted(got[min(1, len(got)):]), "%s: %v is not sorted", name, got)
	}
	for _, err := range anns.Sessions(t.Context(), query{}) {
		assert.NoError(t, err)
		break // the iterator must stop here
	}
	for name, c := range map[string]struct {
		store *supacheckpoint.Store
		q     query
		want  error
	}{
		"all users, as a user":   {anns, query{AllUsers: true}, supacheckpoint.ErrRole},
		"all users, for a user":  {forUser(t, store, ann), query{AllUsers: true}, supacheckpoint.ErrRole},
		"a negative limit":       {anns, query{Limit: -1}, checkpoint.ErrInvalid},
		"a negative age":         {anns, query{IdleFor: -1}, checkpoint.ErrInvalid},
		"a NUL":                  {anns, query{Prefix: "\x00"}, checkpoint.ErrInvalid},
		"a status without UTF-8": {anns, query{Statuses: []string{"\xff"}}, checkpoint.ErrInvalid},
	} {
		for _, err := range c.store.Sessions(t.Context(), c.q) {
			assert.ErrorIs(t, err, c.want, name)
		}
		c.q.IdleFor = max(c.q.IdleFor, -1)
		n, err := c.store.CleanUp(t.Context(), c.q)
		assert.ErrorIs(t, err, checkpoint.ErrInvalid, "CleanUp: %s", name)
		assert.Equal(t, 0, n, "CleanUp: %s", name)
	}
}

func TestPutSessionRejectsInvalidUpdates(t *testing.T) {
	t.Parallel()
	store := as(t, directPlace(t).open(t), ann)
	for name, c := range map[string]struct{ thread, status, metadata string }{
		"no thread":             {"", "done", ""},
		"a thread with a NUL":   {"a\x00", "done", ""},
		"a status with a NUL":   {"plan", "\x00", ""},
		"metadata of no object": {"plan", "", `[1]`},
		"metadata of null":      {"plan", "", `null`},
		"metadata of no JSON":   {"plan", "", `{`},
		"metadata with a NUL":   {"plan", "", `{"a":"\u0000"}`},
		"half a character":      {"plan", "", `{"a":"\ud800"}`},
	} {
		u := supacheckpoint.SessionUpdate{Status: c.status}
		if c.metadata != "" {
			u.Metadata = json.RawMessage(c.metadata)
		}
		assert.ErrorIs(t, store.PutSession(t.Context(), c.thread, u), checkpoint.ErrInvalid, name)
	}
	wantSame(t, "sessions", sessionsOf(t, store, supacheckpoint.SessionQuery{}))
}

// CleanUp deletes the matching threads with their checkpoints and sessions. It keeps
// threads that are leased or were written recently.
func TestCleanUpDeletesOnlyIdleMatches(t *testing.T) {
	t.Parallel()
	for name, newPlace := range places {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			whole := p.open(t)
			anns, bobs := as(t, whole, ann), as(t, whole, bob)
			ctx := t.Context()
			for _, store := range []*supacheckpoint.Store{anns, bobs, whole} {
				for _, thread := range []string{"old", "old and used", "old and leased", "done", "new"} {
					putAll(t, store, thread, 2)
				}
				putSession(t, store, "done", "completed", "")
			}
			require.NoError(t, anns.PutWrites(ctx, checkpoint.Key{Thread: "old", ID: stepID(2)}, []checkpoint.Write{{Task: "a", Channel: "x"}}))
			require.NoError(t, anns.Tag(ctx, checkpoint.Key{Thread: "old", ID: stepID(1)}, "first"))
			do(t, p, `UPDATE weft.cp_session SET last_activity = last_activity - interval '40 days' WHERE thread_id LIKE 'old%'`)
			do(t, p, `UPDATE weft.cp_thread SET at = at - interval '40 days' WHERE id IN ('old', 'old and leased')`)
			held, err := anns.Lease(ctx, "old and leased")
			require.NoError(t, err)
			month := supacheckpoint.SessionQuery{IdleFor: 30 * 24 * time.Hour}
			n, err := anns.CleanUp(ctx, month)
			assert.NoError(t, err, "idle threads of ann")
			assert.Equal(t, 1, n, "idle threads of ann")
			wantSame(t, "threads of ann that are left", sessionsOf(t, anns, supacheckpoint.SessionQuery{}),
				ann+"/done", ann+"/new", ann+"/old and leased", ann+"/old and used")
			_, err = anns.Get(ctx, checkpoint.Key{Thread: "old"})
			assert.ErrorIs(t, err, checkpoint.ErrNotFound)
			for _, table := range []string{"cp_step", "cp_origin", "cp_write", "cp_tag", "cp_space"} {
				n := ask[int](t, p, `SELECT count(*)::int FROM weft.`+table+` x WHERE NOT EXISTS (SELECT FROM weft.cp_thread t WHERE t.key = x.thread)`)
				assert.Equal(t, 0, n, "rows of %s without a thread", table)
			}
			assert.Len(t, sessionsOf(t, bobs, supacheckpoint.SessionQuery{}), 5)
			n, err = anns.CleanUp(ctx, supacheckpoint.SessionQuery{Statuses: []string{"completed"}, Prefix: "do", Limit: 5})
			assert.NoError(t, err, "completed threads of ann")
			assert.Equal(t, 1, n, "completed threads of ann")
			month.AllUsers = true
			n, err = whole.CleanUp(ctx, month)
			assert.NoError(t, err, "idle threads of all users")
			assert.Equal(t, 4, n, "idle threads of all users")
			assert.NoError(t, held.Put(ctx, step("old and leased", 3), stepID(2)), "the lease")
			assert.NoError(t, held.Release(ctx))
			n, err = whole.CleanUp(ctx, month)
			assert.NoError(t, err, "the same query again")
			assert.Equal(t, 0, n, "the same query again")
			n, err = whole.CleanUp(ctx, supacheckpoint.SessionQuery{AllUsers: true})
			assert.ErrorIs(t, err, checkpoint.ErrInvalid, "a query without a condition")
			assert.Equal(t, 0, n, "a query without a condition")
		})
	}
}

// The statement that docs/supabase.md schedules in the database deletes idle threads.
func TestCleanUpByTheDatabase(t *testing.T) {
	t.Parallel()
	p := directPlace(t)
	store := p.open(t)
	for _, user := range []string{ann, bob} {
		for _, thread := range []string{"old", "new"} {
			putAll(t, as(t, store, user), thread, 1)
			putSession(t, as(t, store, user), thread, "completed", "")
		}
	}
	do(t, p, `UPDATE weft.cp_session SET last_activity = last_activity - interval '40 days' WHERE thread_id = 'old'`)
	do(t, p, `UPDATE weft.cp_thread SET at = at - interval '40 days' WHERE id = 'old'`)
	text, err := os.ReadFile("testdata/cron.sql")
	require.NoError(t, err)
	// The function of pg_cron is not installed. This one executes the command at once.
	do(t, p, `CREATE FUNCTION weft.schedule(name text, times text, command text) RETURNS int LANGUAGE plpgsql
		AS $f$ DECLARE n int; BEGIN EXECUTE command INTO n; RETURN n; END $f$`)
	statement := strings.Replace(string(text), "cron.schedule", "weft.schedule", 1)
	assert.Equal(t, 2, ask[int](t, p, statement), statement)
	wantSame(t, "left", sessionsOf(t, store, supacheckpoint.SessionQuery{AllUsers: true}), ann+"/new", bob+"/new")
}

// The policy in docs/supabase.md is the same as the policy of the table.
func TestThePolicyOfTheGuideIsThatOfTheDatabase(t *testing.T) {
	t.Parallel()
	p := directPlace(t)
	text, err := os.ReadFile("testdata/policy.sql")
	require.NoError(t, err)
	policy := func() string {
		return ask[string](t, p, supatest.Policies+`SELECT row_to_json(policies)::text FROM policies WHERE tablename = 'cp_thread' AND policyname = 'own'`, p.options.Checkpoint.Schema)
	}
	want := policy()
	do(t, p, `DROP POLICY own ON weft.cp_thread`)
	do(t, p, string(text))
	assert.Equal(t, want, policy())
}

// Concurrent calls of CleanUp delete no thread twice. One more call deletes the threads that
// they skipped.
func TestConcurrentCleanUpsDeleteEachThreadOnce(t *testing.T) {
	t.Parallel()
	store := directPlace(t).open(t)
	const threads = 250
	for i := range threads {
		putAll(t, as(t, store, userOf(i%5)), fmt.Sprint("t", i), 1)
	}
	counts := make(chan int, 4)
	for range cap(counts) {
		go func() {
			n, err := store.CleanUp(t.Context(), supacheckpoint.SessionQuery{AllUsers: true, Statuses: []string{"active"}})
			assert.NoError(t, err)
			counts <- n
		}()
	}
	sum := 0
	for range cap(counts) {
		sum += <-counts
	}
	n, err := store.CleanUp(t.Context(), supacheckpoint.SessionQuery{AllUsers: true, Statuses: []string{"active"}})
	assert.NoError(t, err)
	assert.Equal(t, threads, sum+n)
}
