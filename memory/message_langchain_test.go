package memory_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/memory"
)

// rows are lists as LangChain's programs wrote them.
var rows = []string{"langchain-py.json", "langchain-js.json"}

func readRow(tb testing.TB, name string) []json.RawMessage {
	tb.Helper()
	file, err := os.ReadFile("../llm/testdata/" + name)
	if err != nil {
		tb.Fatal(err)
	}
	var entries []json.RawMessage
	if err := json.Unmarshal(file, &entries); err != nil {
		tb.Fatal(err)
	}
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
	if err := d.Decode(&v); err != nil {
		tb.Fatalf("%v: %s", err, data)
	}
	text, err := json.Marshal(v)
	if err != nil {
		tb.Fatal(err)
	}
	return string(text)
}

func stored(tb testing.TB, h *memory.Conversations, id string) []json.RawMessage {
	tb.Helper()
	data, err := h.ToLangChain(tb.Context(), lea, id)
	if err != nil {
		tb.Fatal(err)
	}
	var entries []json.RawMessage
	if err := json.Unmarshal(data, &entries); err != nil {
		tb.Fatal(err)
	}
	return entries
}

// A row that Python wrote is read, appended to, and read back: what Python wrote is as it was,
// what was appended is behind it, and Python's next row with one more message makes one row more.
func TestRowOfPython(t *testing.T) {
	t.Parallel()
	for _, name := range rows {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHistory()
			python := readRow(t, name)
			session, err := h.FromLangChain(t.Context(), lea, "s", joinRow(python))
			if err != nil {
				t.Fatal(err)
			}
			if session.Messages != int64(len(python)) {
				t.Errorf("got %d messages want %d", session.Messages, len(python))
			}
			checkText(t, sorted(t, joinRow(stored(t, h, "s"))), sorted(t, joinRow(python)))

			// A turn in Go, saved with all that was read before.
			all := append(load(t, h, "s"), llm.User("And now?"), llm.Assistant("Now this."))
			for range 2 {
				appendTurn(t, h, memory.Turn{Session: "s", Messages: load(t, h, "s")})
			}
			appendTurn(t, h, memory.Turn{Session: "s", Messages: all})
			got := stored(t, h, "s")
			if len(got) != len(python)+2 {
				t.Fatalf("got %d messages want %d", len(got), len(python)+2)
			}
			checkText(t, sorted(t, joinRow(got[:len(python)])), sorted(t, joinRow(python)))
			checkText(t, texts(load(t, h, "s")[len(python):]), "user: And now? | assistant: Now this.")

			before, err := h.Load(t.Context(), lea, "s")
			if err != nil {
				t.Fatal(err)
			}
			longer := append(got, json.RawMessage(`{"type":"human","data":{"content":"From Python","id":null}}`))
			if _, err = h.FromLangChain(t.Context(), lea, "s", joinRow(longer)); err != nil {
				t.Fatal(err)
			}
			after, err := h.Load(t.Context(), lea, "s")
			if err != nil || len(after) != len(before)+1 {
				t.Fatalf("got %d messages and %v, want %d", len(after), err, len(before)+1)
			}
			for i := range before {
				if before[i].ID == "" || before[i].ID != after[i].ID || !before[i].At.Equal(after[i].At) {
					t.Errorf("message %d was stored again", i)
				}
			}
		})
	}
}

