package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/weft-go/weft/examples/chatapi/internal/api"
	"github.com/weft-go/weft/examples/chatapi/internal/store"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/llmtest"
	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/driver"
	"github.com/weft-go/weft/memory/extract"
)

// A session gets several messages, is listed and loaded, continues after a restart, and is deleted.
func TestSessions(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, c store.Config) {
		a := start(t, c, rules())
		first := a.ask("ann", "", "Remember that my dog is called Rex.")
		if first.Reply != "I will remember that your dog is called Rex." || first.SessionID == "" {
			t.Fatalf("got %+v", first)
		}
		other := a.ask("ann", "", "Hello there")
		if other.SessionID == first.SessionID {
			t.Errorf("two sessions have the id %s", other.SessionID)
		}
		again := a.ask("ann", first.SessionID, "What is my dog called?")
		if again.SessionID != first.SessionID || again.Reply != "You told me:\n- your dog is called Rex" {
			t.Errorf("got %+v", again)
		}
		want := "user: Remember that my dog is called Rex.\nassistant: I will remember that your dog is called Rex.\n" +
			"user: What is my dog called?\nassistant: You told me:\n- your dog is called Rex"
		if got := a.said("ann", first.SessionID); got != want {
			t.Errorf("got %s\nwant %s", got, want)
		}
		list := into[[]api.Session](t, a.do("GET", "/api/sessions?user_id=ann", ""), http.StatusOK)
		if len(list) != 2 || list[0].ID != first.SessionID || list[0].Title != "Remember that my dog is called Rex." || list[1].Title != "Hello there" {
			t.Errorf("got %+v", list)
		}
		a.end()

		a = start(t, c, rules()) // after a restart
		if got := a.ask("ann", first.SessionID, "hello again"); !strings.HasPrefix(got.Reply, `You said: "hello again".`) {
			t.Errorf("got %+v", got)
		}
		if got := a.said("ann", first.SessionID); !strings.HasPrefix(got, want+"\nuser: hello again\nassistant: ") {
			t.Errorf("got %s", got)
		}
		if r := a.do("DELETE", "/api/sessions/"+first.SessionID+"?user_id=ann", ""); r.status != http.StatusNoContent {
			t.Errorf("got %d %s", r.status, r.body)
		}
		for _, method := range []string{"GET", "DELETE"} {
			if r := a.do(method, "/api/sessions/"+first.SessionID+"?user_id=ann", ""); r.status != http.StatusNotFound {
				t.Errorf("%s: got %d %s", method, r.status, r.body)
			}
		}
		if r := a.do("POST", "/api/chat", asJSON(t, map[string]string{"message": "x", "user_id": "ann", "session_id": first.SessionID})); r.status != http.StatusNotFound {
			t.Errorf("got %d %s", r.status, r.body)
		}
	})
}

// A conversation of the chat page is a thread of the server. It is stored like a session of /api/chat, and
// both use the same memory.
func TestThread(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, c store.Config) {
		a := start(t, c, rules())
		id := a.thread()
		const first = "user: Remember that I live in Oslo.\nassistant: I will remember that you live in Oslo."
		r := a.do("POST", "/threads/"+id+"/runs/stream", input("Remember that I live in Oslo."))
		if streamed := streamed(t, r.body); streamed != "I will remember that you live in Oslo." {
			t.Errorf("streamed %q of %s", streamed, r.body)
		}
		if got := a.said("", id); got != first {
			t.Errorf("got %s", got)
		}
		if got := a.ask("", "", "Where do I live?"); got.Reply != "You told me:\n- you live in Oslo" {
			t.Errorf("got %+v", got)
		}
		if got := a.ask("", id, "Where do I live?"); got.SessionID != id {
			t.Errorf("got %+v", got)
		}
		a.do("POST", "/threads/"+id+"/runs/wait", input("hello"))
		state := into[struct {
			Values struct {
				Messages []struct{ Type string } `json:"messages"`
			} `json:"values"`
		}](t, a.do("GET", "/threads/"+id+"/state", ""), http.StatusOK)
		var roles []string
		for _, m := range state.Values.Messages {
			roles = append(roles, m.Type)
		}
		if got := strings.Join(roles, " "); got != "system human ai tool ai human ai tool ai human ai" { // the thread keeps the tool calls
			t.Errorf("got %s", got)
		}
		for path, status := range map[string]int{"/threads/" + id + "/state": 404, "/api/sessions/" + id: 404} {
			if r := a.as("another").do("GET", path, ""); r.status != status {
				t.Errorf("another got %d %s", r.status, r.body)
			}
		}
		if r := a.do("DELETE", "/threads/"+id, ""); r.status != http.StatusNoContent {
			t.Errorf("got %d %s", r.status, r.body)
		}
		if r := a.do("GET", "/api/sessions/"+id, ""); r.status != http.StatusNotFound {
			t.Errorf("the deleted thread is %d %s", r.status, r.body)
		}
	})
}

