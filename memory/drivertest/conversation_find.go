package drivertest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/memory/driver"
)

var conversationFindCases = []conversationCase{
	{name: "sessions/order", promise: "sessions are ordered by their last change, the newest first; all of them without a limit", run: func(k *conversationKit) {
		var want []string
		for i := range 25 {
			id := fmt.Sprintf("s%02d", i)
			k.append(ann, id, "x")
			want = append(want, id)
		}
		k.append(ann, "s03", "y")
		want = append(slices.Delete(want, 3, 4), "s03")
		slices.Reverse(want)
		k.wantSessions(driver.SessionQuery{Reach: ann.Only()}, want...)
		k.wantSessions(driver.SessionQuery{Reach: ann.Only(), Limit: -1}, want...)
		k.wantSessions(driver.SessionQuery{Reach: ann.Only(), Limit: 3}, want[:3]...)
		k.wantSessions(driver.SessionQuery{Reach: ann.Only(), Prefix: "s1", Limit: 4}, "s19", "s18", "s17", "s16")
		k.wantSessions(driver.SessionQuery{Reach: ann.Only(), ID: "s07"}, "s07")
		k.wantSessions(driver.SessionQuery{Reach: ann.Only(), ID: "none"})
	}},
	{name: "sessions/pages", promise: "reading page by page yields every session once", run: func(k *conversationKit) {
		for i := range 10 {
			for _, s := range []driver.Scope{ann, bob, {Tenant: "acme", Agent: "a"}} {
				k.append(s, fmt.Sprint("s", i), "x")
			}
		}
		q := driver.SessionQuery{Reach: driver.Reach{Scope: driver.Scope{Tenant: "acme"}, AnyUser: true, AnyAgent: true}, Limit: -1}
		all := k.sessions(q)
		if len(all) != 30 {
			k.Fatalf("got %d sessions want 30", len(all))
		}
		var paged []driver.Session
		for q.Limit = 4; len(paged) <= len(all); {
			page := k.sessions(q)
			if len(page) == 0 {
				break
			}
			paged = append(paged, page...)
			q.After = &page[len(page)-1]
		}
		if fmt.Sprint(paged) != fmt.Sprint(all) {
			k.Errorf("got  %v\nwant %v", paged, all)
		}
	}},
	{name: "sessions/scopes", promise: "a query can include any user, workspace or agent, but never another tenant", run: func(k *conversationKit) {
		for _, s := range []driver.Scope{
			{Tenant: "acme"}, {Tenant: "acme", User: "ann"}, {Tenant: "acme", User: "ann", Agent: "a"}, {Tenant: "acme", Workspace: "w", User: "bob"}, {User: "ann"}, {Tenant: "else", User: "ann"},
		} {
			k.append(s, s.String(), "word")
		}
		acme := driver.Scope{Tenant: "acme"}
		for _, test := range []struct {
			q    driver.SessionQuery
			want []string
		}{
			{driver.SessionQuery{Reach: acme.Only()}, []string{"acme/-/-/-"}},
			{driver.SessionQuery{Reach: driver.Reach{Scope: acme, AnyUser: true}}, []string{"acme/-/ann/-", "acme/-/-/-"}},
			{driver.SessionQuery{Reach: driver.Reach{Scope: acme, AnyUser: true, AnyAgent: true}}, []string{"acme/-/ann/a", "acme/-/ann/-", "acme/-/-/-"}},
			{driver.SessionQuery{Reach: driver.Reach{Scope: acme, AnyUser: true, AnyWorkspace: true}}, []string{"acme/w/bob/-", "acme/-/ann/-", "acme/-/-/-"}},
			{driver.SessionQuery{Reach: driver.Reach{Scope: ann, AnyAgent: true}}, []string{"acme/-/ann/a", "acme/-/ann/-"}},
			{driver.SessionQuery{Reach: driver.Reach{AnyUser: true, AnyWorkspace: true, AnyAgent: true}}, []string{"-/-/ann/-"}},
		} {
			k.wantSessions(test.q, test.want...)
			if got := k.search(driver.MessageSearch{Query: test.q, Terms: []string{"word"}}); len(got.Rows) != len(test.want) || got.Messages != int64(len(test.want)) {
				k.Errorf("search %+v: got %d of %d want %d", test.q, len(got.Rows), got.Messages, len(test.want))
			}
		}
	}},
	{name: "sessions/where", promise: "conditions on metadata compare numbers by value and texts by bytes", run: func(k *conversationKit) {
		for name, data := range documents {
			k.append(ann, name, "x")
			k.apply(ann, driver.SessionChange{Session: name, Describe: &driver.SessionDescription{Metadata: json.RawMessage(data)}})
		}
		for _, c := range conditions {
			var want []string
			for _, name := range strings.Fields(c.want) {
				want = append(want, strings.ReplaceAll(name, "_", " "))
			}
			for _, one := range c.forms() {
				var got []string
				for _, session := range k.sessions(driver.SessionQuery{Reach: ann.Only(), Limit: -1, Where: []driver.Condition{one}}) {
					got = append(got, session.ID)
				}
				if !sameSet(got, want) {
					k.Errorf("%q %s %s: got %q want %q", one.Path, c.op, c.value, got, want)
				}
			}
		}
	}},
	{name: "messages/range", promise: "a range selects positions, and its last messages are returned in order", run: func(k *conversationKit) {
		k.append(ann, "s", "1", "2", "3", "4", "5")
		k.append(ann, "t", "6")
		for _, test := range []struct {
			r    driver.MessageRange
			want string
		}{
			{driver.MessageRange{}, "1 2 3 4 5"},
			{driver.MessageRange{From: 2}, "2 3 4 5"},
			{driver.MessageRange{To: 2}, "1 2"},
			{driver.MessageRange{From: 2, To: 4}, "2 3 4"},
			{driver.MessageRange{From: 4, To: 2}, ""},
			{driver.MessageRange{From: 9}, ""},
			{driver.MessageRange{To: 99}, "1 2 3 4 5"},
			{driver.MessageRange{Last: 2}, "4 5"},
			{driver.MessageRange{Last: 9}, "1 2 3 4 5"},
			{driver.MessageRange{To: 4, Last: 2}, "3 4"},
			{driver.MessageRange{From: 4, Last: 9}, "4 5"},
			{driver.MessageRange{From: 2, To: 4, Last: 1}, "4"},
		} {
			test.r.Scope, test.r.Session = ann, "s"
			k.want(test.r, strings.Fields(test.want)...)
		}
		k.wantAll(ann, "none")
		k.wantAll(bob, "s")
	}},
	{name: "messages/stop", promise: "a reader may stop early, and call other methods afterwards", run: func(k *conversationKit) {
		k.append(ann, "s", "1", "2", "3")
		for range 50 {
			for row, err := range k.store.Messages(k.ctx, driver.MessageRange{Scope: ann, Session: "s"}) {
				if err != nil || row.Text != "1" {
					k.Fatalf("got %q and %v", row.Text, err)
				}
				break
			}
			for _, err := range k.store.Sessions(k.ctx, driver.SessionQuery{Reach: ann.Only()}) {
				if err != nil {
					k.Fatal(err)
				}
				break
			}
		}
		k.append(ann, "s", "4")
	}},
	{name: "messages/own", promise: "the caller may modify arguments and results afterwards without changing stored data", run: func(k *conversationKit) {
		rows := asked("one two")
		k.apply(ann, driver.SessionChange{Session: "s", Rows: rows, Version: driver.AbsentSession})
		want := fmt.Sprint(k.rows(driver.MessageRange{Scope: ann, Session: "s"}))
		rows[0].Data[3], rows[0].Terms[0] = 'x', "x"
		got := k.rows(driver.MessageRange{Scope: ann, Session: "s"})
		got[0].Data[3], got[0].Terms[0] = 'x', "x"
		if got := fmt.Sprint(k.rows(driver.MessageRange{Scope: ann, Session: "s"})); got != want {
			k.Errorf("got  %s\nwant %s", got, want)
		}
	}},
	{name: "messages/cancelled", promise: "a call with a context that has ended changes nothing", run: func(k *conversationKit) {
		k.append(ann, "s", "one")
		ctx, cancel := context.WithCancel(k.ctx)
		cancel()
		if _, err := k.store.Apply(ctx, ann, driver.SessionChange{Session: "s", Rows: asked("two")}); !errors.Is(err, context.Canceled) {
			k.Errorf("apply: got %v", err)
		}
		if _, err := k.store.Forget(ctx, ann); !errors.Is(err, context.Canceled) {
			k.Errorf("forget: got %v", err)
		}
		if _, err := k.store.Search(ctx, driver.MessageSearch{Query: driver.SessionQuery{Reach: ann.Only()}, Roles: []llm.Role{llm.RoleUser}, Terms: []string{"one"}, Limit: 1}); !errors.Is(err, context.Canceled) {
			k.Errorf("search: got %v", err)
		}
		for _, err := range k.store.Messages(ctx, driver.MessageRange{Scope: ann, Session: "s"}) {
			if !errors.Is(err, context.Canceled) {
				k.Errorf("messages: got %v", err)
			}
		}
		k.wantAll(ann, "s", "one")
	}},
	{name: "messages/large", promise: "a message may be large", run: func(k *conversationKit) {
		row := said(llm.RoleUser, strings.Repeat("large ☀ ", 100_000))
		row.ID, row.Terms = "m", []string{"large"}
		k.apply(ann, driver.SessionChange{Session: "s", Rows: []driver.MessageRow{row}})
		if got := k.rows(driver.MessageRange{Scope: ann, Session: "s"})[0]; got.Text != row.Text || !equalJSON(got.Data, row.Data) {
			k.Errorf("got %d and %d bytes want %d and %d", len(got.Text), len(got.Data), len(row.Text), len(row.Data))
		}
	}},
}

