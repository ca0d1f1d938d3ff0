package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/weft-go/weft/examples/designer/internal/kai"
)

// An invalid request gets a status and a message, and changes nothing.
func TestBadInput(t *testing.T) {
	t.Parallel()
	for name, newStore := range storesOf {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStore(t).serve(t)
			s.token = "ann"
			mine := s.result(t, messageBody("hello")).ConversationID
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
				{"no JSON", "POST", "/api/agents/kai", `hello`, "ann", 400, "The body cannot be read"},
				{"a wrong type", "POST", "/api/agents/kai", `{"message":7}`, "ann", 400, "message of type string"},
				{"an unknown field", "POST", "/api/agents/kai", `{"massage":"x"}`, "ann", 400, "massage"},
				{"an empty message", "POST", "/api/agents/kai", `{"message":"  "}`, "ann", 400, "message is empty"},
				{"a long message", "POST", "/api/agents/kai", messageBody(strings.Repeat("x", 20_001)), "ann", 413, "at most 20000 bytes"},
				{"a large body", "POST", "/api/agents/kai", messageBody(strings.Repeat("x", 70_000)), "ann", 413, "larger than 65536 bytes"},
				{"an unknown agent", "POST", "/api/agents/x", `{"message":"x"}`, "ann", 404, "no such agent"},
				{"an unknown session", "POST", "/api/sessions/none/resume", "", "ann", 404, "no such session"},
				{"a foreign session", "POST", "/api/sessions/" + mine + "/resume", "", "bob", 404, "no such session"},
				{"a foreign session without a token", "GET", "/api/sessions/" + mine, "", "", 404, "no such session"},
				{"a foreign conversation", "POST", "/api/agents/kai", `{"message":"x","conversationId":"` + mine + `"}`, "bob", 404, "no such session"},
				{"a conversation of another agent", "POST", "/api/agents/scout", `{"message":"x","conversationId":"` + mine + `"}`, "ann", 404, "no such session"},
				{"a foreign answer", "POST", "/api/sessions/" + quote.ConversationID + "/answers", answer(quote.Waits[0].ID, quote.Waits[0].Question.Hash), "bob", 404, "no such session"},
				{"a foreign deletion", "DELETE", "/api/sessions/" + mine, "", "bob", 404, "no such session"},
				{"a path that escapes", "GET", "/api/scenes/..%2f..%2fetc%2fpasswd", "", "ann", 404, "no path"},
				{"a session that escapes", "GET", "/api/sessions/..%2f..", "", "ann", 404, "no path"},
				{"a question that is not open", "POST", "/api/sessions/" + quote.ConversationID + "/answers", answer("x", "y"), "ann", 409, "not open"},
				{"an unknown kind of memory", "POST", "/api/memories", `{"type":"mood","content":"x"}`, "ann", 400, "mood"},
				{"an empty memory", "POST", "/api/memories", `{"type":"fact","content":""}`, "ann", 400, "content"},
				{"a list of an unknown kind", "GET", "/api/memories?type=mood", "", "ann", 400, "mood"},
				{"an unknown memory", "DELETE", "/api/memories/11111111-1111-4111-8111-111111111111", "", "ann", 404, "no such memory"},
				{"no address", "GET", "/api/nothing", "", "ann", 404, "no path"},
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
			for _, header := range []string{"Token ann", "Basic YTpi", "Bearer ", "ann"} {
				other := r.Clone(t.Context())
				other.Body, other.ContentLength = http.NoBody, 0
				other.Header.Set("Authorization", header)
				refused, err := s.client.Do(other)
				if err != nil {
					t.Fatal(err)
				}
				refused.Body.Close()
				if refused.StatusCode != http.StatusUnauthorized {
					t.Errorf("%q: %d, want 401", header, refused.StatusCode)
				}
			}
			if res.StatusCode != http.StatusUnsupportedMediaType {
				t.Errorf("another content type: %d, want 415", res.StatusCode)
			}
			s.token = "ann"
			if _, body := s.get(t, "GET", "/api/orders", ""); body != "[]\n" {
				t.Errorf("something was ordered: %s", body)
			}
			again := s.result(t, `{"message":"hello","conversationId":"`+mine+`"}`)
			if again.Turns != 2 {
				t.Errorf("the conversation had %d turns before, want one", again.Turns-1)
			}
		})
	}
}

