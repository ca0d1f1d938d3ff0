package supacheckpoint_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/supacheckpoint"
)

func session(tb testing.TB, store *supacheckpoint.Store, thread string) supacheckpoint.Session {
	tb.Helper()
	s, err := store.Session(tb.Context(), thread)
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

func putSession(tb testing.TB, store *supacheckpoint.Store, thread, status, metadata string) {
	tb.Helper()
	u := supacheckpoint.SessionUpdate{Status: status}
	if metadata != "" {
		u.Metadata = json.RawMessage(metadata)
	}
	if err := store.PutSession(tb.Context(), thread, u); err != nil {
		tb.Fatal(err)
	}
}

// sessionsOf lists sessions as "user/thread".
func sessionsOf(tb testing.TB, store *supacheckpoint.Store, q supacheckpoint.SessionQuery) []string {
	tb.Helper()
	list := []string{}
	for s, err := range store.Sessions(tb.Context(), q) {
		if err != nil {
			tb.Fatal(err)
		}
		list = append(list, strings.TrimPrefix(s.User+"/"+s.Thread, "/"))
	}
	return list
}

func wantSame[T comparable](tb testing.TB, what string, got []T, want ...T) {
	tb.Helper()
	if !slices.Equal(got, want) {
		tb.Errorf("%s: got %v want %v", what, got, want)
	}
}

// A session begins with the first checkpoint of its thread, follows its steps, and ends
// with the thread.
func TestSessionFollowsThread(t *testing.T) {
	t.Parallel()
	for name, newPlace := range places {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			store := as(t, p.open(t), ann)
			ctx := t.Context()
			if _, err := store.Session(ctx, "plan"); !errors.Is(err, checkpoint.ErrNotFound) {
				t.Errorf("before: got error %v want %v", err, checkpoint.ErrNotFound)
			}
			putAll(t, store, "plan", 1)
			first := session(t, store, "plan")
			if first.User != ann || first.Thread != "plan" || first.Status != "active" || string(first.Metadata) != "{}" || first.Checkpoints != 1 {
				t.Errorf("got %+v", first)
			}
			if age := first.LastActivity.Sub(first.Start); age < 0 || age > time.Minute {
				t.Errorf("began %v, was active %v", first.Start, first.LastActivity)
			}
			putSession(t, store, "plan", "waiting", `{"topic": "roof"}`)
			c := step("plan", 2)
			if err := store.Put(ctx, c, c.Parent); err != nil {
				t.Fatal(err)
			}
			second := session(t, store, "plan")
			if second.Status != "waiting" || string(second.Metadata) != `{"topic": "roof"}` || second.Checkpoints != 2 ||
				!second.Start.Equal(first.Start) || !second.LastActivity.After(first.LastActivity) {
				t.Errorf("got %+v after %+v", second, first)
			}
			putSession(t, store, "plan", "", "")
			if s := session(t, store, "plan"); s.Status != "waiting" || !s.LastActivity.After(second.LastActivity) {
				t.Errorf("an update of nothing: got %+v", s)
			}
			if err := store.CopyThread(ctx, "plan", "copy"); err != nil {
				t.Fatal(err)
			}
			if s := session(t, store, "copy"); s.Status != "active" || s.Checkpoints != 2 {
				t.Errorf("the copy: got %+v", s)
			}
			if err := store.DeleteThread(ctx, "plan"); err != nil {
				t.Fatal(err)
			}
			if _, err := store.Session(ctx, "plan"); !errors.Is(err, checkpoint.ErrNotFound) {
				t.Errorf("after: got error %v want %v", err, checkpoint.ErrNotFound)
			}
			wantSame(t, "sessions", sessionsOf(t, store, supacheckpoint.SessionQuery{}), ann+"/copy")
		})
	}
}