// streamed returns the text of the message chunks in a stream.
func streamed(t *testing.T, body string) string {
	t.Helper()
	var text strings.Builder
	for part := range strings.SplitSeq(strings.ReplaceAll(body, "\r\n", "\n"), "\n\n") {
		_, data, ok := strings.Cut(part, "event: messages\ndata: ")
		if !ok {
			continue
		}
		data, _, _ = strings.Cut(data, "\n")
		var piece []struct {
			Type    string `json:"type"`
			Content string `json:"content"`
		}
		if err := json.Unmarshal([]byte(data), &piece); err != nil {
			t.Fatalf("%v in %s", err, data)
		}
		if piece[0].Type == "AIMessageChunk" {
			text.WriteString(piece[0].Content)
		}
	}
	return text.String()
}

// If a user edits a message in the chat page, or asks for another answer, the stored conversation has the
// messages of the new branch, and the messages that other programs added.
func TestBranch(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, c store.Config) {
		model := llmtest.NewScript(llmtest.Say("one"), llmtest.Say("two"), llmtest.Say("two again"), llmtest.Say("three"), llmtest.Say("four"), llmtest.Say("five"))
		a := start(t, c, scripted(model))
		id := a.thread()
		run := func(request string) { a.do("POST", "/threads/"+id+"/runs/wait", request) }
		run(input("first"))
		history, err := memory.New(a.stores.Memory, memory.Options{})
		if err != nil {
			t.Fatal(err)
		}
		other := memory.Turn{Session: id, Messages: []llm.Message{llm.User("by another"), llm.Assistant("to another")}}
		if _, err := history.Conversations().Append(t.Context(), memory.Scope{}, other); err != nil {
			t.Fatal(err)
		}
		run(input("second"))
		before, with := a.checkpoints(id, "second")
		leaf := a.checkpoint(id)
		const foreign = "user: first\nassistant: one\nuser: by another\nassistant: to another"
		run(fmt.Sprintf(`{"assistant_id":"chat","input":null,"checkpoint":{"checkpoint_id":%q}}`, with)) // another answer
		if got := a.said("", id); got != foreign+"\nuser: second\nassistant: two again" {
			t.Errorf("another answer: got %s", got)
		}
		at := func(checkpoint, message string) string {
			return strings.Replace(input(message), "{", fmt.Sprintf(`{"checkpoint":{"checkpoint_id":%q},`, checkpoint), 1)
		}
		run(at(before, "edited"))
		if got := a.said("", id); got != foreign+"\nuser: edited\nassistant: three" {
			t.Errorf("an edit: got %s", got)
		}
		run(at(leaf, "third")) // the first branch continues
		if got := a.said("", id); got != foreign+"\nuser: second\nassistant: two\nuser: third\nassistant: four" {
			t.Errorf("the first branch: got %s", got)
		}
		before, _ = a.checkpoints(id, "first")
		run(at(before, "another first"))
		if got := a.said("", id); got != "user: by another\nassistant: to another\nuser: another first\nassistant: five" {
			t.Errorf("an edit of the first message: got %s", got)
		}
		if last := model.Requests()[5].Messages; last[0].Role != llm.RoleSystem || len(last) != 4 {
			t.Errorf("the model was sent %+v", last)
		}
	})
}

