package memory_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/driver"
	"github.com/weft-go/weft/memory/inmemory"
)

func appendTurn(tb testing.TB, h *memory.Conversations, t memory.Turn) memory.Session {
	tb.Helper()
	session, err := h.Append(tb.Context(), lea, t)
	require.NoError(tb, err)
	return session
}

func load(tb testing.TB, h *memory.Conversations, id string) []llm.Message {
	tb.Helper()
	messages, err := h.Load(tb.Context(), lea, id)
	require.NoError(tb, err)
	return memory.PlainMessages(messages)
}

func texts(messages []llm.Message) string {
	list := make([]string, len(messages))
	for i, m := range messages {
		list[i] = m.String()
	}
	return strings.Join(list, " | ")
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
	got := load(t, h, "full")
	require.Len(t, got, len(tooled), "full")
	require.Equal(t, "c1", got[3].ToolCallID, "full")
	assert.Equal(t, "f", got[2].ToolCalls[0].Name, "full")
	appendTurn(t, h, memory.Turn{Session: "answers", Messages: tooled, Mode: memory.AnswersOnly})
	assert.Equal(t, "system: Be brief. | user: q | assistant: Let me look again. | assistant: a", texts(load(t, h, "answers")))
	assert.Len(t, tooled[4].ToolCalls, 1, "the caller's messages were changed")
	_, err := h.Append(t.Context(), lea, memory.Turn{Session: "x", Mode: 7})
	assert.ErrorIs(t, err, memory.ErrInvalid, "another mode")
	assert.Equal(t, "full answers only Mode(7)", fmt.Sprint(memory.Full, memory.AnswersOnly, memory.Mode(7)))
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
	require.NoError(t, err)
	appendTurn(t, h, memory.Turn{Session: "s", Messages: messages, Mode: memory.AnswersOnly})
	got, err := h.ToLangChain(t.Context(), lea, "s")
	require.NoError(t, err)
	for _, word := range []string{"tool_use", `"c1"`, "thinking", "function"} {
		assert.NotContains(t, string(got), word)
	}
	assert.Equal(t, "assistant: Let me look.", texts(load(t, h, "s")))
}

func TestAppendAgain(t *testing.T) {
	t.Parallel()
	h := newHistory()
	session := appendTurn(t, h, memory.Turn{Messages: []llm.Message{llm.User("one"), llm.Assistant("two")}})
	require.NotEqual(t, "", session.ID)
	require.EqualValues(t, 2, session.Messages)
	// Append the whole conversation: the stored messages and two new ones.
	all := append(load(t, h, session.ID), llm.User("three"), llm.Assistant("four"))
	appendTurn(t, h, memory.Turn{Session: session.ID, Messages: all})
	assert.Equal(t, "user: one | assistant: two | user: three | assistant: four", texts(load(t, h, session.ID)))
	again := appendTurn(t, h, memory.Turn{})
	require.NotEqual(t, session.ID, again.ID)
	assert.EqualValues(t, 0, again.Messages)
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
	assert.Equal(t, "user: q | assistant: a", texts(load(t, h, "s")))
	appendTurn(t, h, memory.Turn{Session: "i", Once: true, Messages: []llm.Message{image(1), image(2), image(1)}})
	got := load(t, h, "i")
	require.Len(t, got, 2)
	images := memory.Images(got[1])
	require.Len(t, images, 1)
	require.EqualValues(t, 2, images[0].Data[0])
	assert.Equal(t, "image/png", images[0].MIMEType)
	metadata, err := memory.MessageMetadata(q)
	require.Nil(t, metadata)
	assert.NoError(t, err)
}