func (k *conversationKit) search(s driver.MessageSearch) driver.MessageCandidates {
	k.Helper()
	if s.Roles == nil {
		s.Roles = []llm.Role{llm.RoleUser, llm.RoleAssistant}
	}
	if s.Limit == 0 {
		s.Limit = 100
	}
	c, err := k.store.Search(k.ctx, s)
	if err != nil {
		k.Fatalf("search %+v: %v", s, err)
	}
	if len(c.Frequency) != len(s.Terms) {
		k.Fatalf("got %d frequencies want %d", len(c.Frequency), len(s.Terms))
	}
	return c
}

// wantFound requires candidates with these texts, in any order.
func (k *conversationKit) wantFound(s driver.MessageSearch, texts ...string) driver.MessageCandidates {
	k.Helper()
	c := k.search(s)
	var got []string
	for _, r := range c.Rows {
		got = append(got, r.Text)
	}
	if !sameSet(got, texts) {
		k.Errorf("search %+v: got %q want %q", s, got, texts)
	}
	return c
}

var conversationSearchCases = []conversationCase{
	{name: "search/any", promise: "a message is found by any of the words, and the counts of words include all selected messages", run: func(k *conversationKit) {
		k.append(ann, "s", "red apple", "green pear pear")
		k.append(ann, "t", "red plum", "kiwi")
		c := k.wantFound(driver.MessageSearch{Query: driver.SessionQuery{Reach: ann.Only()}, Terms: []string{"red", "pear", "none"}}, "red apple", "green pear pear", "red plum")
		if c.Messages != 4 || c.Terms != 8 || !slices.Equal(c.Frequency, []int64{2, 1, 0}) {
			k.Errorf("got %d messages, %d terms, frequency %d want 4, 8, [2 1 0]", c.Messages, c.Terms, c.Frequency)
		}
		for _, r := range c.Rows {
			if r.Scope != ann || r.Session == "" || r.Position == 0 || r.At.IsZero() || len(r.Terms) == 0 || len(r.Data) == 0 {
				k.Errorf("got %s want all of the row", brief(r))
			}
		}
		k.wantFound(driver.MessageSearch{Query: driver.SessionQuery{Reach: ann.Only(), ID: "t"}, Terms: []string{"red"}}, "red plum")
		k.wantFound(driver.MessageSearch{Query: driver.SessionQuery{Reach: ann.Only(), Prefix: "s"}, Terms: []string{"red"}}, "red apple")
		k.wantFound(driver.MessageSearch{Query: driver.SessionQuery{Reach: bob.Only()}, Terms: []string{"red"}})
	}},
	{name: "search/limit", promise: "if more messages match than the limit allows, those with the most and the rarest words are returned", run: func(k *conversationKit) {
		for i := range 50 {
			k.append(ann, "s", fmt.Sprint("common ", i))
		}
		k.append(ann, "s", "common rare", "rare")
		for i := range 50 {
			k.append(ann, "s", fmt.Sprint("common again ", i))
		}
		c := k.search(driver.MessageSearch{Query: driver.SessionQuery{Reach: ann.Only()}, Terms: []string{"common", "rare"}, Limit: 10})
		texts := map[string]bool{}
		for _, r := range c.Rows {
			texts[r.Text] = true
		}
		if len(c.Rows) != 10 || !texts["common rare"] || !texts["rare"] {
			k.Errorf("got %d rows: %v", len(c.Rows), texts)
		}
	}},
	{name: "search/filters", promise: "roles, times and metadata of sessions limit the selected messages", run: func(k *conversationKit) {
		rows := []driver.MessageRow{said(llm.RoleUser, "word u"), said(llm.RoleAssistant, "word a"), said(llm.RoleTool, "word t"), said(llm.RoleSystem, "word s")}
		first := k.apply(ann, driver.SessionChange{Session: "s", Rows: rows})
		k.apply(ann, driver.SessionChange{Session: "s", Describe: &driver.SessionDescription{Metadata: json.RawMessage(`{"n":9}`)}})
		q := driver.SessionQuery{Reach: ann.Only()}
		word := []string{"word"}
		k.wantFound(driver.MessageSearch{Query: q, Terms: word, Roles: []llm.Role{llm.RoleTool}}, "word t")
		k.wantFound(driver.MessageSearch{Query: q, Terms: word, Roles: []llm.Role{llm.RoleSystem, llm.RoleUser}}, "word u", "word s")
		both := []string{"word u", "word a"}
		k.wantFound(driver.MessageSearch{Query: q, Terms: word, Since: first.UpdatedAt.Add(-time.Hour), Before: first.UpdatedAt.Add(time.Hour)}, both...)
		c := k.wantFound(driver.MessageSearch{Query: q, Terms: word, Since: first.UpdatedAt.Add(time.Hour)})
		if c.Messages != 0 {
			k.Errorf("got %d messages that were looked at, want none", c.Messages)
		}
		k.wantFound(driver.MessageSearch{Query: q, Terms: word, Before: first.UpdatedAt.Add(-time.Hour)})
		q.Where = []driver.Condition{driver.Where("n", driver.Less, 10)}
		k.wantFound(driver.MessageSearch{Query: q, Terms: word}, both...)
		q.Where = []driver.Condition{driver.Where("n", driver.Greater, 10)}
		k.wantFound(driver.MessageSearch{Query: q, Terms: word})
	}},
	{name: "search/changes", promise: "replaced messages are not found", run: func(k *conversationKit) {
		k.append(ann, "s", "one word", "two word")
		k.apply(ann, driver.SessionChange{Session: "s", From: 2, Rows: asked("three word")})
		k.wantFound(driver.MessageSearch{Query: driver.SessionQuery{Reach: ann.Only()}, Terms: []string{"word", "two"}}, "one word", "three word")
	}},
}

