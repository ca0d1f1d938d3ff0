package memory_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/driver"
	"github.com/weft-go/weft/memory/inmemory"
)

func appendTurn(tb testing.TB, h *memory.Conversations, t memory.Turn) memory.Session {
	tb.Helper()
	session, err := h.Append(tb.Context(), lea, t)
	if err != nil {
		tb.Fatal(err)
	}
	return session
}

func load(tb testing.TB, h *memory.Conversations, id string) []llm.Message {
	tb.Helper()
	messages, err := h.Load(tb.Context(), lea, id)
	if err != nil {
		tb.Fatal(err)
	}
	return memory.PlainMessages(messages)
}

func texts(messages []llm.Message) string {
	list := make([]string, len(messages))
	for i, m := range messages {
		list[i] = m.String()
	}
	return strings.Join(list, " | ")
}

func checkText(tb testing.TB, got, want string) {
	tb.Helper()
	if got != want {
		tb.Errorf("got  %s\nwant %s", got, want)
	}
}

var (
	call = llm.ToolCall{ID: "c1", Name: "f", Arguments: json.RawMessage(`{}`)}
	// tooled is a turn with tools.
	tooled = []llm.Message{
		llm.System("Be brief."), llm.User("q"), llm.Assistant("", call), llm.ToolResult(call, "r"),
		llm.Assistant("Let me look again.", call), llm.ToolResult(call, "r2"), llm.Assistant("a"), llm.Assistant(" \n", call), llm.Assistant(""),
	}
)

func TestModes(t *testing.T) {
	t.Parallel()
	h := newHistory()
	appendTurn(t, h, memory.Turn{Session: "full", Messages: tooled})
	if got := load(t, h, "full"); len(got) != len(tooled) || got[3].ToolCallID != "c1" || got[2].ToolCalls[0].Name != "f" {
		t.Errorf("full: got %s", texts(got))
	}
	appendTurn(t, h, memory.Turn{Session: "answers", Messages: tooled, Mode: memory.AnswersOnly})
	checkText(t, texts(load(t, h, "answers")), "system: Be brief. | user: q | assistant: Let me look again. | assistant: a")
	if len(tooled[4].ToolCalls) != 1 {
		t.Error("the caller's messages were changed")
	}
	if _, err := h.Append(t.Context(), lea, memory.Turn{Session: "x", Mode: 7}); !errors.Is(err, memory.ErrInvalid) {
		t.Errorf("another mode: got %v", err)
	}
	checkText(t, fmt.Sprint(memory.Full, memory.AnswersOnly, memory.Mode(7)), "full answers only Mode(7)")
}

// Answers keeps the text of an assistant's message, without its reasoning and its
// provider-specific tool calls.
func TestAnswersOfProvider(t *testing.T) {
	t.Parallel()
	h := newHistory()
	const stored = `[{"type":"ai","data":{"content":[{"type":"thinking","thinking":"hm","signature":"c2ln"},{"type":"text","text":"Let me look."},
		{"type":"tool_use","id":"c1","name":"f","input":{}}],"additional_kwargs":{"tool_calls":[{"id":"c1","function":{"name":"f","arguments":"{}"}}]},
		"tool_calls":[{"name":"f","args":{},"id":"c1","type":"tool_call"}],"response_metadata":{"finish_reason":"tool_calls"}}}]`
	messages, err := llm.FromLangChain([]byte(stored))
	if err != nil {
		t.Fatal(err)
	}
	appendTurn(t, h, memory.Turn{Session: "s", Messages: messages, Mode: memory.AnswersOnly})
	got, err := h.ToLangChain(t.Context(), lea, "s")
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{"tool_use", `"c1"`, "thinking", "function"} {
		if strings.Contains(string(got), word) {
			t.Errorf("%s is in %s", word, got)
		}
	}
	checkText(t, texts(load(t, h, "s")), "assistant: Let me look.")
}

