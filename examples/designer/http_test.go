package main

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"github.com/weft-go/weft/examples/designer/internal/kai"
	"github.com/weft-go/weft/examples/internal/page"
)

// What can not be done has a status and a message, and changes nothing.
func TestBadInput(t *testing.T) {
	t.Parallel()
	for name, newStore := range storesOf {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStore(t).serve(t)
			s.token = "ann"
			mine := sessionOf(t, s)
			quote := s.result(t, `{"message":"quote 2 of P042"}`)
			answer := func(id, hash string) string {
				return `{"id":"` + id + `","answer":{"verdict":"approve","hash":"` + hash + `"}}`
			}
			tests := []struct {
				name, method, path, body, token string
				status                          int
				want                            string
			}{
				{"wrong JSON", "POST", "/api/agents/kai", `{"message":`, "ann", 400, "unexpected EOF"},
				{"no JSON", "POST", "/api/agents/kai", `hello`, "ann", 400, "Invalid request format"},
				{"a wrong type", "POST", "/api/agents/kai", `{"message":7}`, "ann", 400, "message of type string"},
				{"an unknown field", "POST", "/api/sessions/" + mine + "/messages", `{"massage":"x"}`, "ann", 400, "massage"},
				{"an empty message", "POST", "/api/sessions/" + mine + "/messages", `{"message":"  "}`, "ann", 400, "message: is empty"},
				{"a long message", "POST", "/api/sessions/" + mine + "/messages", messageBody(strings.Repeat("x", 20_001)), "ann", 413, "at most 20000 bytes"},
				{"a large body", "POST", "/api/agents/kai", messageBody(strings.Repeat("x", 70_000)), "ann", 413, "at most 65536 bytes"},
				{"an unknown agent", "POST", "/api/agents/x", `{"message":"x"}`, "ann", 404, "no such agent"},
				{"a session of an unknown agent", "POST", "/api/sessions", `{"agentId":"x"}`, "ann", 404, "no such agent"},
				{"an unknown session", "POST", "/api/sessions/none/messages", `{"message":"x"}`, "ann", 404, "no such session"},
				{"a foreign session", "POST", "/api/sessions/" + mine + "/messages", `{"message":"x"}`, "bob", 404, "no such session"},
				{"a foreign session without a token", "GET", "/api/sessions/" + mine, "", "", 404, "no such session"},
				{"a foreign conversation", "POST", "/api/agents/kai", `{"message":"x","conversationId":"` + mine + `"}`, "bob", 404, "no such session"},
				{"a conversation of another agent", "POST", "/api/agents/scout", `{"message":"x","conversationId":"` + mine + `"}`, "ann", 404, "no such session"},
				{"a foreign answer", "POST", "/api/sessions/" + quote.ConversationID + "/answers", answer(quote.Waits[0].ID, quote.Waits[0].Question.Hash), "bob", 404, "no such session"},
				{"a foreign deletion", "DELETE", "/api/sessions/" + mine, "", "bob", 404, "no such session"},
				{"a path that escapes", "GET", "/api/scenes/..%2f..%2fetc%2fpasswd", "", "ann", 404, "no such scene"},
				{"a session that escapes", "GET", "/api/sessions/..%2f..", "", "ann", 404, "no such session"},
				{"a question that is not open", "POST", "/api/sessions/" + quote.ConversationID + "/answers", answer("x", "y"), "ann", 409, "not open"},
				{"nothing to go on with", "POST", "/api/sessions/" + mine + "/resume", "", "ann", 409, "nothing to go on with"},
				{"an unknown kind of memory", "POST", "/api/memories", `{"type":"mood","content":"x"}`, "ann", 400, "mood"},
				{"an empty memory", "POST", "/api/memories", `{"type":"fact","content":""}`, "ann", 400, "Invalid"},
				{"a list of an unknown kind", "GET", "/api/memories?type=mood", "", "ann", 400, "mood"},
				{"an unknown memory", "DELETE", "/api/memories/11111111-1111-4111-8111-111111111111", "", "ann", 404, "no such memory"},
				{"no address", "GET", "/api/nothing", "", "ann", 404, "no such address"},
				{"a wrong method", "PUT", "/api/agents/kai", `{}`, "ann", 404, ""},
			}
			for _, tt := range tests {
				s.token = tt.token
				if status, body := s.get(t, tt.method, tt.path, tt.body); status != tt.status || !strings.Contains(body, tt.want) || strings.Contains(body, "sql") {
					t.Errorf("%s: %d %s, want %d and %q", tt.name, status, body, tt.status, tt.want)
				}
			}
			r, err := http.NewRequestWithContext(t.Context(), "POST", s.url+"/api/agents/kai", strings.NewReader("message=x"))
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			res, err := s.client.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			res.Body.Close()
			if res.StatusCode != http.StatusUnsupportedMediaType {
				t.Errorf("another content type: %d, want 415", res.StatusCode)
			}
			s.token = "ann"
			if _, body := s.get(t, "GET", "/api/orders", ""); body != "[]\n" {
				t.Errorf("something was ordered: %s", body)
			}
			again := s.result(t, `{"message":"hello","conversationId":"`+mine+`"}`)
			if again.Turns != 1 {
				t.Errorf("the conversation had %d turns before, want none", again.Turns-1)
			}
		})
	}
}

