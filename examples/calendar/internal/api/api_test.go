package api_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/examples/calendar/internal/api"
	"github.com/weft-go/weft/examples/calendar/internal/assistant"
	"github.com/weft-go/weft/examples/calendar/internal/desk"
	"github.com/weft-go/weft/examples/calendar/internal/ics"
	"github.com/weft-go/weft/examples/calendar/internal/offline"
	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/llm"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// site is a server, and a client of it.
type site struct {
	t     *testing.T
	url   string
	token string
	file  *ics.File
	serve func(model llm.Model) *site // the same data, served anew
}

func newSite(t *testing.T, model llm.Model) *site {
	t.Helper()
	path := filepath.Join(t.TempDir(), "c.ics")
	if err := desk.SampleCalendar(path, time.Now()); err != nil {
		t.Fatal(err)
	}
	file, err := ics.Open(path, time.Local)
	if err != nil {
		t.Fatal(err)
	}
	d, err := desk.Open(t.Context(), file, path+".db", time.Now)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := d.Sample(t.Context()); err != nil {
		t.Fatal(err)
	}
	set, err := d.Tools()
	if err != nil {
		t.Fatal(err)
	}
	store := memcheckpoint.New(memcheckpoint.Options{})
	var serve func(model llm.Model) *site
	serve = func(model llm.Model) *site {
		g, err := assistant.New(model, set, d.Describe, store)
		if err != nil {
			t.Fatal(err)
		}
		server := httptest.NewServer(api.New(g, store, nil))
		t.Cleanup(server.Close)
		return &site{t: t, url: server.URL, file: file, serve: serve}
	}
	return serve(model)
}

// ask asks for something, and returns the answer's status and body.
func (s *site) ask(method, path, body string) (int, string) {
	s.t.Helper()
	r := s.begin(s.t.Context(), method, path, body)
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return r.StatusCode, string(text)
}