// checkpoints returns the newest checkpoint of a thread before a message, and the first checkpoint with
// the message.
func (a *app) checkpoints(thread, message string) (before, with string) {
	a.t.Helper()
	for _, h := range into[[]checkpoint](a.t, a.do("GET", "/threads/"+thread+"/history?limit=100", ""), http.StatusOK) {
		if !slices.ContainsFunc(h.Values.Messages, func(m said) bool { return m.Content == message }) {
			return h.Checkpoint.ID, with
		}
		with = h.Checkpoint.ID
	}
	return "", with
}

// checkpoint returns the newest checkpoint of a thread.
func (a *app) checkpoint(thread string) string {
	a.t.Helper()
	return into[checkpoint](a.t, a.do("GET", "/threads/"+thread+"/state", ""), http.StatusOK).Checkpoint.ID
}

type checkpoint struct {
	Checkpoint struct {
		ID string `json:"checkpoint_id"`
	} `json:"checkpoint"`
	Values struct {
		Messages []said `json:"messages"`
	} `json:"values"`
}

type said struct {
	Content string `json:"content"`
}

// A request to the model has the system prompt once, then the earlier messages, then the new message.
func TestInput(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, c store.Config) {
		model := llmtest.NewScript(
			llmtest.Say("one"),
			llmtest.Call("recall_memory", `{"query":"x"}`), llmtest.Say("two"),
			llmtest.Say("three"))
		a := start(t, c, scripted(model))
		id := a.ask("ann", "", "first").SessionID
		a.ask("ann", id, "second")
		a.ask("ann", id, "third")
		var got []string
		for _, r := range model.Requests() {
			var roles []string
			for i, m := range r.Messages {
				text := m.Text()
				if m.Role == llm.RoleSystem && i == 0 && strings.HasPrefix(text, "You help the users") {
					text = "prompt"
				}
				roles = append(roles, string(m.Role)+" "+text)
			}
			got = append(got, strings.Join(roles, ", "))
		}
		want := []string{
			"system prompt, user first",
			"system prompt, user first, assistant one, user second",
			"system prompt, user first, assistant one, user second, assistant , tool Nothing is known about this.",
			"system prompt, user first, assistant one, user second, assistant two, user third", // without the earlier tool call
		}
		if !slices.Equal(got, want) {
			t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		// Each message is stored once. The tool call and its result are not stored.
		session, err := a.service.Session(t.Context(), memory.Scope{User: "ann"}, id)
		if err != nil || session.Messages != 7 || session.Scope.User != "ann" {
			t.Errorf("got %+v, %v", session, err)
		}
		if got := a.said("ann", id); got != "user: first\nassistant: one\nuser: second\nassistant: two\nuser: third\nassistant: three" {
			t.Errorf("got %s", got)
		}
	})
}

// After the reply, the learner finds facts in the messages of a user. No other user or caller sees them.
func TestLearns(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, c store.Config) {
		a := start(t, c, rules())
		a.ask("ann", "", "I live in Oslo. I prefer short answers! Is it cold?")
		a.ask("bob", "", "I live in Bern.")
		a.ask("", "", "I live in Cairo.")
		a.as("another").ask("ann", "", "I live in Quito.")
		a.learned()
		for _, tt := range []struct{ token, user, message, want string }{
			{"", "ann", "Where do I live?", "You told me:\n- you live in Oslo"},
			{"", "bob", "Where do I live?", "You told me:\n- you live in Bern"},
			{"", "", "Where do I live?", "You told me:\n- you live in Cairo"},
			{"another", "ann", "Where do I live?", "You told me:\n- you live in Quito"},
			{"", "ann", "What do you know about me?", "You told me, the newest first:\n- you live in Oslo (DAY)\n- you prefer short answers (DAY)"},
		} {
			got := regexp.MustCompile(`\d{4}-\d\d-\d\d`).ReplaceAllString(a.as(tt.token).ask(tt.user, "", tt.message).Reply, "DAY")
			if lines := strings.Split(got, "\n"); len(lines) == 3 { // the facts may come in either order
				slices.Sort(lines[1:])
				got = strings.Join(lines, "\n")
			}
			if got != tt.want {
				t.Errorf("%s as %q: got %s", tt.user, tt.token, got)
			}
		}
	})
}