func TestAppendAgain(t *testing.T) {
	t.Parallel()
	h := newHistory()
	session := appendTurn(t, h, memory.Turn{Messages: []llm.Message{llm.User("one"), llm.Assistant("two")}})
	if session.ID == "" || session.Messages != 2 {
		t.Fatalf("got %+v", session)
	}
	// All of the conversation, with what was read before.
	all := append(load(t, h, session.ID), llm.User("three"), llm.Assistant("four"))
	appendTurn(t, h, memory.Turn{Session: session.ID, Messages: all})
	checkText(t, texts(load(t, h, session.ID)), "user: one | assistant: two | user: three | assistant: four")
	if again := appendTurn(t, h, memory.Turn{}); again.ID == session.ID || again.Messages != 0 {
		t.Errorf("got %+v, want a new session", again)
	}
}

// A turn whose user message is already stored can be appended again as a whole.
func TestOnce(t *testing.T) {
	t.Parallel()
	h := newHistory()
	q, image := llm.User("q"), func(b byte) llm.Message { return llm.User("", llm.Image("image/png", []byte{b})) }
	appendTurn(t, h, memory.Turn{Session: "s", Messages: []llm.Message{q}})
	for range 2 {
		appendTurn(t, h, memory.Turn{Session: "s", Last: 2, Once: true, Messages: []llm.Message{llm.User("old"), llm.Assistant("older"), q, llm.Assistant("a")}})
	}
	checkText(t, texts(load(t, h, "s")), "user: q | assistant: a")
	appendTurn(t, h, memory.Turn{Session: "i", Once: true, Messages: []llm.Message{image(1), image(2), image(1)}})
	got := load(t, h, "i")
	if len(got) != 2 {
		t.Fatalf("got %d messages, want the two images", len(got))
	}
	if images := memory.Images(got[1]); len(images) != 1 || images[0].Data[0] != 2 || images[0].MIMEType != "image/png" {
		t.Errorf("got %+v", images)
	}
	if metadata, err := memory.MessageMetadata(q); metadata != nil || err != nil {
		t.Errorf("got %s and %v, want none", metadata, err)
	}
}

func TestResume(t *testing.T) {
	t.Parallel()
	h := newHistory()
	one, before, err := h.Resume(t.Context(), lea, "")
	two, _, _ := h.Resume(t.Context(), lea, "")
	if err != nil || one == "" || one == two || before != nil {
		t.Errorf("got %q, %q, %v and %v", one, two, before, err)
	}
	id, before, err := h.Resume(t.Context(), lea, "unknown")
	if id != "unknown" || len(before) != 0 || err != nil {
		t.Errorf("got %q, %v and %v", id, before, err)
	}
	for session, err := range h.List(t.Context(), memory.SessionQuery{Reach: lea.Only()}) {
		t.Errorf("got %+v and %v, want nothing to be stored", session, err)
	}
	appendTurn(t, h, memory.Turn{Session: one, Messages: tooled[:4]})
	_, before, err = h.Resume(t.Context(), lea, one)
	checkText(t, fmt.Sprintf("%s %v", texts(before), err), "system: Be brief. | user: q | assistant: f({}) | tool: r <nil>")
}

func TestLastAndAround(t *testing.T) {
	t.Parallel()
	h := newHistory()
	appendTurn(t, h, memory.Turn{Session: "s", Messages: tooled[:7]})
	for n, want := range map[int]string{
		1: "assistant: a", 2: "assistant: a", 3: "assistant: Let me look again. f({}) | tool: r2 | assistant: a",
		4: "assistant: Let me look again. f({}) | tool: r2 | assistant: a", 99: texts(tooled[:7]),
	} {
		messages, err := h.Last(t.Context(), lea, "s", n)
		if err != nil {
			t.Fatal(err)
		}
		checkText(t, texts(memory.PlainMessages(messages)), want)
	}
	around, err := h.Around(t.Context(), lea, "s", 2, 1)
	if err != nil {
		t.Fatal(err)
	}
	checkText(t, texts(memory.PlainMessages(around)), texts(tooled[:3]))
	if _, err := h.Last(t.Context(), lea, "s", 0); !errors.Is(err, memory.ErrInvalid) {
		t.Errorf("the last 0: got %v", err)
	}
	if _, err := h.Around(t.Context(), lea, "s", 0, 1); !errors.Is(err, memory.ErrInvalid) {
		t.Errorf("around 0: got %v", err)
	}
}

