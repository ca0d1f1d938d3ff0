package drivertest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/memory/driver"
)

// RunConversations checks the stores that open returns. Each call of open must return a new, empty store,
// and close it with tb.Cleanup. Several tests call open at the same time.
func RunConversations(t *testing.T, open func(tb testing.TB) driver.ConversationStore) {
	t.Helper()
	for _, c := range allConversationCases() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.check(t, open)
		})
	}
}

func allConversationCases() []conversationCase {
	return slices.Concat(conversationCases, conversationChangeCases, conversationFindCases, conversationSearchCases, conversationForgetCases)
}

// A conversationCase tests one promise.
type conversationCase struct {
	name    string // group/case
	promise string
	run     func(k *conversationKit)
}

func (c conversationCase) check(tb testing.TB, open func(tb testing.TB) driver.ConversationStore) {
	tb.Helper()
	play(tb, c.promise, 5*time.Minute, open, func(ctx context.Context, store driver.ConversationStore) {
		c.run(&conversationKit{TB: tb, ctx: ctx, store: store})
	})
}

// A conversationKit has the store and the helpers of a case.
type conversationKit struct {
	testing.TB
	ctx   context.Context
	store driver.ConversationStore
}

// said returns a row as package memory creates it. Its ID is "m-" and the text.
func said(role llm.Role, text string) driver.MessageRow {
	typ := map[llm.Role]string{llm.RoleUser: "human", llm.RoleAssistant: "ai", llm.RoleSystem: "system", llm.RoleTool: "tool"}[role]
	data, err := json.Marshal(map[string]any{"type": typ, "data": map[string]any{"content": text, "id": nil, "x": 1.5}})
	if err != nil {
		panic(err)
	}
	r := driver.MessageRow{ID: "m-" + text, Role: role, Text: text, Data: data, Terms: strings.Fields(strings.ToLower(text))}
	copy(r.Key[:], string(role)+text)
	return r
}

func asked(texts ...string) []driver.MessageRow {
	rows := make([]driver.MessageRow, len(texts))
	for i, text := range texts {
		rows[i] = said(llm.RoleUser, text)
	}
	return rows
}

func (k *conversationKit) apply(s driver.Scope, c driver.SessionChange) driver.Session {
	k.Helper()
	session, err := k.store.Apply(k.ctx, s, c)
	if err != nil {
		k.Fatalf("apply %s: %v", brief(c), err)
	}
	return session
}

// append appends a message of the user to a session.
func (k *conversationKit) append(s driver.Scope, id string, texts ...string) driver.Session {
	k.Helper()
	return k.apply(s, driver.SessionChange{Session: id, Rows: asked(texts...)})
}

// refuse applies a change, and requires that the call returns the error want and changes no data of the scope.
func (k *conversationKit) refuse(want error, s driver.Scope, c driver.SessionChange) {
	k.Helper()
	before := k.everything(s)
	if session, err := k.store.Apply(k.ctx, s, c); !errors.Is(err, want) {
		k.Errorf("apply %s: got %+v and %v want %v", brief(c), session, err, want)
	}
	if after := k.everything(s); after != before {
		k.Errorf("refused, and yet changed:\n%s\nwas\n%s", after, before)
	}
}

// everything returns all data of a scope as text.
func (k *conversationKit) everything(s driver.Scope) string {
	k.Helper()
	var b strings.Builder
	for _, session := range k.sessions(driver.SessionQuery{Reach: s.Only(), Limit: -1}) {
		fmt.Fprintf(&b, "%+v\n", session)
		for _, r := range k.rows(driver.MessageRange{Scope: s, Session: session.ID}) {
			fmt.Fprintf(&b, "\t%+v\n", r)
		}
	}
	return b.String()
}

func (k *conversationKit) sessions(q driver.SessionQuery) []driver.Session {
	k.Helper()
	var list []driver.Session
	for session, err := range k.store.Sessions(k.ctx, q) {
		if err != nil {
			k.Fatalf("sessions %+v: %v", q, err)
		}
		list = append(list, session)
	}
	return list
}

func (k *conversationKit) session(s driver.Scope, id string) driver.Session {
	k.Helper()
	list := k.sessions(driver.SessionQuery{Reach: s.Only(), ID: id})
	if len(list) != 1 {
		k.Fatalf("session %q in %s: found %d times want 1", id, s, len(list))
	}
	return list[0]
}

// wantSessions requires sessions with these IDs, in this order.
func (k *conversationKit) wantSessions(q driver.SessionQuery, ids ...string) {
	k.Helper()
	var got []string
	for _, session := range k.sessions(q) {
		got = append(got, session.ID)
	}
	if !slices.Equal(got, ids) {
		k.Errorf("sessions %+v: got %q want %q", q, got, ids)
	}
}

func (k *conversationKit) rows(r driver.MessageRange) []driver.MessageRow {
	k.Helper()
	var list []driver.MessageRow
	for row, err := range k.store.Messages(k.ctx, r) {
		if err != nil {
			k.Fatalf("messages %+v: %v", r, err)
		}
		list = append(list, row)
	}
	return list
}

// want requires messages with these texts, in this order.
func (k *conversationKit) want(r driver.MessageRange, texts ...string) {
	k.Helper()
	var got []string
	for _, row := range k.rows(r) {
		got = append(got, row.Text)
	}
	if !slices.Equal(got, texts) {
		k.Errorf("messages %+v: got %q want %q", r, got, texts)
	}
}

func (k *conversationKit) wantAll(s driver.Scope, id string, texts ...string) {
	k.Helper()
	k.want(driver.MessageRange{Scope: s, Session: id}, texts...)
}

// equalJSON compares JSON values, and numbers by value.
func equalJSON(got, want json.RawMessage) bool {
	if len(got) == 0 || len(want) == 0 {
		return len(got) == len(want)
	}
	wrapped := append(append([]byte(`{"v":`), got...), '}')
	return driver.Condition{Path: []string{"v"}, Op: driver.Equal, Value: want}.Match(wrapped)
}