// An extractor or a queue that fails does not change a reply.
func TestLearningFails(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, c store.Config) {
		o := rules()
		tried := make(chan struct{}, 100)
		o.Extractor = extract.ExtractorFunc(func(context.Context, extract.Turn) ([]extract.Proposal, error) {
			tried <- struct{}{}
			panicked := errors.New("the model is away")
			return nil, panicked
		})
		stores, err := store.Open(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		away := *stores
		m := stores.Memory
		away.Memory = driver.Stores{
			FactStore: m.Facts(), ValueStore: m.Values(), DocumentStore: m.Documents(),
			ConversationStore: m.Conversations(), TurnStore: brokenQueue{m.Turns()},
		}
		s := start(t, c, o)
		got := s.ask("ann", "", "Remember that I live in Oslo")
		<-tried
		if got.Reply != "I will remember that you live in Oslo." || s.said("ann", got.SessionID) == "" {
			t.Errorf("got %+v", got)
		}
		b := startOn(t, &away, rules())
		b.stores = stores
		got = b.ask("bob", "", "Remember that I live in Bern")
		if got.Reply != "I will remember that you live in Bern." || b.said("bob", got.SessionID) == "" {
			t.Errorf("got %+v", got)
		}
	})
}

// brokenQueue is a queue whose Enqueue fails.
type brokenQueue struct{ driver.TurnStore }

func (brokenQueue) Enqueue(context.Context, extract.Job) error {
	return errors.New("the queue is away")
}

func (brokenQueue) Count(context.Context) (extract.Counts, error) { return extract.Counts{}, nil }

// The command ingests documents, and every user finds them. A second run on the same files changes
// nothing.
func TestIngest(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, c store.Config) {
		folder := t.TempDir()
		write := func(name, text string) {
			if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		write("handbook.md", "# Handbook\n\n## Notice\n\nThe notice period is three months to the end of a quarter.\n\n## Travel\n\nTrains are booked in second class.\n")
		write("faq.json", `[{"question":"When is the office open?","answer":"The office opens at nine."}]`)
		write("picture.png", "\x89PNG")
		for i, want := range []string{"2 documents: 2 added, 0 updated, 0 unchanged", "2 documents: 0 added, 0 updated, 2 unchanged", "2 documents: 0 added, 1 updated, 1 unchanged"} {
			if i == 2 {
				write("handbook.md", "# Handbook\n\n## Notice\n\nThe notice period is four months.\n")
			}
			var out strings.Builder
			if err := ingest(t.Context(), config{store: c}, folder, false, &out); err != nil || !strings.HasPrefix(out.String(), want) {
				t.Errorf("got %s, %v", &out, err)
			}
		}
		a := start(t, c, rules())
		for _, b := range []*app{a, a.as("another")} {
			if got := b.ask("ann", "", "What is the notice period?").Reply; got != "The notice period is four months. (handbook.md, Handbook > Notice)" {
				t.Errorf("got %s", got)
			}
			if got := b.ask("", "", "When does the office open?").Reply; !strings.Contains(got, "The office opens at nine.") || !strings.HasSuffix(got, "(faq.json, 0)") {
				t.Errorf("got %s", got)
			}
			if got := b.ask("", "", "Who won the match between Bern and Oslo?").Reply; got != "I found no passage with all words of your question." {
				t.Errorf("got %s", got)
			}
		}
		if err := ingest(t.Context(), config{store: c}, filepath.Join(folder, "nothing"), false, &strings.Builder{}); err == nil {
			t.Error("a folder that is not there was taken in")
		}
		if err := ingest(t.Context(), config{}, folder, false, &strings.Builder{}); err == nil {
			t.Error("documents were taken in to nowhere")
		}
	})
}

