package memory_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/memory"
)

// rows names files with message lists, written by programs that use LangChain.
var rows = []string{"langchain-py.json", "langchain-js.json"}

func readRow(tb testing.TB, name string) []json.RawMessage {
	tb.Helper()
	file, err := os.ReadFile("../llm/testdata/" + name)
	require.NoError(tb, err)
	var entries []json.RawMessage
	require.NoError(tb, json.Unmarshal(file, &entries))
	return entries
}

func joinRow(entries []json.RawMessage) []byte {
	data, err := json.Marshal(entries)
	if err != nil {
		panic(err)
	}
	return data
}

// sorted returns JSON in a canonical form: equal values have equal texts.
func sorted(tb testing.TB, data []byte) string {
	tb.Helper()
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var v any
	err := d.Decode(&v)
	require.NoError(tb, err, "%v: %s", err, data)
	text, err := json.Marshal(v)
	require.NoError(tb, err)
	return string(text)
}

func stored(tb testing.TB, h *memory.Conversations, id string) []json.RawMessage {
	tb.Helper()
	data, err := h.ToLangChain(tb.Context(), lea, id)
	require.NoError(tb, err)
	var entries []json.RawMessage
	require.NoError(tb, json.Unmarshal(data, &entries))
	return entries
}

// A row from Python is loaded, a turn is appended, and the row is read back: the messages from
// Python are unchanged, and the new messages follow them. Python's next list, with one more message,
// adds one row.
func TestRowOfPython(t *testing.T) {
	t.Parallel()
	for _, name := range rows {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHistory()
			python := readRow(t, name)
			session, err := h.FromLangChain(t.Context(), lea, "s", joinRow(python))
			require.NoError(t, err)
			assert.Equal(t, int64(len(python)), session.Messages)
			assert.Equal(t, sorted(t, joinRow(python)), sorted(t, joinRow(stored(t, h, "s"))))

			// Append a turn together with all loaded messages, as a Go program that saves the whole conversation does.
			all := append(load(t, h, "s"), llm.User("And now?"), llm.Assistant("Now this."))
			for range 2 {
				appendTurn(t, h, memory.Turn{Session: "s", Messages: load(t, h, "s")})
			}
			appendTurn(t, h, memory.Turn{Session: "s", Messages: all})
			got := stored(t, h, "s")
			require.Len(t, got, len(python)+2)
			assert.Equal(t, sorted(t, joinRow(python)), sorted(t, joinRow(got[:len(python)])))
			assert.Equal(t, "user: And now? | assistant: Now this.", texts(load(t, h, "s")[len(python):]))

			before, err := h.Load(t.Context(), lea, "s")
			require.NoError(t, err)
			longer := append(got, json.RawMessage(`{"type":"human","data":{"content":"From Python","id":null}}`))
			_, err = h.FromLangChain(t.Context(), lea, "s", joinRow(longer))
			require.NoError(t, err)
			after, err := h.Load(t.Context(), lea, "s")
			require.NoError(t, err)
			require.Len(t, after, len(before)+1)
			for i := range before {
				require.NotEqual(t, "", before[i].ID)
				require.Equal(t, after[i].ID, before[i].ID)
				assert.True(t, before[i].At.Equal(after[i].At))
			}
		})
	}
}

// A list replaces the stored messages from the first different message on.
func TestRowChanged(t *testing.T) {
	t.Parallel()
	h := newHistory()
	write := func(row string) {
		t.Helper()
		_, err := h.FromLangChain(t.Context(), lea, "s", []byte(row))
		require.NoError(t, err)
	}
	const one, two = `{"type":"human","data":{"content":"one","id":"1"}}`, `{"type":"ai","data":{"content":"two","id":"2"}}`
	write("[" + one + "," + two + "]")
	write("[" + one + "]")
	assert.Equal(t, "user: one", texts(load(t, h, "s")))
	write("[" + two + "," + one + "]")
	assert.Equal(t, "assistant: two | user: one", texts(load(t, h, "s")))
	write("[" + one + "," + one + "]") // two messages with the same id
	assert.Equal(t, "user: one | user: one", texts(load(t, h, "s")))
	assert.Equal(t, sorted(t, []byte("["+one+","+one+"]")), sorted(t, joinRow(stored(t, h, "s"))))
	write("[]")
	assert.Equal(t, "", texts(load(t, h, "s")))
}

// Of several concurrent writers of a list, one succeeds and the others get ErrConflict.
func TestRowConflict(t *testing.T) {
	t.Parallel()
	h := newHistory()
	errs := make(chan error, 16)
	for range cap(errs) {
		go func() {
			_, err := h.FromLangChain(t.Context(), lea, "s", []byte(`[{"type":"human","data":{"content":"one"}}]`))
			errs <- err
		}()
	}
	for range cap(errs) {
		err := <-errs
		assert.False(t, err != nil && !errors.Is(err, memory.ErrConflict))
	}
	assert.Equal(t, "user: one", texts(load(t, h, "s")))
}