// A list that is another from some message on takes the place of what was there.
func TestRowChanged(t *testing.T) {
	t.Parallel()
	h := newHistory()
	write := func(row string) {
		t.Helper()
		if _, err := h.FromLangChain(t.Context(), lea, "s", []byte(row)); err != nil {
			t.Fatal(err)
		}
	}
	const one, two = `{"type":"human","data":{"content":"one","id":"1"}}`, `{"type":"ai","data":{"content":"two","id":"2"}}`
	write("[" + one + "," + two + "]")
	write("[" + one + "]")
	checkText(t, texts(load(t, h, "s")), "user: one")
	write("[" + two + "," + one + "]")
	checkText(t, texts(load(t, h, "s")), "assistant: two | user: one")
	write("[" + one + "," + one + "]") // of one id
	checkText(t, texts(load(t, h, "s")), "user: one | user: one")
	checkText(t, sorted(t, joinRow(stored(t, h, "s"))), sorted(t, []byte("["+one+","+one+"]")))
	write("[]")
	checkText(t, texts(load(t, h, "s")), "")
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
		if err := <-errs; err != nil && !errors.Is(err, memory.ErrConflict) {
			t.Error(err)
		}
	}
	checkText(t, texts(load(t, h, "s")), "user: one")
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
	if err != nil || session.Messages != 7 {
		t.Fatalf("got %+v, error %v", session, err)
	}
	checkText(t, sorted(t, joinRow(stored(t, h, "s"))), sorted(t, []byte(list)))
	checkText(t, texts(load(t, h, "s")), "user: one | assistant: two | user: three")
	loaded, err := h.Load(t.Context(), lea, "s")
	if err != nil || loaded[1].Position != 3 || loaded[2].Position != 7 {
		t.Errorf("got %+v, error %v", loaded, err)
	}
	last, err := h.Last(t.Context(), lea, "s", 3)
	if err != nil || len(last) != 1 || last[0].ID != "4" {
		t.Errorf("last: got %+v, error %v", last, err)
	}
	found, err := h.Search(t.Context(), memory.FindMessages{Query: memory.SessionQuery{Reach: lea.Only()}, Text: "a film, or two"})
	if err != nil || len(found) != 1 || found[0].Item.ID != "3" {
		t.Errorf("search: got %+v, error %v", found, err)
	}
	// A turn in Go, and then Python's list with one more message: what is there is not stored again.
	appendTurn(t, h, memory.Turn{Session: "s", Messages: append(load(t, h, "s"), llm.Assistant("four"))})
	longer := append(stored(t, h, "s"), json.RawMessage(`{"type":"video","data":{}}`))
	session, err = h.FromLangChain(t.Context(), lea, "s", joinRow(longer))
	if err != nil || session.Messages != 9 {
		t.Errorf("got %+v, error %v", session, err)
	}
	checkText(t, sorted(t, joinRow(stored(t, h, "s"))), sorted(t, joinRow(longer)))
	var out bytes.Buffer
	if err := h.Export(t.Context(), lea, &out); err != nil || !strings.Contains(out.String(), `"frames"`) {
		t.Errorf("export: got %s, error %v", out.String(), err)
	}
}

// Every type that the files of LangChain have, and that is known, is known here.
func TestKnownTypes(t *testing.T) {
	t.Parallel()
	h := newHistory()
	for i, name := range []string{
		"human", "HumanMessageChunk", "ai", "AIMessageChunk", "system", "SystemMessageChunk", "developer", "tool", "ToolMessageChunk", "function",
		"FunctionMessageChunk", "chat", "generic", "ChatMessageChunk",
	} {
		list := fmt.Sprintf(`[{"type":%q,"data":{"content":"text","role":"user","tool_call_id":"x","name":"x"}}]`, name)
		if _, err := h.FromLangChain(t.Context(), lea, fmt.Sprint(i), []byte(list)); err != nil || len(load(t, h, fmt.Sprint(i))) != 1 {
			t.Errorf("%s: not read, error %v", name, err)
		}
	}
	for _, bad := range []string{`[{"data":{}}]`, `[{"type":7,"data":{}}]`, `[1]`, `{}`, `[{"type":"remove","data":{"id":"x"}}]`, "[{\"type\":\"video\",\"data\":\"\xff\"}]", `[{"type":"human"}]`} {
		if _, err := h.FromLangChain(t.Context(), lea, "bad", []byte(bad)); !errors.Is(err, memory.ErrInvalid) {
			t.Errorf("%s: got %v", bad, err)
		}
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
			if !errors.Is(err, memory.ErrInvalid) {
				t.Fatal(err)
			}
			return
		}
		if string(bytes.TrimSpace(data)) == "null" {
			data = []byte("[]")
		}
		got, err := h.ToLangChain(t.Context(), lea, "s")
		if err != nil || sorted(t, got) != sorted(t, data) {
			t.Fatalf("got  %s\nwant %s\n%v", got, data, err)
		}
		messages := load(t, h, "s")
		ids := map[string]bool{}
		for _, m := range messages {
			if m.ID == "" || ids[m.ID] {
				t.Fatalf("id %q in %+v", m.ID, messages)
			}
			ids[m.ID] = true
		}
		session := appendTurn(t, h, memory.Turn{Session: "s", Messages: messages})
		if n := len(stored(t, h, "s")); session.Messages != int64(n) || len(messages) > n {
			t.Fatalf("%d messages, of which %d are read, became %d", n, len(messages), session.Messages)
		}
		if again, err := h.FromLangChain(t.Context(), lea, "s", data); err != nil || again.Messages != session.Messages {
			t.Fatalf("again: %+v, %v", again, err)
		}
	})
}