func (s *site) begin(ctx context.Context, method, path, body string) *http.Response {
	s.t.Helper()
	r, err := http.NewRequestWithContext(ctx, method, s.url+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	if strings.HasPrefix(body, "text:") {
		r.Header.Set("Content-Type", "text/plain")
	}
	if s.token != "" {
		r.Header.Set("Authorization", "Bearer "+s.token)
	}
	out, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	return out
}

// session begins a session, and returns its path.
func (s *site) session() string {
	s.t.Helper()
	status, text := s.ask("POST", "/api/sessions", `{}`)
	var in struct{ ID string }
	if err := json.Unmarshal([]byte(text), &in); err != nil || status != http.StatusCreated || in.ID == "" {
		s.t.Fatalf("got %d %s", status, text)
	}
	return "/api/sessions/" + in.ID
}

// said is what a stream of events says: its text, and its question.
func said(t *testing.T, events string) (text string, question *agent.Chunk) {
	t.Helper()
	for line := range strings.Lines(events) {
		data, ok := strings.CutPrefix(line, "data: ")
		if !ok {
			continue
		}
		var c agent.Chunk
		if err := json.Unmarshal([]byte(data), &c); err != nil {
			t.Fatal(err)
		}
		switch c.Kind {
		case agent.ChunkText:
			text += c.Text
		case agent.ChunkPause:
			question = &c
		}
	}
	return text, question
}

func (s *site) say(path, message string) (text string, question *agent.Chunk) {
	s.t.Helper()
	body, err := json.Marshal(map[string]string{"message": message})
	if err != nil {
		s.t.Fatal(err)
	}
	status, events := s.ask("POST", path+"/messages", string(body))
	if status != http.StatusOK {
		s.t.Fatalf("got %d %s", status, events)
	}
	return said(s.t, events)
}

func (s *site) has(title string) bool {
	s.t.Helper()
	events, err := s.file.Between(time.Now(), time.Now().AddDate(0, 0, 10))
	if err != nil {
		s.t.Fatal(err)
	}
	return slices.ContainsFunc(events, func(e ics.Event) bool { return e.Title == title })
}

func answerTo(c *agent.Chunk, text string) string {
	return `{"id":"` + c.Pause.ID + `","answer":"` + text + `"}`
}

// A conversation: an answer, a question that is shown again when the session is
// opened, by another server, and the answer to it.
func TestConversation(t *testing.T) {
	t.Parallel()
	s := newSite(t, offline.New(0))
	path := s.session()
	if text, _ := s.say(path, "what are my tasks?"); text != "Your tasks:\n  - Return the library book\n  - Prepare the slides for John" {
		t.Errorf("got %q", text)
	}
	text, question := s.say(path, "delete my meeting with John")
	if text != "" || question == nil || !strings.HasPrefix(question.Text, "This will delete the calendar event: 'Meeting with John' on ") || question.Pause.ID == "" {
		t.Fatalf("got %q and %+v", text, question)
	}
	s = s.serve(offline.New(0))
	status, body := s.ask("GET", path, "")
	var thread struct {
		Title      string
		Messages   []struct{ Role, Text string }
		Waits      []agent.Chunk
		Unfinished bool
	}
	if err := json.Unmarshal([]byte(body), &thread); err != nil || status != http.StatusOK {
		t.Fatalf("got %d %s", status, body)
	}
	if strings.Contains(body, "That is all.") {
		t.Errorf("the planner's words are shown: %s", body)
	}
	if len(thread.Waits) != 1 || thread.Waits[0].Text != question.Text || thread.Waits[0].Pause.ID != question.Pause.ID || thread.Unfinished || thread.Title != "what are my tasks?" {
		t.Errorf("got %s", body)
	}
	for _, wrong := range []string{answerTo(question, "yes")[:10] + `0` + answerTo(question, "yes")[10:], `{"id":"","answer":"yes"}`} {
		if status, body := s.ask("POST", path+"/answers", wrong); status != http.StatusConflict || !s.has("Meeting with John") {
			t.Errorf("got %d %s", status, body)
		}
	}
	status, events := s.ask("POST", path+"/answers", answerTo(question, "yes"))
	if text, _ := said(t, events); status != http.StatusOK || !strings.HasPrefix(text, "I've deleted your meeting with John") || s.has("Meeting with John") {
		t.Errorf("got %d %s", status, events)
	}
	for _, again := range []string{"/answers", "/resume"} {
		if status, body := s.ask("POST", path+again, answerTo(question, "yes")); status != http.StatusConflict {
			t.Errorf("got %d %s", status, body)
		}
	}
	// A message is an answer as well, and anything but a yes is a no.
	if _, question := s.say(path, "cancel the dentist"); question == nil {
		t.Fatal("it does not ask")
	}
	if text, question := s.say(path, "what else is there?"); text != "Cancelled: I have not done it." || question != nil || !s.has("Dentist") {
		t.Errorf("got %q", text)
	}
	if status, body := s.ask("GET", "/api/sessions", ""); status != http.StatusOK || !strings.Contains(body, `"title":"what are my tasks?"`) {
		t.Errorf("got %d %s", status, body)
	}
}

func TestBadRequests(t *testing.T) {
	t.Parallel()
	s := newSite(t, offline.New(0))
	path := s.session()
	for _, test := range []struct {
		name, method, path, body string
		status                   int
	}{
		{"no JSON", "POST", path + "/messages", `{"message":`, 400},
		{"an unknown field", "POST", path + "/messages", `{"massage":"hi"}`, 400},
		{"two values", "POST", path + "/messages", `{"message":"hi"}{}`, 400},
		{"another type", "POST", path + "/messages", `{"message":7}`, 400},
		{"nothing said", "POST", path + "/messages", `{"message":" "}`, 400},
		{"too large", "POST", path + "/messages", `{"message":"` + strings.Repeat("x", 33<<10) + `"}`, 413},
		{"another content type", "POST", path + "/messages", `text:{"message":"hi"}`, 415},
		{"an unknown session", "POST", "/api/sessions/none/messages", `{"message":"hi"}`, 404},
		{"an unknown session, shown", "GET", "/api/sessions/none", ``, 404},
		{"a session outside of the caller's", "GET", "/api/sessions/..%2F..%2Fother", ``, 404},
		{"no question", "POST", path + "/answers", `{"id":"x","answer":"yes"}`, 409},
		{"nothing unfinished", "POST", path + "/resume", ``, 409},
		{"another method", "DELETE", path, ``, 405},
		{"another path", "GET", "/api/nothing", ``, 404},
	} {
		if status, body := s.ask(test.method, test.path, test.body); status != test.status || status != 404 && status != 405 && !strings.Contains(body, `"error":`) {
			t.Errorf("%s: got %d %s, want %d", test.name, status, body, test.status)
		}
	}
	if _, body := s.ask("GET", path, ""); strings.Contains(body, `"role"`) {
		t.Errorf("something was stored: %s", body)
	}
	// Who has another token has other sessions.
	s.token = "a secret"
	if status, _ := s.ask("GET", path, ""); status != http.StatusNotFound {
		t.Errorf("a foreign session: got %d", status)
	}
	if _, body := s.ask("GET", "/api/sessions", ""); strings.TrimSpace(body) != "[]" {
		t.Errorf("foreign sessions: got %s", body)
	}
}

// held is a model that waits until it is let go.
func held(asked chan<- struct{}, let <-chan struct{}) llm.ModelFunc {
	return func(ctx context.Context, r llm.Request) iter.Seq2[llm.Chunk, error] {
		return func(yield func(llm.Chunk, error) bool) {
			select {
			case asked <- struct{}{}:
			default:
			}
			select {
			case <-let:
			case <-ctx.Done():
				yield(llm.Chunk{}, ctx.Err())
				return
			}
			for c, err := range offline.New(0).Stream(ctx, r) {
				if !yield(c, err) {
					return
				}
			}
		}
	}
}

// A second request is told that the session is busy. A client that hangs up ends
// its run, which can be resumed; nothing is lost.
func TestBusyAndGone(t *testing.T) {
	t.Parallel()
	asked, let := make(chan struct{}, 1), make(chan struct{})
	s := newSite(t, held(asked, let))
	path := s.session()
	ctx, hangUp := context.WithCancel(t.Context())
	r := s.begin(ctx, "POST", path+"/messages", `{"message":"add a task to rest"}`)
	<-asked
	if status, body := s.ask("POST", path+"/messages", `{"message":"hello"}`); status != http.StatusConflict || !strings.Contains(body, "error") {
		t.Errorf("got %d %s", status, body)
	}
	if line, err := bufio.NewReader(r.Body).ReadString('\n'); err != nil || !strings.HasPrefix(line, "event: ") {
		t.Errorf("got %q, %v", line, err)
	}
	hangUp()
	if err := r.Body.Close(); err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	close(let)
	status, events := http.StatusConflict, "" // until the server has noticed
	for start := time.Now(); status == http.StatusConflict && time.Since(start) < 20*time.Second; {
		status, events = s.ask("POST", path+"/resume", "")
	}
	if text, _ := said(t, events); status != http.StatusOK || text != "I've added the task 'rest'." {
		t.Errorf("got %d %s", status, events)
	}
	if status, body := s.ask("GET", path, ""); status != http.StatusOK || strings.Count(body, "add a task to rest") < 1 {
		t.Errorf("got %d %s", status, body)
	}
}

// The page is there, and draws this graph.
func TestPage(t *testing.T) {
	t.Parallel()
	s := newSite(t, offline.New(0))
	if status, body := s.ask("GET", "/", ""); status != http.StatusOK || !strings.Contains(body, "<main>") {
		t.Errorf("got %d %s", status, body)
	}
	if status, body := s.ask("GET", "/page.json", ""); status != http.StatusOK || !strings.Contains(body, assistant.ConfirmActions) {
		t.Errorf("got %d %s", status, body)
	}
}