var conversationForgetCases = []conversationCase{
	{name: "forget/scope", promise: "Forget removes the sessions of a scope and returns their number; an empty part of the scope means any", run: func(k *conversationKit) {
		scopes := []driver.Scope{
			ann, {Tenant: "acme", Workspace: "w", User: "ann"}, {Tenant: "acme", User: "ann", Agent: "a"}, bob, {Tenant: "acme"}, {User: "ann"}, {Tenant: "acme", User: "annabel"},
		}
		for _, s := range scopes {
			k.append(s, "s", "word")
			k.append(s, "t", "word")
		}
		n, err := k.store.Forget(k.ctx, ann)
		if n != 6 || err != nil {
			k.Errorf("got %d and %v want 6", n, err)
		}
		for i, s := range scopes {
			want := 2
			if i < 3 {
				want = 0
			}
			if got := k.sessions(driver.SessionQuery{Reach: s.Only()}); len(got) != want {
				k.Errorf("%s: got %d sessions want %d", s, len(got), want)
			}
			if got := k.search(driver.MessageSearch{Query: driver.SessionQuery{Reach: s.Only()}, Terms: []string{"word"}}); len(got.Rows) != want || got.Messages != int64(want) {
				k.Errorf("%s: found %d of %d want %d", s, len(got.Rows), got.Messages, want)
			}
			if i < 3 {
				k.wantAll(s, "s")
			}
		}
		if n, err := k.store.Forget(k.ctx, ann); n != 0 || err != nil {
			k.Errorf("again: got %d and %v want 0", n, err)
		}
	}},
	{name: "forget/late", promise: "a turn that began before its scope was forgotten is not stored", run: func(k *conversationKit) {
		wide := driver.Scope{Tenant: "acme", Workspace: "w", User: "ann", Agent: "a"}
		began := k.append(wide, "s", "one").UpdatedAt
		other := k.append(bob, "s", "one").UpdatedAt
		if _, err := k.store.Forget(k.ctx, ann); err != nil {
			k.Fatal(err)
		}
		k.refuse(driver.ErrForgotten, wide, driver.SessionChange{Session: "s", Said: began, Rows: asked("late")})
		k.refuse(driver.ErrForgotten, ann, driver.SessionChange{Session: "new", Said: began, Rows: asked("late")})
		k.apply(bob, driver.SessionChange{Session: "s", Said: other, Rows: asked("two")})
		k.apply(wide, driver.SessionChange{Session: "s", Said: future, Rows: asked("new")})
		k.append(ann, "s", "now")
		k.wantAll(wide, "s", "new")
	}},
	{name: "sweep/age", promise: "sweeping removes sessions of the scope that are old enough, at most as many as the limit", run: func(k *conversationKit) {
		for i := range 5 {
			k.append(ann, fmt.Sprint("s", i), "x")
		}
		k.append(bob, "s", "x")
		sweep := func(s driver.Scope, age time.Duration, limit, want int) {
			k.Helper()
			if n, err := k.store.Sweep(k.ctx, s, age, limit); n != want || err != nil {
				k.Errorf("sweep %s: got %d and %v want %d", s, n, err, want)
			}
		}
		sweep(ann, time.Hour, 100, 0)
		// A negative age means a time in the future, so all stored data is older.
		sweep(ann, -time.Hour, 3, 3)
		sweep(ann, -time.Hour, 3, 2)
		sweep(ann, -time.Hour, 3, 0)
		k.wantSessions(driver.SessionQuery{Reach: ann.Only()})
		k.wantSessions(driver.SessionQuery{Reach: bob.Only()}, "s")
		sweep(driver.Scope{Tenant: "acme"}, -time.Hour, 3, 1)
	}},
}