// Everything that a person does, over HTTP: with a token, nobody else sees it.
func TestConversation(t *testing.T) {
	t.Parallel()
	for name, newStore := range storesOf {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStore(t).serve(t)
			s.token = "ann"
			id := sessionOf(t, s)
			_, events := s.get(t, "POST", "/api/sessions/"+id+"/messages", messageBody("find marble floor tiles and make a 3D scene of them"))
			for _, want := range []string{"event: products\n", "event: approval\n", "event: end\n", `"reason":"approval"`} {
				if !strings.Contains(events, want) {
					t.Errorf("the events have no %q: %s", want, events)
				}
			}
			var thread page.Thread
			_, body := s.get(t, "GET", "/api/sessions/"+id, "")
			if err := json.Unmarshal([]byte(body), &thread); err != nil || len(thread.Waits) != 1 || thread.Waits[0].Question.Tool != "generate3D" {
				t.Fatalf("the thread is %s, %v", body, err)
			}
			w := kai.Wait{ID: thread.Waits[0].Pause.ID, Question: *thread.Waits[0].Question}
			_, events = s.get(t, "POST", "/api/sessions/"+id+"/answers", approve(t, w))
			for _, want := range []string{"event: generation_job\n", "event: final_response\n", `"reason":"answered"`, `"generationJob":{`} {
				if !strings.Contains(events, want) {
					t.Errorf("the events have no %q: %s", want, events)
				}
			}
			if status, _ := s.get(t, "POST", "/api/sessions/"+id+"/answers", approve(t, w)); status != 409 {
				t.Errorf("the second answer: %d, want 409", status)
			}
			_, rest, _ := strings.Cut(events, `"url":"`)
			url, _, _ := strings.Cut(rest, `"`)
			if status, scene := s.get(t, "GET", url, ""); status != 200 || strings.Count(scene, "\no ") != 5 {
				t.Errorf("the scene: %d, %s", status, scene)
			}
			status, made := s.get(t, "POST", "/api/memories", `{"type":"fact","content":"Works on a hotel lobby"}`)
			if status != 201 {
				t.Errorf("a memory: %d %s", status, made)
			}
			if r := s.result(t, messageBody("what do you know about me?")); !strings.Contains(*r.Response, "Works on a hotel lobby") {
				t.Errorf("got %s", *r.Response)
			}
			s.token = "bob"
			for path, want := range map[string]string{"/api/sessions": "[]", "/api/memories": "[]", url: "no such scene"} {
				if _, body := s.get(t, "GET", path, ""); !strings.Contains(body, want) {
					t.Errorf("bob sees %s at %s", body, path)
				}
			}
			s.token = "ann"
			var memory struct{ ID string }
			if err := json.Unmarshal([]byte(made), &memory); err != nil {
				t.Fatal(err)
			}
			for path, want := range map[string]int{"/api/memories/" + memory.ID: 204, "/api/sessions/" + id: 204} {
				if status, body := s.get(t, "DELETE", path, ""); status != want {
					t.Errorf("delete %s: %d %s", path, status, body)
				}
				if status, _ := s.get(t, "DELETE", path, ""); status != 404 {
					t.Errorf("delete %s again: %d", path, status)
				}
			}
			if status, body := s.get(t, "GET", "/", ""); status != 200 || !strings.Contains(body, "<main>") {
				t.Errorf("the page: %d", status)
			}
			if _, body := s.get(t, "GET", "/page.json", ""); !strings.Contains(body, `"human_approval"`) {
				t.Errorf("the page draws %s", body)
			}
		})
	}
}