// A lease makes no session, and neither does a checkpoint that is refused; neither ends
// one that was there before.
func TestSessionOfLease(t *testing.T) {
	t.Parallel()
	store := as(t, directPlace(t).open(t), ann)
	ctx := t.Context()
	held, err := store.Lease(ctx, "plan")
	if err != nil {
		t.Fatal(err)
	}
	wantSame(t, "a lease", sessionsOf(t, store, supacheckpoint.SessionQuery{}))
	stale := step("plan", 2)
	if err := held.Put(ctx, stale, stepID(1)); !errors.Is(err, checkpoint.ErrConflict) {
		t.Errorf("got error %v want %v", err, checkpoint.ErrConflict)
	}
	wantSame(t, "refused", sessionsOf(t, store, supacheckpoint.SessionQuery{}))
	putSession(t, store, "plan", "planned", "")
	if err := held.Put(ctx, stale, stepID(1)); !errors.Is(err, checkpoint.ErrConflict) {
		t.Errorf("got error %v want %v", err, checkpoint.ErrConflict)
	}
	if s := session(t, store, "plan"); s.Status != "planned" || s.Checkpoints != 0 {
		t.Errorf("refused, with a session: got %+v", s)
	}
	if err := held.Put(ctx, step("plan", 1), ""); err != nil {
		t.Fatal(err)
	}
	if s := session(t, store, "plan"); s.Status != "planned" || s.Checkpoints != 1 {
		t.Errorf("got %+v", s)
	}
	// It is emptied while somebody has it.
	if err := store.DeleteThread(ctx, "plan"); err != nil {
		t.Fatal(err)
	}
	wantSame(t, "emptied", sessionsOf(t, store, supacheckpoint.SessionQuery{}))
	if err := held.Put(ctx, step("plan", 1), ""); err != nil {
		t.Fatal(err)
	}
	if s := session(t, store, "plan"); s.Status != "active" || s.Checkpoints != 1 {
		t.Errorf("begun again: got %+v", s)
	}
	if err := held.Release(ctx); err != nil {
		t.Error(err)
	}
}

func TestSessions(t *testing.T) {
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
		if len(got) != c.n || c.n > 0 && got[0] != c.first || !slices.IsSorted(got[min(1, len(got)):]) {
			t.Errorf("%s: got %d, %.3v; want %d, %s", name, len(got), got, c.n, c.first)
		}
	}
	for _, err := range anns.Sessions(t.Context(), query{}) {
		if err != nil {
			t.Error(err)
		}
		break // asks for no more
	}
	for name, c := range map[string]struct {
		store *supacheckpoint.Store
		q     query
		want  error
	}{
		"all users, for one":      {anns, query{AllUsers: true}, supacheckpoint.ErrRole},
		"all users, as one":       {forUser(t, store, ann), query{AllUsers: true}, supacheckpoint.ErrRole},
		"a negative limit":        {anns, query{Limit: -1}, checkpoint.ErrInvalid},
		"a negative age":          {anns, query{IdleFor: -1}, checkpoint.ErrInvalid},
		"a NUL":                   {anns, query{Prefix: "\x00"}, checkpoint.ErrInvalid},
		"a status that is broken": {anns, query{Statuses: []string{"\xff"}}, checkpoint.ErrInvalid},
	} {
		for s, err := range c.store.Sessions(t.Context(), c.q) {
			if !errors.Is(err, c.want) {
				t.Errorf("%s: got %v, error %v want %v", name, s, err, c.want)
			}
		}
		c.q.IdleFor = max(c.q.IdleFor, -1)
		if n, err := c.store.CleanUp(t.Context(), c.q); !errors.Is(err, checkpoint.ErrInvalid) || n != 0 {
			t.Errorf("%s, to clean up: got %d, error %v", name, n, err)
		}
	}
}

func TestPutSessionRefuses(t *testing.T) {
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
		if err := store.PutSession(t.Context(), c.thread, u); !errors.Is(err, checkpoint.ErrInvalid) {
			t.Errorf("%s: got error %v want %v", name, err, checkpoint.ErrInvalid)
		}
	}
	wantSame(t, "sessions", sessionsOf(t, store, supacheckpoint.SessionQuery{}))
}