func TestMessagesAreFound(t *testing.T) {
	t.Parallel()
	h := newHistory()
	appendTurn(t, h, memory.Turn{Session: "trip", Messages: []llm.Message{
		llm.User("I want to see the fjords"), llm.Assistant("Norway has many fjords. When do you travel?"), llm.User("In June"),
	}})
	appendTurn(t, h, memory.Turn{Session: "food", Messages: []llm.Message{
		llm.User("How long does rice cook?"), llm.Assistant("Eighteen minutes.", call), llm.ToolResult(call, "fjords of rice"),
	}})
	search := func(f memory.FindMessages) string {
		t.Helper()
		f.Query.Scope = lea
		found, err := h.Search(t.Context(), f)
		if err != nil {
			t.Fatal(err)
		}
		var list []string
		for _, m := range found {
			list = append(list, fmt.Sprintf("%s/%d", m.Item.Session, m.Item.Position))
			if s := m.Score; s.Total <= 0 || s.Total > 1 || s.Total-s.Keyword-s.Neighbour > 1e-9 || m.Item.At.IsZero() || m.Item.Scope != lea || m.Item.ID == "" {
				t.Errorf("got %+v", m)
			}
		}
		return strings.Join(list, " ")
	}
	checkText(t, search(memory.FindMessages{Text: "Which fjord did we talk about, in Norway?"}), "trip/2 trip/1")
	checkText(t, search(memory.FindMessages{Text: "fjord", Roles: []llm.Role{llm.RoleTool}}), "food/3")
	checkText(t, search(memory.FindMessages{Text: "fjords rice", Query: memory.SessionQuery{ID: "food"}}), "food/1")
	checkText(t, search(memory.FindMessages{Text: "fjords rice", Query: memory.SessionQuery{Limit: 1}}), "food/1")
	checkText(t, search(memory.FindMessages{Text: "the of ?"}), "")
	checkText(t, search(memory.FindMessages{Text: "fjord", Before: time.Now().Add(-time.Hour)}), "")
	far := strings.Repeat("x ", 5000)
	checkText(t, search(memory.FindMessages{Text: far + "fjord"}), "trip/1 trip/2")
	checkText(t, search(memory.FindMessages{Text: far + "fjord" + far}), "") // not within what counts
}

func TestDeleteAndUpdate(t *testing.T) {
	t.Parallel()
	h := newHistory()
	ctx := t.Context()
	began := time.Now()
	session := appendTurn(t, h, memory.Turn{Session: "s", Messages: []llm.Message{llm.User("q")}})
	session.Title, session.Metadata = "A title", json.RawMessage(` { "pinned" : true } `)
	updated, err := h.Update(ctx, lea, session)
	if err != nil || updated.Title != "A title" || string(updated.Metadata) != `{"pinned":true}` {
		t.Errorf("got %+v and %v", updated, err)
	}
	if _, err := h.Update(ctx, lea, session); !errors.Is(err, memory.ErrConflict) {
		t.Errorf("an old version: got %v", err)
	}
	if got, err := h.Get(ctx, lea, "s"); err != nil || got.Title != "A title" {
		t.Errorf("got %+v and %v", got, err)
	}
	if _, err := h.Append(ctx, lea, memory.Turn{Session: "s", Version: session.Version}); !errors.Is(err, memory.ErrConflict) {
		t.Errorf("an old version: got %v", err)
	}
	if err := h.Delete(ctx, lea, "s"); err != nil {
		t.Error(err)
	}
	for name, err := range map[string]error{
		"get":    errorOf(h.Get(ctx, lea, "s")),
		"delete": h.Delete(ctx, lea, "s"),
		"update": errorOf(h.Update(ctx, lea, session)),
	} {
		if !errors.Is(err, memory.ErrNotFound) {
			t.Errorf("%s: got %v, want an ErrNotFound", name, err)
		}
	}
	if _, err := h.Append(ctx, lea, memory.Turn{Session: "s", Began: began}); !errors.Is(err, memory.ErrForgotten) {
		t.Errorf("a late turn: got %v", err)
	}
}