// readUntil reads events until one of a name comes.
func readUntil(t *testing.T, r io.Reader, name string) {
	t.Helper()
	for lines := bufio.NewScanner(r); lines.Scan(); {
		if lines.Text() == "event: "+name {
			return
		}
	}
	t.Fatalf("there was no event %s", name)
}

// A second request on a busy conversation is refused, and the first one is not disturbed. A client that
// hangs up ends its run, which can be resumed.
func TestBusyAndHangUp(t *testing.T) {
	t.Parallel()
	for name, newStore := range storesOf {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStore(t).serve(t, "-pace", "40ms")
			id := sessionOf(t, s)
			first := s.ask(t, "POST", "/api/sessions/"+id+"/messages", messageBody("find oak chairs"))
			readUntil(t, first.Body, "text")
			for _, path := range []string{"/messages", "/resume"} {
				if status, body := s.get(t, "POST", "/api/sessions/"+id+path, messageBody("me too")); status != 409 || !strings.Contains(body, "busy") {
					t.Errorf("%s: %d %s, want 409", path, status, body)
				}
			}
			readUntil(t, first.Body, "end")
			first.Body.Close()
			second := s.ask(t, "POST", "/api/sessions/"+id+"/messages", messageBody("find walnut armchairs"))
			readUntil(t, second.Body, "text")
			second.Body.Close()
			var thread page.Thread
			for !thread.Unfinished || thread.Messages == nil { // the server notices when it writes next
				_, body := s.get(t, "GET", "/api/sessions/"+id, "")
				if err := json.Unmarshal([]byte(body), &thread); err != nil {
					t.Fatal(err)
				}
			}
			for {
				status, events := s.get(t, "POST", "/api/sessions/"+id+"/resume", "")
				if status == http.StatusConflict {
					continue // the run that was hung up has not ended yet
				}
				if status != 200 || !strings.Contains(events, `"reason":"answered"`) || strings.Contains(events, "event: tool_started") {
					t.Errorf("resumed: %d %s", status, events)
				}
				break
			}
			if err := s.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			s.client.CloseIdleConnections()
			if err := s.Wait(); err != nil {
				t.Errorf("the program ended with %v", err)
			}
		})
	}
}

// When it is told to end, the program lets runs end, or stops them where they can be resumed, and learns what
// was said.
func TestShutdown(t *testing.T) {
	t.Parallel()
	for name, newStore := range storesOf {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			where := newStore(t)
			s := where.serve(t, "-pace", "20ms", "-drain", "20s")
			id := sessionOf(t, s)
			run := s.ask(t, "POST", "/api/sessions/"+id+"/messages", messageBody("I prefer walnut. Find me armchairs."))
			readUntil(t, run.Body, "text")
			if err := s.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			readUntil(t, run.Body, "end")
			run.Body.Close()
			s.client.CloseIdleConnections()
			if err := s.Wait(); err != nil {
				t.Errorf("the program ended with %v", err)
			}
			if out, _ := where.says(t, "", "-memories"); !strings.Contains(out, "preference: I prefer walnut") {
				t.Errorf("what is known is %q", out)
			}
		})
	}
}
