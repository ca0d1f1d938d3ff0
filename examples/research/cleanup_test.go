package main

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"time"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/examples/research/internal/account"
	"github.com/weft-go/weft/examples/research/internal/offline"
	"github.com/weft-go/weft/llm"
)

func newOffline() llm.Model { return offline.Model{} }

func about(proposal string) func(context.Context, string) (string, error) {
	return func(context.Context, string) (string, error) { return proposal, nil }
}

// age sets the last activity of a session to some days ago, in all its rows.
func (p *place) age(u user, thread string, days int) {
	p.t.Helper()
	if p.server.Secret == nil {
		const old = ` - make_interval(days => $3) WHERE thread_id = $1`
		p.sql(`UPDATE proposal_sessions SET last_activity = now()`+old+` AND user_id = $2::text::uuid`, thread, u.id, days)
		p.sql(`UPDATE proposal_checkpoints SET updated_at = now()`+old+` AND user_id = $2::text::uuid`, thread, u.id, days)
		p.sql(`UPDATE weft.cp_session SET last_activity = now()`+old+` AND tenant = $2`, thread, u.id, days)
		p.sql(`UPDATE weft.cp_thread SET at = now() - make_interval(days => $3) WHERE id = $1 AND tenant = $2`, thread, u.id, days)
		return
	}
	at := time.Now().AddDate(0, 0, -days).UnixMilli()
	if p.database != "" {
		p.sql(`UPDATE `+p.config.schema+`.proposal_sessions SET last_activity = $1 WHERE thread_id = $2 AND user_id = $3`, at, thread, u.id)
		return
	}
	db, err := sql.Open("sqlite", p.config.folder+"/sessions.db?_pragma=busy_timeout(5000)")
	if err == nil {
		_, err = db.ExecContext(p.t.Context(), `UPDATE proposal_sessions SET last_activity = ? WHERE thread_id = ? AND user_id = ?`, at, thread, u.id)
	}
	if err = errors.Join(err, db.Close()); err != nil {
		p.t.Fatal(err)
	}
}

// CleanUp removes sessions by status and age, with their threads, and keeps the others.
func TestCleanUp(t *testing.T) {
	inPlaces(t, nil, func(t *testing.T, p *place) {
		u := p.newUser()
		old, done, fresh := u.start(rfp).ThreadID, u.start(rfp).ThreadID, u.start(rfp).ThreadID
		s := "research_0000000000_1" // active, and has no thread yet
		if err := p.account(u).PutSession(t.Context(), account.Session{Thread: s, Proposal: u.proposal()}); err != nil {
			t.Fatal(err)
		}
		p.age(u, old, 40)
		p.age(u, done, 20)
		p.age(u, s, 20)
		clean := func(idle int, statuses ...string) {
			t.Helper()
			if _, err := p.Backend.CleanUp(t.Context(), time.Duration(idle)*24*time.Hour, statuses...); err != nil {
				t.Fatal(err)
			}
		}
		has := func(want ...string) {
			t.Helper()
			a := p.account(u)
			for i, thread := range []string{old, done, s, fresh} {
				store, name := a.Thread(thread)
				_, err := store.Get(t.Context(), checkpoint.Key{Thread: name})
				_, missing := a.Session(t.Context(), thread)
				there := want[i] == "there"
				if thread != s && (err == nil) != there || err != nil && !errors.Is(err, checkpoint.ErrNotFound) {
					t.Errorf("thread %d: got error %v, want it %s", i, err, want[i])
				}
				if (missing == nil) != there || missing != nil && !errors.Is(missing, account.ErrNotFound) {
					t.Errorf("session %d: got error %v, want it %s", i, missing, want[i])
				}
			}
		}
		clean(41)
		has("there", "there", "there", "there")
		clean(30)
		has("gone", "there", "there", "there")
		clean(10, account.Completed, account.Failed)
		has("gone", "gone", "there", "there")
		clean(10)
		has("gone", "gone", "gone", "there")
		same(t, "what is gone", u.post("/api/research", map[string]string{"threadId": old}), 404, `{"error":"Session not found or access denied"}`)
		if p.server.Secret == nil {
			for _, table := range []string{"proposal_checkpoints", "proposal_sessions"} {
				if got := list(p, `SELECT thread_id FROM `+table+` WHERE user_id = $1::text::uuid`, u.id); len(got) != 1 || got[0] != fresh {
					t.Errorf("%s: got %v want %s", table, got, fresh)
				}
			}
		}
	})
}