// A user with a token chats, approves, remembers and deletes. Another user sees none of the user's data.
func TestConversation(t *testing.T) {
	t.Parallel()
	for name, newStore := range storesOf {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStore(t).serve(t)
			s.token = "ann"
			id := s.thread(t)
			_, events := s.get(t, "POST", "/threads/"+id+"/runs/stream", said("find marble floor tiles and make a 3D scene of them"))
			for _, want := range []string{"event: custom\n", `"price_eur"`, `"tool":"generate3D"`} { // a tool emits products as it finds them
				if !strings.Contains(events, want) {
					t.Errorf("the events have no %q: %s", want, events)
				}
			}
			waits := s.state(t, id)
			approval := approved(t, waits)
			made := s.run(t, id, approval)
			if made.Values.Job == nil || made.Values.Final == nil || len(made.Values.Products) != 5 || made.Values.Iteration != 3 || made.Values.Turns != 1 {
				t.Fatalf("got %+v", made.Values)
			}
			url := made.Values.Job.URL
			if status, scene := s.get(t, "GET", url, ""); status != 200 || strings.Count(scene, "\no ") != 5 {
				t.Errorf("the scene: %d, %s", status, scene)
			}
			if _, body := s.get(t, "POST", "/threads/"+id+"/runs/wait", approval); !strings.Contains(body, "__error__") && !strings.Contains(body, "detail") {
				t.Errorf("the second answer: %s", body)
			}
			status, kept := s.get(t, "POST", "/api/memories", `{"type":"fact","content":"Works on a hotel lobby"}`)
			if status != 201 {
				t.Errorf("a memory: %d %s", status, kept)
			}
			next := s.run(t, id, said("what do you know about me?"))
			if v := next.Values; !strings.Contains(next.text(), "Works on a hotel lobby") || v.Turns != 2 || v.Iteration != 1 || len(v.Products) != 0 || v.Job != nil {
				t.Errorf("the next turn is %+v", v)
			}
			image := `{` + modes + `,"input":{"messages":[{"role":"user","content":[{"type":"text","text":"find chairs like this"},{"type":"image","mime_type":"image/png","data":"iVBORw0KGgo="}]}]}}`
			if status, body := s.get(t, "POST", "/threads/"+id+"/runs/wait", image); status != 200 || strings.Contains(body, "__error__") || !strings.Contains(body, "iVBORw0KGgo=") {
				t.Errorf("with an image: %d %s", status, body)
			}
			s.token = "bob"
			for path, want := range map[string]string{"/threads/" + id + "/state": "There is no thread", "/api/memories": "[]", url: "no such scene"} {
				if _, body := s.get(t, "GET", path, ""); !strings.Contains(body, want) {
					t.Errorf("bob sees %s at %s", body, path)
				}
			}
			s.token = "ann"
			var memory struct{ ID string }
			if err := json.Unmarshal([]byte(kept), &memory); err != nil {
				t.Fatal(err)
			}
			session := s.result(t, messageBody("hello")).ConversationID
			for path, want := range map[string]int{"/api/memories/" + memory.ID: 204, "/api/sessions/" + session: 204, "/threads/" + id: 204} {
				if status, body := s.get(t, "DELETE", path, ""); status != want {
					t.Errorf("delete %s: %d %s", path, status, body)
				}
				if status, _ := s.get(t, "DELETE", path, ""); status != 404 {
					t.Errorf("delete %s again: %d", path, status)
				}
			}
			if status, body := s.get(t, "GET", "/", ""); status != 200 || !strings.Contains(body, "Design studio") {
				t.Errorf("the page: %d %s", status, body)
			}
		})
	}
}

// readUntil reads events up to the first one with the name.
func readUntil(t *testing.T, r io.Reader, name string) {
	t.Helper()
	for lines := bufio.NewScanner(r); lines.Scan(); {
		if lines.Text() == "event: "+name {
			return
		}
	}
	t.Fatalf("there was no event %s", name)
}