func TestResume(t *testing.T) {
	t.Parallel()
	h := newHistory()
	one, before, err := h.Resume(t.Context(), lea, "")
	two, _, _ := h.Resume(t.Context(), lea, "")
	require.NoError(t, err)
	require.NotEqual(t, "", one)
	require.NotEqual(t, two, one)
	assert.Nil(t, before)
	id, before, err := h.Resume(t.Context(), lea, "unknown")
	require.Equal(t, "unknown", id)
	require.Empty(t, before)
	assert.NoError(t, err)
	for session, err := range h.List(t.Context(), memory.SessionQuery{Reach: lea.Only()}) {
		t.Errorf("got %+v and %v, want nothing to be stored", session, err)
	}
	appendTurn(t, h, memory.Turn{Session: one, Messages: tooled[:4]})
	_, before, err = h.Resume(t.Context(), lea, one)
	assert.Equal(t, "system: Be brief. | user: q | assistant: f({}) | tool: r <nil>", fmt.Sprintf("%s %v", texts(before), err))
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
		require.NoError(t, err)
		assert.Equal(t, want, texts(memory.PlainMessages(messages)))
	}
	around, err := h.Around(t.Context(), lea, "s", 2, 1)
	require.NoError(t, err)
	assert.Equal(t, texts(tooled[:3]), texts(memory.PlainMessages(around)))
	_, err = h.Last(t.Context(), lea, "s", 0)
	assert.ErrorIs(t, err, memory.ErrInvalid, "the last 0")
	_, err = h.Around(t.Context(), lea, "s", 0, 1)
	assert.ErrorIs(t, err, memory.ErrInvalid, "around 0")
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
	search := func(q memory.Question, only ...memory.MessageFilter) string {
		t.Helper()
		q.Reach = lea.Only()
		found, err := h.Search(t.Context(), q, only...)
		require.NoError(t, err)
		var list []string
		for _, m := range found {
			list = append(list, fmt.Sprintf("%s/%d", m.Item.Session, m.Item.Position))
			s := m.Score
			require.Positive(t, s.Total)
			require.LessOrEqual(t, s.Total, float64(1))
			require.LessOrEqual(t, s.Total-s.Keyword-s.Neighbour, 1e-9)
			require.False(t, m.Item.At.IsZero())
			require.Equal(t, lea, m.Item.Scope)
			assert.NotEqual(t, "", m.Item.ID)
		}
		return strings.Join(list, " ")
	}
	assert.Equal(t, "trip/2 trip/1", search(memory.Question{Text: "Which fjord did we talk about, in Norway?"}))
	assert.Equal(t, "food/3", search(memory.Question{Text: "fjord"}, memory.MessageFilter{Roles: []llm.Role{llm.RoleTool}}))
	assert.Equal(t, "food/1", search(memory.Question{Text: "fjords rice"}, memory.MessageFilter{Session: "food"}))
	assert.Equal(t, "food/1", search(memory.Question{Text: "fjords rice", Limit: 1}))
	assert.Equal(t, "", search(memory.Question{Text: "the of ?"}))
	assert.Equal(t, "", search(memory.Question{Text: "fjord"}, memory.MessageFilter{Before: time.Now().Add(-time.Hour)}))
	far := strings.Repeat("x ", 5000)
	assert.Equal(t, "trip/1 trip/2", search(memory.Question{Text: far + "fjord"}))
	assert.Equal(t, "", search(memory.Question{Text: far + "fjord" + far})) // not within the part that is searched
}

func TestDeleteAndUpdate(t *testing.T) {
	t.Parallel()
	h := newHistory()
	ctx := t.Context()
	began := time.Now()
	session := appendTurn(t, h, memory.Turn{Session: "s", Messages: []llm.Message{llm.User("q")}})
	session.Title, session.Metadata = "A title", json.RawMessage(` { "pinned" : true } `)
	updated, err := h.Update(ctx, lea, session)
	require.NoError(t, err)
	require.Equal(t, "A title", updated.Title)
	assert.Equal(t, `{"pinned":true}`, string(updated.Metadata))
	_, err = h.Update(ctx, lea, session)
	require.ErrorIs(t, err, memory.ErrConflict, "an old version")
	stored, err := h.Get(ctx, lea, "s")
	require.NoError(t, err)
	assert.Equal(t, "A title", stored.Title)
	_, err = h.Append(ctx, lea, memory.Turn{Session: "s", Version: session.Version})
	require.ErrorIs(t, err, memory.ErrConflict, "an old version")
	assert.NoError(t, h.Delete(ctx, lea, "s"))
	for name, err := range map[string]error{
		"get":    errorOf(h.Get(ctx, lea, "s")),
		"delete": h.Delete(ctx, lea, "s"),
		"update": errorOf(h.Update(ctx, lea, session)),
	} {
		assert.ErrorIs(t, err, memory.ErrNotFound, name)
	}
	_, err = h.Append(ctx, lea, memory.Turn{Session: "s", Began: began})
	assert.ErrorIs(t, err, memory.ErrForgotten, "a late turn")
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
		"a condition":           errorOf(h.Search(ctx, memory.Question{Text: "x"}, memory.MessageFilter{Where: []memory.Condition{{}}})),
		"many conditions":       listErr(h, memory.SessionQuery{Where: slices.Repeat([]memory.Condition{memory.Where("a", memory.Exists, nil)}, 21)}),
		"a long prefix":         listErr(h, memory.SessionQuery{Prefix: long}),
		"after nothing":         listErr(h, memory.SessionQuery{After: &memory.Session{}}),
		"search another role":   errorOf(h.Search(ctx, memory.Question{Text: "x"}, memory.MessageFilter{Roles: []llm.Role{"poet"}})),
		"search too many":       errorOf(h.Search(ctx, memory.Question{Text: "x", Limit: 1001})),
		"no age":                errorOf(h.Retain(ctx, lea, 0)),
		"forget another scope":  errorOf(h.Forget(ctx, memory.Scope{User: "\xff"})),
		"export another scope":  h.Export(ctx, memory.Scope{User: "\xff"}, &bytes.Buffer{}),
		"LangChain null":        errorOf(h.FromLangChain(ctx, lea, "s", []byte(` null`))),
		"LangChain no list":     errorOf(h.FromLangChain(ctx, lea, "s", []byte(`{}`))),
		"LangChain too large":   errorOf(h.FromLangChain(ctx, lea, "s", make([]byte, 64<<20+1))),
		"LangChain with rubble": errorOf(h.FromLangChain(ctx, lea, "s", []byte(`[{"type":"human","data":{"content":7}}]`))),
		"LangChain removal":     errorOf(h.FromLangChain(ctx, lea, "s", []byte(`[{"type":"human","data":{"content":"x","id":"1"}},{"type":"remove","data":{"id":"1","content":""}}]`))),
	} {
		require.ErrorIs(t, err, memory.ErrInvalid, name)
		assert.True(t, strings.HasPrefix(err.Error(), "conversations: "), name)
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
	require.NoError(t, err)
	h := m.Conversations()
	appendTurn(t, h, memory.Turn{Session: "s", Messages: []llm.Message{llm.User("one"), llm.User("two")}})
	_, err = h.Append(t.Context(), lea, memory.Turn{Session: "s", Messages: []llm.Message{llm.User("three")}})
	assert.ErrorIs(t, err, memory.ErrQuota)
	appendTurn(t, h, memory.Turn{Session: "s", Messages: load(t, h, "s")})
	assert.Equal(t, "user: one | user: two", texts(load(t, h, "s")))
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
				assert.NoError(t, err)
				_, err = h.Last(t.Context(), lea, "s", 1+rand.IntN(9))
				assert.NoError(t, err)
			}
		})
	}
	wg.Wait()
	got := load(t, h, "s")
	require.Len(t, got, 8*25*2)
	for i := 0; i < len(got); i += 2 {
		require.Equal(t, got[i+1].Text(), got[i].Text())
		require.Equal(t, llm.RoleUser, got[i].Role)
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
		n, err := h.Retain(t.Context(), memory.Scope{Tenant: "else"}, time.Minute)
		assert.Zero(t, n, "another tenant")
		assert.NoError(t, err, "another tenant")
		n, err = h.Retain(t.Context(), memory.Scope{Tenant: "acme"}, 90*time.Minute)
		assert.Equal(t, 599, n)
		assert.NoError(t, err)
		var left []string
		for session, err := range h.List(t.Context(), memory.SessionQuery{Reach: lea.Only()}) {
			require.NoError(t, err)
			left = append(left, session.ID)
		}
		assert.Equal(t, "[new old0]", fmt.Sprint(left))
	})
}