// Cleaning up removes what was asked for, with its checkpoints, and nothing that is used.
func TestCleanUp(t *testing.T) {
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
			if err := anns.PutWrites(ctx, checkpoint.Key{Thread: "old", ID: stepID(2)}, []checkpoint.Write{{Task: "a", Channel: "x"}}); err != nil {
				t.Fatal(err)
			}
			if err := anns.Tag(ctx, checkpoint.Key{Thread: "old", ID: stepID(1)}, "first"); err != nil {
				t.Fatal(err)
			}
			do(t, p, `UPDATE weft.cp_session SET last_activity = last_activity - interval '40 days' WHERE thread_id LIKE 'old%'`)
			do(t, p, `UPDATE weft.cp_thread SET at = at - interval '40 days' WHERE id IN ('old', 'old and leased')`)
			held, err := anns.Lease(ctx, "old and leased")
			if err != nil {
				t.Fatal(err)
			}
			month := supacheckpoint.SessionQuery{IdleFor: 30 * 24 * time.Hour}
			if n, err := anns.CleanUp(ctx, month); n != 1 || err != nil {
				t.Errorf("the old ones of ann: got %d, error %v", n, err)
			}
			wantSame(t, "ann's, then", sessionsOf(t, anns, supacheckpoint.SessionQuery{}),
				ann+"/done", ann+"/new", ann+"/old and leased", ann+"/old and used")
			if _, err := anns.Get(ctx, checkpoint.Key{Thread: "old"}); !errors.Is(err, checkpoint.ErrNotFound) {
				t.Errorf("the checkpoints are there: %v", err)
			}
			for _, table := range []string{"cp_step", "cp_origin", "cp_write", "cp_tag", "cp_space"} {
				if n := ask[int](t, p, `SELECT count(*)::int FROM weft.`+table+` x WHERE NOT EXISTS (SELECT FROM weft.cp_thread t WHERE t.key = x.thread)`); n != 0 {
					t.Errorf("%s: %d rows are of no thread", table, n)
				}
			}
			if n := len(sessionsOf(t, bobs, supacheckpoint.SessionQuery{})); n != 5 {
				t.Errorf("bob has %d sessions want 5", n)
			}
			if n, err := anns.CleanUp(ctx, supacheckpoint.SessionQuery{Statuses: []string{"completed"}, Prefix: "do", Limit: 5}); n != 1 || err != nil {
				t.Errorf("the completed ones of ann: got %d, error %v", n, err)
			}
			month.AllUsers = true
			if n, err := whole.CleanUp(ctx, month); n != 4 || err != nil {
				t.Errorf("the old ones of the others: got %d, error %v", n, err)
			}
			if err := held.Put(ctx, step("old and leased", 3), stepID(2)); err != nil {
				t.Errorf("the lease: %v", err)
			}
			if err := held.Release(ctx); err != nil {
				t.Error(err)
			}
			if n, err := whole.CleanUp(ctx, month); n != 0 || err != nil {
				t.Errorf("once more: got %d, error %v", n, err)
			}
			if n, err := whole.CleanUp(ctx, supacheckpoint.SessionQuery{AllUsers: true}); n != 0 || !errors.Is(err, checkpoint.ErrInvalid) {
				t.Errorf("everything: got %d, error %v", n, err)
			}
		})
	}
}

// The database may do it by itself, by the statement of docs/supabase.md.
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
	text, err := os.ReadFile("../../docs/supabase.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "'17 3 * * *',")
	_, rest, _ = strings.Cut(rest, "$$")
	statement, _, found := strings.Cut(rest, "$$")
	if !found {
		t.Fatal("docs/supabase.md has no such statement")
	}
	if n := ask[int](t, p, statement); n != 2 {
		t.Errorf("%s: removed %d want 2", statement, n)
	}
	wantSame(t, "left", sessionsOf(t, store, supacheckpoint.SessionQuery{AllUsers: true}), ann+"/new", bob+"/new")
}

// Many may clean up at once: what there is goes once.
func TestCleanUpTogether(t *testing.T) {
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
			if err != nil {
				t.Error(err)
			}
			counts <- n
		}()
	}
	sum := 0
	for range cap(counts) {
		sum += <-counts
	}
	n, err := store.CleanUp(t.Context(), supacheckpoint.SessionQuery{AllUsers: true, Statuses: []string{"active"}})
	if sum += n; sum != threads || err != nil {
		t.Errorf("removed %d want %d, error %v", sum, threads, err)
	}
}