func TestConversationsRefuse(t *testing.T) {
	t.Parallel()
	h := newHistory()
	ctx := t.Context()
	q := []llm.Message{llm.User("q")}
	long := strings.Repeat("x", 513)
	append1 := func(s memory.Scope, turn memory.Turn) error { return errorOf(h.Append(ctx, s, turn)) }
	for name, err := range map[string]error{
		"a scope":               append1(memory.Scope{User: "\x00"}, memory.Turn{Messages: q}),
		"a long id":             append1(lea, memory.Turn{Session: long}),
		"an id with a NUL":      append1(lea, memory.Turn{Session: "a\x00"}),
		"a message of no role":  append1(lea, memory.Turn{Messages: []llm.Message{{}}}),
		"a message's long id":   append1(lea, memory.Turn{Messages: []llm.Message{{ID: long, Role: llm.RoleUser}}}),
		"a large message":       append1(lea, memory.Turn{Messages: []llm.Message{llm.User(strings.Repeat("x", memory.MaxMessage+1))}}),
		"many messages":         append1(lea, memory.Turn{Messages: slices.Repeat(q, memory.MaxMessages+1)}),
		"the last -1":           append1(lea, memory.Turn{Messages: q, Last: -1}),
		"get without an id":     errorOf(h.Get(ctx, lea, "")),
		"load without an id":    errorOf(h.Load(ctx, lea, "")),
		"delete without an id":  h.Delete(ctx, lea, ""),
		"a long title":          errorOf(h.Update(ctx, lea, memory.Session{ID: "s", Title: strings.Repeat("x", 2049)})),
		"metadata":              errorOf(h.Update(ctx, lea, memory.Session{ID: "s", Metadata: json.RawMessage(`[]`)})),
		"large metadata":        errorOf(h.Update(ctx, lea, memory.Session{ID: "s", Metadata: json.RawMessage(`{"a":"` + strings.Repeat("x", 16<<10) + `"}`)})),
		"a condition":           errorOf(h.Search(ctx, memory.FindMessages{Text: "x", Query: memory.SessionQuery{Where: []memory.Condition{{}}}})),
		"many conditions":       listErr(h, memory.SessionQuery{Where: slices.Repeat([]memory.Condition{memory.Where("a", memory.Exists, nil)}, 21)}),
		"a long prefix":         listErr(h, memory.SessionQuery{Prefix: long}),
		"after nothing":         listErr(h, memory.SessionQuery{After: &memory.Session{}}),
		"search after":          errorOf(h.Search(ctx, memory.FindMessages{Text: "x", Query: memory.SessionQuery{After: &memory.Session{ID: "s"}}})),
		"search another role":   errorOf(h.Search(ctx, memory.FindMessages{Text: "x", Roles: []llm.Role{"poet"}})),
		"search too many":       errorOf(h.Search(ctx, memory.FindMessages{Text: "x", Query: memory.SessionQuery{Limit: 1001}})),
		"no age":                errorOf(h.Retain(ctx, lea, 0)),
		"forget another scope":  errorOf(h.Forget(ctx, memory.Scope{User: "\xff"})),
		"export another scope":  h.Export(ctx, memory.Scope{User: "\xff"}, &bytes.Buffer{}),
		"LangChain null":        errorOf(h.FromLangChain(ctx, lea, "s", []byte(` null`))),
		"LangChain no list":     errorOf(h.FromLangChain(ctx, lea, "s", []byte(`{}`))),
		"LangChain too large":   errorOf(h.FromLangChain(ctx, lea, "s", make([]byte, 64<<20+1))),
		"LangChain with rubble": errorOf(h.FromLangChain(ctx, lea, "s", []byte(`[{"type":"human","data":{"content":7}}]`))),
		"LangChain removal":     errorOf(h.FromLangChain(ctx, lea, "s", []byte(`[{"type":"human","data":{"content":"x","id":"1"}},{"type":"remove","data":{"id":"1","content":""}}]`))),
	} {
		if !errors.Is(err, memory.ErrInvalid) || !strings.HasPrefix(err.Error(), "conversations: ") {
			t.Errorf("%s: got %v, want an ErrInvalid", name, err)
		}
	}
	for session, err := range h.List(ctx, memory.SessionQuery{Reach: lea.Only()}) {
		t.Errorf("stored %+v, %v", session, err)
	}
}