// The server refuses a second request on a busy conversation, and the first one completes. A client that
// hangs up ends its run, which can be resumed.
func TestBusyAndHangUp(t *testing.T) {
	t.Parallel()
	for name, newStore := range storesOf {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStore(t).serve(t, "-pace", "40ms")
			id := s.result(t, messageBody("hello")).ConversationID
			message := `{"message":"find oak chairs","conversationId":"` + id + `"}`
			first := make(chan string)
			go func() {
				_, body := s.get(t, "POST", "/api/agents/kai", message)
				first <- body
			}()
			s.until(t, id, kai.Broken)
			for path, body := range map[string]string{"/api/agents/kai": message, "/api/sessions/" + id + "/resume": ""} {
				if status, text := s.get(t, "POST", path, body); status != 409 || !strings.Contains(text, "busy") {
					t.Errorf("%s: %d %s, want 409", path, status, text)
				}
			}
			if body := <-first; !strings.Contains(body, `"reason":"answered"`) {
				t.Errorf("the first got %s", body)
			}
			ctx, hangUp := context.WithCancel(t.Context())
			var gone sync.WaitGroup
			gone.Go(func() {
				r, err := http.NewRequestWithContext(ctx, "POST", s.url+"/api/agents/kai", strings.NewReader(strings.Replace(message, "oak", "walnut", 1)))
				if err != nil {
					t.Error(err)
					return
				}
				r.Header.Set("Content-Type", "application/json")
				if res, err := s.client.Do(r); err == nil {
					res.Body.Close()
					t.Error("the client did not hang up")
				}
			})
			s.until(t, id, kai.Broken)
			hangUp()
			gone.Wait()
			for {
				status, result := s.get(t, "POST", "/api/sessions/"+id+"/resume", "")
				if status == http.StatusConflict {
					<-time.After(20 * time.Millisecond) // the run of the client that hung up has not ended yet; the server limits requests per second
					continue
				}
				if status != 200 || !strings.Contains(result, `"reason":"answered"`) || !strings.Contains(result, `"turnCount":3`) {
					t.Errorf("resumed: %d %s", status, result)
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

// until waits until the result of a conversation's last turn has the reason.
func (s *process) until(t *testing.T, id string, reason kai.Reason) {
	t.Helper()
	for {
		var r kai.Result
		status, body := s.get(t, "GET", "/api/sessions/"+id, "")
		if err := json.Unmarshal([]byte(body), &r); err != nil || status != 200 {
			t.Fatalf("%d %s, %v", status, body, err)
		}
		if r.Reason == reason {
			return
		}
		<-time.After(5 * time.Millisecond) // the server limits requests per second
	}
}

// On SIGTERM the program stops runs, which the next process continues, and learns the turns that ended.
func TestShutdown(t *testing.T) {
	t.Parallel()
	for name, newStore := range storesOf {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			where := newStore(t)
			s := where.serve(t, "-pace", "20ms", "-drain", "20s")
			id := s.thread(t)
			run := s.ask(t, "POST", "/threads/"+id+"/runs/stream", said("I prefer walnut. Find me armchairs."))
			readUntil(t, run.Body, "messages")
			if err := s.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			_, _ = io.Copy(io.Discard, run.Body)
			run.Body.Close()
			s.client.CloseIdleConnections()
			if err := s.Wait(); err != nil {
				t.Errorf("the program ended with %v", err)
			}
			next := where.serve(t)
			_, runs := next.get(t, "GET", "/threads/"+id+"/runs", "")
			_, rest, _ := strings.Cut(runs, `"run_id":"`)
			one, _, _ := strings.Cut(rest, `"`)
			next.get(t, "GET", "/threads/"+id+"/runs/"+one+"/join", "")
			if got := next.state(t, id); got.Values.Final == nil {
				t.Errorf("the run ended with %+v", got.Values)
			}
			if err := next.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			next.client.CloseIdleConnections()
			if err := next.Wait(); err != nil {
				t.Errorf("the program ended with %v", err)
			}
			if out, _ := where.says(t, "", "-memories"); !strings.Contains(out, "preference: I prefer walnut") {
				t.Errorf("what is known is %q", out)
			}
		})
	}
}