func TestExport(t *testing.T) {
	t.Parallel()
	h := newHistory()
	appendTurn(t, h, memory.Turn{Session: "one", Messages: []llm.Message{llm.User("q"), llm.Assistant("a")}})
	appendTurn(t, h, memory.Turn{Session: "two"})
	_, err := h.Append(t.Context(), memory.Scope{Tenant: "acme", User: "bob"}, memory.Turn{Session: "one"})
	require.NoError(t, err)
	var b bytes.Buffer
	require.NoError(t, h.Export(t.Context(), lea, &b))
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	require.Len(t, lines, 2)
	var line memory.ExportedSession
	require.NoError(t, json.Unmarshal([]byte(lines[1]), &line))
	messages, err := llm.FromLangChain(line.Messages)
	require.NoError(t, err)
	require.Equal(t, "one", line.SessionID)
	require.Equal(t, "lea", *line.UserID)
	assert.False(t, line.UpdatedAt.IsZero())
	assert.Equal(t, "user: q | assistant: a", texts(messages))
}

// brokenSessions is a store of conversations in which every call fails with errStoreDown.
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
	require.NoError(t, err)
	h := m.Conversations()
	ctx := t.Context()
	_, _, resumed := h.Resume(ctx, lea, "s")
	for name, err := range map[string]error{
		"append": errorOf(h.Append(ctx, lea, memory.Turn{})), "get": errorOf(h.Get(ctx, lea, "s")), "load": errorOf(h.Load(ctx, lea, "s")),
		"last": errorOf(h.Last(ctx, lea, "s", 1)), "around": errorOf(h.Around(ctx, lea, "s", 1, 1)), "resume": resumed,
		"update": errorOf(h.Update(ctx, lea, memory.Session{ID: "s"})), "delete": h.Delete(ctx, lea, "s"), "list": listErr(h, memory.SessionQuery{}),
		"forget": errorOf(h.Forget(ctx, lea)), "search": errorOf(h.Search(ctx, memory.Question{Text: "x"})), "retain": errorOf(h.Retain(ctx, lea, time.Hour)), "export": h.Export(ctx, lea, &bytes.Buffer{}),
		"to langchain": errorOf(h.ToLangChain(ctx, lea, "s")), "from langchain": errorOf(h.FromLangChain(ctx, lea, "s", []byte("[]"))),
	} {
		require.ErrorIs(t, err, errStoreDown)
		assert.True(t, strings.HasPrefix(err.Error(), "conversations: "+name+": "))
	}
}