func listErr(h *memory.Conversations, q memory.SessionQuery) error {
	for _, err := range h.List(context.Background(), q) {
		return err
	}
	return nil
}

func TestQuotaOfConversations(t *testing.T) {
	t.Parallel()
	m, err := memory.New(inmemory.New(inmemory.Options{MaxMessages: 2}), memory.Options{})
	if err != nil {
		t.Fatal(err)
	}
	h := m.Conversations()
	appendTurn(t, h, memory.Turn{Session: "s", Messages: []llm.Message{llm.User("one"), llm.User("two")}})
	if _, err := h.Append(t.Context(), lea, memory.Turn{Session: "s", Messages: []llm.Message{llm.User("three")}}); !errors.Is(err, memory.ErrQuota) {
		t.Errorf("got %v, want an ErrQuota", err)
	}
	appendTurn(t, h, memory.Turn{Session: "s", Messages: load(t, h, "s")})
	checkText(t, texts(load(t, h, "s")), "user: one | user: two")
}

// Concurrent turns of one session are all stored, and the messages of a turn stay together.
func TestWriters(t *testing.T) {
	t.Parallel()
	h := newHistory()
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			for i := range 25 {
				text := fmt.Sprint(w, ".", i)
				_, err := h.Append(t.Context(), lea, memory.Turn{Session: "s", Messages: []llm.Message{llm.User(text), llm.Assistant(text)}})
				if err != nil {
					t.Error(err)
				}
				if _, err := h.Last(t.Context(), lea, "s", 1+rand.IntN(9)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	got := load(t, h, "s")
	if len(got) != 8*25*2 {
		t.Fatalf("got %d messages", len(got))
	}
	for i := 0; i < len(got); i += 2 {
		if got[i].Text() != got[i+1].Text() || got[i].Role != llm.RoleUser {
			t.Fatalf("at %d: %v and %v", i, got[i], got[i+1])
		}
	}
}

func TestRetain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHistory()
		for i := range 600 {
			appendTurn(t, h, memory.Turn{Session: fmt.Sprint("old", i)})
		}
		time.Sleep(time.Hour)
		appendTurn(t, h, memory.Turn{Session: "old0"})
		appendTurn(t, h, memory.Turn{Session: "new"})
		time.Sleep(time.Hour)
		if n, err := h.Retain(t.Context(), memory.Scope{Tenant: "else"}, time.Minute); n != 0 || err != nil {
			t.Errorf("another tenant: got %d and %v", n, err)
		}
		if n, err := h.Retain(t.Context(), memory.Scope{Tenant: "acme"}, 90*time.Minute); n != 599 || err != nil {
			t.Errorf("got %d and %v, want 599", n, err)
		}
		var left []string
		for session, err := range h.List(t.Context(), memory.SessionQuery{Reach: lea.Only()}) {
			if err != nil {
				t.Fatal(err)
			}
			left = append(left, session.ID)
		}
		checkText(t, fmt.Sprint(left), "[new old0]")
	})
}