func TestUserContext(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, c store.Config) {
		a := start(t, c, rules())
		const none = "Nothing is known about the plan, usage or preferences of this user."
		if got := a.ask("ann", "", "What is my plan?").Reply; got != none {
			t.Errorf("got %s", got)
		}
		r := a.do("PUT", "/api/context", `{"user_id":"ann","plan":"pro","usage":{"requests":120},"preferences":"short answers"}`)
		if r.status != http.StatusOK {
			t.Fatalf("got %d %s", r.status, r.body)
		}
		if got := a.do("GET", "/api/context?user_id=ann", ""); got.body != r.body {
			t.Errorf("got %s want %s", got.body, r.body)
		}
		want := "Plan: pro\nUsage: requests: 120\nPreferences: short answers"
		if got := a.ask("ann", "", "What is my plan?").Reply; got != want {
			t.Errorf("got %s", got)
		}
		for _, other := range []string{a.ask("bob", "", "What is my plan?").Reply, a.as("another").ask("ann", "", "What is my plan?").Reply} {
			if other != none {
				t.Errorf("another got %s", other)
			}
		}
		for _, bad := range []string{`{"plan":"pro"}`, `{"user_id":"ann","plan":"` + strings.Repeat("x", 101) + `"}`, `{"user_id":"ann","usage":3`, `{"user_id":"` + strings.Repeat("x", 600) + `"}`, `{"user_id":"ann","usage":7}`} {
			if r := a.do("PUT", "/api/context", bad); r.status != http.StatusBadRequest {
				t.Errorf("%.60s: got %d %s", bad, r.status, r.body)
			}
		}
	})
}

// Without a store, the agent answers, stores nothing, and has no tools.
func TestNothingIsKept(t *testing.T) {
	t.Parallel()
	var offered []llm.ToolSpec
	model := llm.ModelFunc(func(_ context.Context, r llm.Request) iter.Seq2[llm.Chunk, error] {
		offered = append(offered, r.Tools...)
		return llm.Reply(llm.Assistant("I heard " + r.Messages[len(r.Messages)-1].Text()))
	})
	a := start(t, store.Config{}, scripted(model))
	first := a.ask("ann", "", "one")
	if second := a.ask("ann", first.SessionID, "two"); first.Reply != "I heard one" || second.Reply != "I heard two" || second.SessionID != first.SessionID {
		t.Errorf("got %+v and %+v", first, second)
	}
	if got := a.said("ann", first.SessionID); got != "" || len(offered) > 0 {
		t.Errorf("kept is %q, offered %v", got, offered)
	}
	thread := a.thread() // the server keeps it in process memory
	a.do("POST", "/threads/"+thread+"/runs/wait", input("three"))
	if r := a.do("GET", "/threads/"+thread+"/state", ""); !strings.Contains(r.body, "I heard three") {
		t.Errorf("got %s", r.body)
	}
	b := start(t, store.Config{}, rules())
	if got := b.ask("", "", "Remember that my dog is called Rex").Reply; !strings.Contains(got, "I have no memory and no documents here") {
		t.Errorf("got %s", got)
	}
}

// The routes of /api/memories list and delete the facts about one user, and no facts about others.
func TestMemories(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, c store.Config) {
		a := start(t, c, rules())
		a.ask("ann", "", "Remember that my dog is called Rex.")
		a.ask("ann", "", "Remember that I live in Oslo.")
		a.ask("bob", "", "Remember that my cat is called Tom.")
		list := into[[]api.Memory](t, a.do("GET", "/api/memories?user_id=ann", ""), http.StatusOK)
		if len(list) != 2 || list[0].Content != "I live in Oslo" || list[0].Since.IsZero() {
			t.Fatalf("got %+v", list)
		}
		if others := into[[]api.Memory](t, a.as("another").do("GET", "/api/memories?user_id=ann", ""), http.StatusOK); len(others) != 0 {
			t.Errorf("another caller sees %+v", others)
		}
		for _, step := range []struct {
			path string
			want int
		}{{"/api/memories/" + list[0].ID + "?user_id=bob", 0}, {"/api/memories/" + list[0].ID + "?user_id=ann", 1}, {"/api/memories/none?user_id=ann", 0}, {"/api/memories?user_id=ann", 1}} {
			if got := into[map[string]int](t, a.do("DELETE", step.path, ""), http.StatusOK)["forgotten"]; got != step.want {
				t.Errorf("%s: %d were forgotten, want %d", step.path, got, step.want)
			}
		}
		if got := a.ask("ann", "", "What is my dog called?").Reply; strings.Contains(got, "Rex") {
			t.Errorf("got %s", got)
		}
		if got := a.ask("bob", "", "What is my cat called?").Reply; !strings.Contains(got, "Tom") {
			t.Errorf("got %s", got)
		}
	})
}