// A message of an unknown type keeps its position, and the other messages are read.
func TestForeignTypes(t *testing.T) {
	t.Parallel()
	h := newHistory()
	const list = `[{"type":"human","data":{"content":"one","id":"1"}},
		{"type":"video","data":{"content":"a film","id":"2","frames":[1.50,null]},"x":{"y":1}},
		{"type":"ai","data":{"content":"two","id":"3"}}, {"type":"video","data":"none"}, {"type":"audio"},
		{"type":"video","data":{"id":"2"}}, {"type":"human","data":{"content":"three","id":"4"}}]`
	session, err := h.FromLangChain(t.Context(), lea, "s", []byte(list))
	require.NoError(t, err)
	require.EqualValues(t, 7, session.Messages)
	assert.Equal(t, sorted(t, []byte(list)), sorted(t, joinRow(stored(t, h, "s"))))
	assert.Equal(t, "user: one | assistant: two | user: three", texts(load(t, h, "s")))
	loaded, err := h.Load(t.Context(), lea, "s")
	require.NoError(t, err)
	require.EqualValues(t, 3, loaded[1].Position)
	assert.EqualValues(t, 7, loaded[2].Position)
	last, err := h.Last(t.Context(), lea, "s", 3)
	require.NoError(t, err, "last")
	require.Len(t, last, 1, "last")
	assert.Equal(t, "4", last[0].ID, "last")
	found, err := h.Search(t.Context(), memory.Question{Reach: lea.Only(), Text: "a film, or two"})
	require.NoError(t, err, "search")
	require.Len(t, found, 1, "search")
	assert.Equal(t, "3", found[0].Item.ID, "search")
	// Append a turn in Go, and then write Python's list with one more message. Stored messages are not
	// stored again.
	appendTurn(t, h, memory.Turn{Session: "s", Messages: append(load(t, h, "s"), llm.Assistant("four"))})
	longer := append(stored(t, h, "s"), json.RawMessage(`{"type":"video","data":{}}`))
	session, err = h.FromLangChain(t.Context(), lea, "s", joinRow(longer))
	require.NoError(t, err)
	assert.EqualValues(t, 9, session.Messages)
	assert.Equal(t, sorted(t, joinRow(longer)), sorted(t, joinRow(stored(t, h, "s"))))
	var out bytes.Buffer
	err = h.Export(t.Context(), lea, &out)
	require.NoError(t, err, "export")
	assert.Contains(t, out.String(), `"frames"`, "export")
}

// FromLangChain reads messages of every known type, and rejects invalid lists.
func TestKnownTypes(t *testing.T) {
	t.Parallel()
	h := newHistory()
	for i, name := range []string{
		"human", "HumanMessageChunk", "ai", "AIMessageChunk", "system", "SystemMessageChunk", "developer", "tool", "ToolMessageChunk", "function",
		"FunctionMessageChunk", "chat", "generic", "ChatMessageChunk",
	} {
		list := fmt.Sprintf(`[{"type":%q,"data":{"content":"text","role":"user","tool_call_id":"x","name":"x"}}]`, name)
		_, err := h.FromLangChain(t.Context(), lea, fmt.Sprint(i), []byte(list))
		require.NoError(t, err, "%s: not read, error %v", name, err)
		assert.Len(t, load(t, h, fmt.Sprint(i)), 1, "%s: not read, error %v", name, err)
	}
	for _, bad := range []string{`[{"data":{}}]`, `[{"type":7,"data":{}}]`, `[1]`, `{}`, `[{"type":"remove","data":{"id":"x"}}]`, "[{\"type\":\"video\",\"data\":\"\xff\"}]", `[{"type":"human"}]`} {
		_, err := h.FromLangChain(t.Context(), lea, "bad", []byte(bad))
		assert.ErrorIs(t, err, memory.ErrInvalid, bad)
	}
}

// A list that FromLangChain accepts is returned unchanged by ToLangChain, and can be loaded.
func FuzzFromLangChain(f *testing.F) {
	for _, name := range append(rows, "langchain-odd.json") {
		entries := readRow(f, name)
		for _, entry := range entries {
			f.Add(joinRow([]json.RawMessage{entry}))
		}
		f.Add(joinRow(entries))
	}
	f.Add([]byte(`[{"type":"video","data":{"id":"1"}},{"type":"human","data":{"content":"x","id":"1"}},{"type":"video"}]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		h := newHistory()
		if _, err := h.FromLangChain(t.Context(), lea, "s", data); err != nil {
			require.ErrorIs(t, err, memory.ErrInvalid)
			return
		}
		if string(bytes.TrimSpace(data)) == "null" {
			data = []byte("[]")
		}
		got, err := h.ToLangChain(t.Context(), lea, "s")
		require.NoError(t, err)
		require.Equal(t, sorted(t, data), sorted(t, got))
		messages := load(t, h, "s")
		ids := map[string]bool{}
		for _, m := range messages {
			require.NotEqual(t, "", m.ID, "id %q in %+v", m.ID, messages)
			require.False(t, ids[m.ID], "id %q in %+v", m.ID, messages)
			ids[m.ID] = true
		}
		session := appendTurn(t, h, memory.Turn{Session: "s", Messages: messages})
		n := len(stored(t, h, "s"))
		require.Equal(t, int64(n), session.Messages)
		require.LessOrEqual(t, len(messages), n)
		again, err := h.FromLangChain(t.Context(), lea, "s", data)
		require.NoError(t, err, "again")
		require.Equal(t, session.Messages, again.Messages, "again")
	})
}
