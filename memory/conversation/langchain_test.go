package conversation_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"testing"

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/conversation"
)

// rows are lists as LangChain's programs wrote them.
var rows = []string{"langchain-py.json", "langchain-js.json"}

func readRow(tb testing.TB, name string) []json.RawMessage {
	tb.Helper()
	file, err := os.ReadFile("../../llm/testdata/" + name)
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

// sorted writes a value so that equal ones are equal texts.
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

func stored(tb testing.TB, h *conversation.History, id string) []json.RawMessage {
	tb.Helper()
	data, err := h.ToLangChain(tb.Context(), ann, id)
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
			session, err := h.FromLangChain(t.Context(), ann, "s", joinRow(python))
			if err != nil {
				t.Fatal(err)
			}
			if session.Messages != int64(len(python)) {
				t.Errorf("got %d messages want %d", session.Messages, len(python))
			}
			check(t, sorted(t, joinRow(stored(t, h, "s"))), sorted(t, joinRow(python)))

			// A turn in Go, saved with all that was read before.
			all := append(load(t, h, "s"), llm.User("And now?"), llm.Assistant("Now this."))
			for range 2 {
				appendTurn(t, h, conversation.Turn{Session: "s", Messages: load(t, h, "s")})
			}
			appendTurn(t, h, conversation.Turn{Session: "s", Messages: all})
			got := stored(t, h, "s")
			if len(got) != len(python)+2 {
				t.Fatalf("got %d messages want %d", len(got), len(python)+2)
			}
			check(t, sorted(t, joinRow(got[:len(python)])), sorted(t, joinRow(python)))
			check(t, texts(load(t, h, "s")[len(python):]), "user: And now? | assistant: Now this.")

			before, err := h.Load(t.Context(), ann, "s")
			if err != nil {
				t.Fatal(err)
			}
			longer := append(got, json.RawMessage(`{"type":"human","data":{"content":"From Python","id":null}}`))
			if _, err = h.FromLangChain(t.Context(), ann, "s", joinRow(longer)); err != nil {
				t.Fatal(err)
			}
			after, err := h.Load(t.Context(), ann, "s")
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
		if _, err := h.FromLangChain(t.Context(), ann, "s", []byte(row)); err != nil {
			t.Fatal(err)
		}
	}
	const one, two = `{"type":"human","data":{"content":"one","id":"1"}}`, `{"type":"ai","data":{"content":"two","id":"2"}}`
	write("[" + one + "," + two + "]")
	write("[" + one + "]")
	check(t, texts(load(t, h, "s")), "user: one")
	write("[" + two + "," + one + "]")
	check(t, texts(load(t, h, "s")), "assistant: two | user: one")
	write("[" + one + "," + one + "]") // of one id
	check(t, texts(load(t, h, "s")), "user: one | user: one")
	check(t, sorted(t, joinRow(stored(t, h, "s"))), sorted(t, []byte("["+one+","+one+"]")))
	write("null")
	check(t, texts(load(t, h, "s")), "")
}

// Of those who write a list at once, all but one see that they have to read again.
func TestRowConflict(t *testing.T) {
	t.Parallel()
	h := newHistory()
	errs := make(chan error, 16)
	for range cap(errs) {
		go func() {
			_, err := h.FromLangChain(t.Context(), ann, "s", []byte(`[{"type":"human","data":{"content":"one"}}]`))
			errs <- err
		}()
	}
	for range cap(errs) {
		if err := <-errs; err != nil && !errors.Is(err, memory.ErrConflict) {
			t.Error(err)
		}
	}
	check(t, texts(load(t, h, "s")), "user: one")
}

// FuzzFromLangChain wants whatever is stored to come back as it was, and to be readable.
func FuzzFromLangChain(f *testing.F) {
	for _, name := range append(rows, "langchain-odd.json") {
		entries := readRow(f, name)
		for _, entry := range entries {
			f.Add(joinRow([]json.RawMessage{entry}))
		}
		f.Add(joinRow(entries))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		h := newHistory()
		if _, err := h.FromLangChain(t.Context(), ann, "s", data); err != nil {
			if !errors.Is(err, memory.ErrInvalid) {
				t.Fatal(err)
			}
			return
		}
		if string(bytes.TrimSpace(data)) == "null" {
			data = []byte("[]")
		}
		got, err := h.ToLangChain(t.Context(), ann, "s")
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
		session := appendTurn(t, h, conversation.Turn{Session: "s", Messages: messages})
		if session.Messages != int64(len(messages)) {
			t.Fatalf("%d messages became %d", len(messages), session.Messages)
		}
		if again, err := h.FromLangChain(t.Context(), ann, "s", data); err != nil || again.Messages != session.Messages {
			t.Fatalf("again: %+v, %v", again, err)
		}
	})
}
