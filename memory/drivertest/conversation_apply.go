package drivertest

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/memory/driver"
)

var conversationCases = []conversationCase{
	{name: "append/row", promise: "a message is read as it was stored, with the position and time of the store", run: func(k *conversationKit) {
		want := said(llm.RoleTool, "Grüße ☀️")
		want.Data = json.RawMessage(`{"type":"tool","data":{"content":"a\u0000b","tool_call_id":"c","x":[1.50,null,{"y":12345678901234567890}]},"z":"<&>"}`)
		want.Terms = []string{"gruss", "gruss", "☀️"}
		given := want
		given.Scope, given.Session, given.Position, given.At = bob, "other", 7, future
		session := k.apply(ann, driver.SessionChange{Session: "s", Rows: append(asked("one"), given)})
		got := k.rows(driver.MessageRange{Scope: ann, Session: "s"})[1]
		if got.Scope != ann || got.Session != "s" || got.Position != 2 || got.At.IsZero() || got.At.After(session.UpdatedAt) {
			k.Errorf("got %s want it at position 2 of s, at a time of the store", brief(got))
		}
		if got.ID != want.ID || got.Key != want.Key || got.Role != want.Role || got.Text != want.Text || !slices.Equal(got.Terms, want.Terms) || !equalJSON(got.Data, want.Data) {
			k.Errorf("got %s want %s", brief(got), brief(want))
		}
	}},
	{name: "append/session", promise: "the first turn creates the session, and each result describes the session after the turn", run: func(k *conversationKit) {
		first := k.append(ann, "s", "one", "two")
		if first.ID != "s" || first.Scope != ann || first.Messages != 2 || first.Version < 1 || first.CreatedAt.IsZero() || first.UpdatedAt.Before(first.CreatedAt) || first.Title != "" || first.Metadata != nil {
			k.Errorf("got %+v", first)
		}
		second := k.append(ann, "s", "three")
		if second.Messages != 3 || second.Version <= first.Version || !second.CreatedAt.Equal(first.CreatedAt) || second.UpdatedAt.Before(first.UpdatedAt) {
			k.Errorf("got %+v after %+v", second, first)
		}
		if got := k.session(ann, "s"); fmt.Sprint(got) != fmt.Sprint(second) {
			k.Errorf("got %+v want %+v", got, second)
		}
		empty := k.append(ann, "empty")
		if empty.Messages != 0 || empty.Version < 1 {
			k.Errorf("got %+v", empty)
		}
		k.wantAll(ann, "empty")
		k.wantSessions(driver.SessionQuery{Reach: ann.Only(), Prefix: "empty"}, "empty")
	}},
	{name: "append/positions", promise: "messages keep the order in which they were appended, without gaps", run: func(k *conversationKit) {
		k.append(ann, "s", "one", "two")
		k.append(ann, "s", "two", "three")
		k.append(ann, "s", "four")
		for i, r := range k.rows(driver.MessageRange{Scope: ann, Session: "s"}) {
			if r.Position != int64(i)+1 {
				k.Errorf("message %d has position %d", i, r.Position)
			}
		}
		k.wantAll(ann, "s", "one", "two", "three", "four")
	}},
	{name: "append/again", promise: "a message with an ID of the session is not stored again, and the stored message stays unchanged", run: func(k *conversationKit) {
		k.append(ann, "s", "one", "two")
		changed := said(llm.RoleUser, "other")
		changed.ID = "m-one"
		session := k.apply(ann, driver.SessionChange{Session: "s", Rows: append([]driver.MessageRow{changed}, asked("three", "three", "two")...)})
		if session.Messages != 3 {
			k.Errorf("got %d messages want 3", session.Messages)
		}
		k.wantAll(ann, "s", "one", "two", "three")
		k.append(ann, "t", "one")
		k.wantAll(ann, "t", "one")
	}},
	{name: "append/once", promise: "with Once, a message with the content of another message of the session is not stored again; without Once, it is", run: func(k *conversationKit) {
		again := func(id string, role llm.Role, text string) driver.MessageRow {
			r := said(role, text)
			r.ID = id
			return r
		}
		k.append(ann, "s", "yes")
		k.apply(ann, driver.SessionChange{Session: "s", Once: true, Rows: []driver.MessageRow{
			again("1", llm.RoleUser, "yes"), again("2", llm.RoleAssistant, "yes"), again("3", llm.RoleAssistant, "yes"), again("4", llm.RoleUser, "Yes"),
		}})
		k.wantAll(ann, "s", "yes", "yes", "Yes")
		k.apply(ann, driver.SessionChange{Session: "s", Rows: []driver.MessageRow{again("5", llm.RoleUser, "yes")}})
		k.wantAll(ann, "s", "yes", "yes", "Yes", "yes")
		k.apply(ann, driver.SessionChange{Session: "t", Once: true, Rows: []driver.MessageRow{again("1", llm.RoleUser, "yes")}})
		k.wantAll(ann, "t", "yes")
	}},
	{name: "append/writers", promise: "concurrent writers lose no message, and the messages of a turn stay together", run: func(k *conversationKit) {
		const writers, turns, size = 8, 10, 5
		err := parallel(writers, func(w int) error {
			for turn := range turns {
				var rows []driver.MessageRow
				for i := range size {
					rows = append(rows, said(llm.RoleUser, fmt.Sprintf("%d-%d-%d", w, turn, i)))
				}
				if _, err := k.store.Apply(k.ctx, ann, driver.SessionChange{Session: "s", Rows: rows}); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			k.Fatal(err)
		}
		rows := k.rows(driver.MessageRange{Scope: ann, Session: "s"})
		if len(rows) != writers*turns*size || k.session(ann, "s").Messages != int64(len(rows)) {
			k.Fatalf("got %d messages want %d", len(rows), writers*turns*size)
		}
		last := map[string]string{}
		for i := 0; i < len(rows); i += size {
			turn := strings.TrimSuffix(rows[i].Text, "-0")
			for j := range size {
				r := rows[i+j]
				if r.Text != fmt.Sprintf("%s-%d", turn, j) || r.Position != int64(i+j)+1 {
					k.Fatalf("position %d: got %q within the turn %s", r.Position, r.Text, turn)
				}
			}
			writer, _, _ := strings.Cut(turn, "-")
			if last[writer] >= turn {
				k.Errorf("turn %s stands behind %s", turn, last[writer])
			}
			last[writer] = turn
		}
	}},
	{name: "append/same_turn", promise: "a turn that is stored concurrently several times is stored once", run: func(k *conversationKit) {
		for round := range 10 {
			id := fmt.Sprint("s", round)
			err := parallel(8, func(int) error {
				_, err := k.store.Apply(k.ctx, ann, driver.SessionChange{Session: id, Rows: asked("one", "two")})
				return err
			})
			if err != nil {
				k.Fatal(err)
			}
			k.wantAll(ann, id, "one", "two")
		}
	}},
	{name: "version/checked", promise: "a turn with another version than the session's is refused, and changes nothing", run: func(k *conversationKit) {
		session := k.append(ann, "s", "one")
		for _, version := range []int64{session.Version + 1, session.Version + 100, driver.AbsentSession} {
			k.refuse(driver.ErrConflict, ann, driver.SessionChange{Session: "s", Version: version, Rows: asked("no")})
			k.refuse(driver.ErrConflict, ann, driver.SessionChange{Session: "s", Version: version, From: 1, Describe: &driver.SessionDescription{Title: "no"}})
		}
		k.refuse(driver.ErrConflict, ann, driver.SessionChange{Session: "t", Version: 1, Rows: asked("no")})
		next := k.apply(ann, driver.SessionChange{Session: "s", Version: session.Version, Rows: asked("two")})
		k.refuse(driver.ErrConflict, ann, driver.SessionChange{Session: "s", Version: session.Version, Rows: asked("no")})
		k.apply(ann, driver.SessionChange{Session: "t", Version: driver.AbsentSession, Rows: asked("new")})
		k.apply(ann, driver.SessionChange{Session: "s", Delete: true})
		again := k.append(ann, "s", "again")
		if again.Version == session.Version || again.Version == next.Version {
			k.Errorf("a session that was deleted and made again has version %d, as it had before", again.Version)
		}
	}},
	{name: "version/race", promise: "of concurrent turns with the same version, one succeeds", run: func(k *conversationKit) {
		session := k.append(ann, "s")
		for round := range 10 {
			var won atomic.Int64
			err := parallel(8, func(i int) error {
				_, err := k.store.Apply(k.ctx, ann, driver.SessionChange{Session: "s", Version: session.Version, Rows: asked(fmt.Sprintf("%d-%d", round, i))})
				if err == nil {
					won.Add(1)
				} else if !errors.Is(err, driver.ErrConflict) {
					return err
				}
				return nil
			})
			if session = k.session(ann, "s"); err != nil || won.Load() != 1 || session.Messages != int64(round)+1 {
				k.Fatalf("round %d: %d of 8 succeeded, %d messages, %v", round, won.Load(), session.Messages, err)
			}
		}
	}},
}

var conversationChangeCases = []conversationCase{
	{name: "change/describe", promise: "title and metadata are replaced, and the messages stay", run: func(k *conversationKit) {
		k.append(ann, "s", "one")
		first := k.apply(ann, driver.SessionChange{Session: "s", Describe: &driver.SessionDescription{Title: "Ötzi", Metadata: json.RawMessage(`{"a":[1.5,null]}`)}})
		if got := k.session(ann, "s"); got.Title != "Ötzi" || !equalJSON(got.Metadata, json.RawMessage(`{"a":[1.5,null]}`)) || got.Version != first.Version || got.Messages != 1 {
			k.Errorf("got %+v", got)
		}
		if got := k.append(ann, "s", "two"); got.Title != "Ötzi" {
			k.Errorf("a turn took the title away: %+v", got)
		}
		if got := k.apply(ann, driver.SessionChange{Session: "s", Describe: &driver.SessionDescription{}}); got.Title != "" || got.Metadata != nil {
			k.Errorf("got %+v want no description", got)
		}
		k.wantAll(ann, "s", "one", "two")
		k.refuse(driver.ErrNotFound, ann, driver.SessionChange{Session: "t", Describe: &driver.SessionDescription{Title: "no"}})
		k.refuse(driver.ErrNotFound, bob, driver.SessionChange{Session: "s", Describe: &driver.SessionDescription{Title: "no"}})
	}},
	{name: "change/from", promise: "messages from a position on are replaced by others, and their IDs can be used again", run: func(k *conversationKit) {
		k.append(ann, "s", "one", "two", "three")
		got := k.apply(ann, driver.SessionChange{Session: "s", From: 2, Rows: asked("three", "four")})
		k.wantAll(ann, "s", "one", "three", "four")
		if rows := k.rows(driver.MessageRange{Scope: ann, Session: "s", From: 3}); got.Messages != 3 || len(rows) != 1 || rows[0].Position != 3 {
			k.Errorf("got %+v and %s", got, brief(rows))
		}
		k.apply(ann, driver.SessionChange{Session: "s", From: 9, Rows: asked("five")})
		k.wantAll(ann, "s", "one", "three", "four", "five")
		if got := k.apply(ann, driver.SessionChange{Session: "s", From: 1}); got.Messages != 0 {
			k.Errorf("got %d messages want none", got.Messages)
		}
		k.wantAll(ann, "s")
		k.refuse(driver.ErrNotFound, ann, driver.SessionChange{Session: "t", From: 1, Rows: asked("no")})
	}},
	{name: "change/delete", promise: "deleting a session removes its messages and no other session", run: func(k *conversationKit) {
		k.append(ann, "s", "one")
		k.append(ann, "s2", "two")
		k.append(bob, "s", "three")
		k.apply(ann, driver.SessionChange{Session: "s", Delete: true})
		k.wantSessions(driver.SessionQuery{Reach: ann.Only()}, "s2")
		k.wantAll(ann, "s")
		k.wantFound(driver.MessageSearch{Query: driver.SessionQuery{Reach: ann.Only()}, Terms: []string{"one"}})
		k.wantAll(ann, "s2", "two")
		k.wantAll(bob, "s", "three")
		k.refuse(driver.ErrNotFound, ann, driver.SessionChange{Session: "s", Delete: true})
		k.append(ann, "s", "again")
		k.wantAll(ann, "s", "again")
	}},
	{name: "change/late", promise: "a turn that began before its session was deleted does not create it again", run: func(k *conversationKit) {
		began := k.append(ann, "s", "one").UpdatedAt
		k.apply(ann, driver.SessionChange{Session: "s", Said: began, Rows: asked("two")})
		k.append(ann, "t", "one")
		k.apply(ann, driver.SessionChange{Session: "s", Delete: true})
		k.refuse(driver.ErrForgotten, ann, driver.SessionChange{Session: "s", Said: began, Rows: asked("late")})
		k.apply(ann, driver.SessionChange{Session: "t", Said: began, Rows: asked("two")})
		k.apply(ann, driver.SessionChange{Session: "s", Said: future, Rows: asked("new")})
		k.wantAll(ann, "s", "new")
	}},
	{name: "change/scopes", promise: "sessions of different scopes are different, also with the same ID", run: func(k *conversationKit) {
		scopes := []driver.Scope{ann, bob, {Tenant: "acme"}, {User: "ann"}, {}, {Tenant: "acme", User: "ann", Agent: "a"}, {Tenant: "acme", Workspace: "ann"}, {Tenant: "ACME", User: "ann"}}
		for i, s := range scopes {
			k.append(s, "s", fmt.Sprint("of ", i))
		}
		for i, s := range scopes {
			k.wantAll(s, "s", fmt.Sprint("of ", i))
			k.wantSessions(driver.SessionQuery{Reach: s.Only()}, "s")
			k.wantFound(driver.MessageSearch{Query: driver.SessionQuery{Reach: s.Only()}, Terms: []string{"of"}}, fmt.Sprint("of ", i))
		}
	}},
	{name: "change/names", promise: "IDs can be any text", run: func(k *conversationKit) {
		for i, id := range []string{"s", "S", "s ", "s'; DROP TABLE x; --", `"`, "%", "_", "é", "e\u0301", "\n", "日本", strings.Repeat("x", 512)} {
			row := said(llm.RoleUser, fmt.Sprint("text ", i))
			row.ID = id
			k.apply(ann, driver.SessionChange{Session: id, Rows: []driver.MessageRow{row}})
			k.wantAll(ann, id, fmt.Sprint("text ", i))
			k.wantSessions(driver.SessionQuery{Reach: ann.Only(), ID: id}, id)
			if got := k.rows(driver.MessageRange{Scope: ann, Session: id}); got[0].ID != id {
				k.Errorf("got id %q want %q", got[0].ID, id)
			}
		}
		k.wantSessions(driver.SessionQuery{Reach: ann.Only(), Prefix: "%"}, "%")
		k.wantSessions(driver.SessionQuery{Reach: ann.Only(), Prefix: "_"}, "_")
	}},
	{name: "change/time", promise: "times of the store never go back", run: func(k *conversationKit) {
		last := time.Time{}
		for i := range 20 {
			session := k.append(ann, "s", fmt.Sprint(i))
			if session.UpdatedAt.Before(last) {
				k.Fatalf("got %v after %v", session.UpdatedAt, last)
			}
			last = session.UpdatedAt
		}
	}},
}