func TestExport(t *testing.T) {
	t.Parallel()
	h := newHistory()
	appendTurn(t, h, memory.Turn{Session: "one", Messages: []llm.Message{llm.User("q"), llm.Assistant("a")}})
	appendTurn(t, h, memory.Turn{Session: "two"})
	if _, err := h.Append(t.Context(), memory.Scope{Tenant: "acme", User: "bob"}, memory.Turn{Session: "one"}); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := h.Export(t.Context(), lea, &b); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	if len(lines) != 2 {
		t.Fatalf("got %s", b.String())
	}
	var line memory.ExportedSession
	if err := json.Unmarshal([]byte(lines[1]), &line); err != nil {
		t.Fatal(err)
	}
	messages, err := llm.FromLangChain(line.Messages)
	if err != nil || line.SessionID != "one" || *line.UserID != "lea" || line.UpdatedAt.IsZero() {
		t.Errorf("got %+v and %v", line, err)
	}
	checkText(t, texts(messages), "user: q | assistant: a")
}

// brokenSessions is a store of conversations whose every call fails with errStoreDown.
type brokenSessions struct{ driver.ConversationStore }

func (brokenSessions) Apply(context.Context, memory.Scope, driver.SessionChange) (memory.Session, error) {
	return memory.Session{}, errStoreDown
}

func (brokenSessions) Sweep(context.Context, memory.Scope, time.Duration, int) (int, error) {
	return 0, errStoreDown
}

func (brokenSessions) Sessions(context.Context, memory.SessionQuery) iter.Seq2[memory.Session, error] {
	return func(yield func(memory.Session, error) bool) { yield(memory.Session{}, errStoreDown) }
}

func (brokenSessions) Messages(context.Context, driver.MessageRange) iter.Seq2[driver.MessageRow, error] {
	return func(yield func(driver.MessageRow, error) bool) { yield(driver.MessageRow{}, errStoreDown) }
}

func (brokenSessions) Search(context.Context, driver.MessageSearch) (driver.MessageCandidates, error) {
	return driver.MessageCandidates{}, errStoreDown
}

func (brokenSessions) Forget(context.Context, memory.Scope) (int, error) { return 0, errStoreDown }

func TestConversationsOfAFailingStore(t *testing.T) {
	t.Parallel()
	m, err := memory.New(inmemory.Fill(driver.Stores{ConversationStore: brokenSessions{}}), memory.Options{})
	if err != nil {
		t.Fatal(err)
	}
	h := m.Conversations()
	ctx := t.Context()
	_, _, resumed := h.Resume(ctx, lea, "s")
	for name, err := range map[string]error{
		"append": errorOf(h.Append(ctx, lea, memory.Turn{})), "get": errorOf(h.Get(ctx, lea, "s")), "load": errorOf(h.Load(ctx, lea, "s")),
		"last": errorOf(h.Last(ctx, lea, "s", 1)), "around": errorOf(h.Around(ctx, lea, "s", 1, 1)), "resume": resumed,
		"update": errorOf(h.Update(ctx, lea, memory.Session{ID: "s"})), "delete": h.Delete(ctx, lea, "s"), "list": listErr(h, memory.SessionQuery{}),
		"forget": errorOf(h.Forget(ctx, lea)), "search": errorOf(h.Search(ctx, memory.FindMessages{Text: "x"})), "retain": errorOf(h.Retain(ctx, lea, time.Hour)), "export": h.Export(ctx, lea, &bytes.Buffer{}),
		"to langchain": errorOf(h.ToLangChain(ctx, lea, "s")), "from langchain": errorOf(h.FromLangChain(ctx, lea, "s", []byte("[]"))),
	} {
		if !errors.Is(err, errStoreDown) || !strings.HasPrefix(err.Error(), "conversations: "+name+": ") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
