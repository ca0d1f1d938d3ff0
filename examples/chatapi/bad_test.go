package main

import (
	"context"
	"errors"
	"io"
	"iter"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weft-go/weft/examples/chatapi/internal/api"
	"github.com/weft-go/weft/examples/chatapi/internal/chat"
	"github.com/weft-go/weft/examples/chatapi/internal/store"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/llmtest"
)

// gate is a model that sends the first word, and the rest when open is closed. It sends to begun after the
// first word, and to stopped if its context ends before open is closed.
type gate struct {
	begun   chan struct{}
	open    chan struct{}
	stopped chan struct{}
	running atomic.Int32
}

func newGate() *gate {
	return &gate{begun: make(chan struct{}, 100), open: make(chan struct{}), stopped: make(chan struct{}, 100)}
}

func (g *gate) Stream(ctx context.Context, _ llm.Request) iter.Seq2[llm.Chunk, error] {
	return func(yield func(llm.Chunk, error) bool) {
		g.running.Add(1)
		defer g.running.Add(-1)
		for chunk, err := range llm.Reply(llm.Assistant("Done at last.")) {
			if chunk.Kind == llm.ChunkText {
				first := chunk
				first.Text = "Done "
				if !yield(first, nil) {
					return
				}
				g.begun <- struct{}{}
				select {
				case <-g.open:
				case <-ctx.Done():
					g.stopped <- struct{}{}
					yield(llm.Chunk{}, ctx.Err())
					return
				}
				chunk.Text = "at last."
			}
			if !yield(chunk, err) {
				return
			}
		}
	}
}

func TestBadInput(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, c store.Config) {
		a := start(t, c, rules())
		anns := a.ask("ann", "", "Remember that my dog is called Rex.").SessionID
		before := a.said("ann", anns)
		of := func(user, session string) string {
			return asJSON(t, map[string]string{"message": "hello", "user_id": user, "session_id": session})
		}
		const unknown = `{"detail":"There is no such session."}`
		tests := []struct {
			name, method, path, body, header, token string
			status                                  int
			want                                    string
		}{
			{"no JSON", "POST", "/api/chat", `{"message":`, "", "", 400, "The body cannot be read"},
			{"another type", "POST", "/api/chat", `{"message":["x"]}`, "", "", 400, "cannot unmarshal array"},
			{"an unknown field", "POST", "/api/chat", `{"message":"x","sesion_id":"y"}`, "", "", 400, `unknown field \"sesion_id\"`},
			{"two values", "POST", "/api/chat", `{"message":"x"} {}`, "", "", 400, "more than one value"},
			{"nothing", "POST", "/api/chat", "", "", "", 400, "it is empty"},
			{"no message", "POST", "/api/chat", `{"user_id":"ann"}`, "", "", 400, "message is empty"},
			{"spaces", "POST", "/api/chat", `{"message":" \n "}`, "", "", 400, "message is empty"},
			{"a long name", "POST", "/api/chat", `{"message":"x","user_id":"` + strings.Repeat("x", 513) + `"}`, "", "", 400, "user_id may have at most 512 bytes"},
			{"a NUL in a name", "POST", "/api/chat", `{"message":"x","user_id":"\u0000"}`, "", "", 400, "user_id may"},
			{"a form", "POST", "/api/chat", "message=x", "Content-Type: application/x-www-form-urlencoded", "", 415, "application/json"},
			{"a long message", "POST", "/api/chat", `{"message":"` + strings.Repeat("x", api.MaxMessage+1) + `"}`, "", "", 413, "at most 20000 bytes"},
			{"a large body", "POST", "/api/chat", `{"message":"x","user_id":"` + strings.Repeat("x", api.MaxBody) + `"}`, "", "", 413, "larger than 65536 bytes"},
			{"an unknown session", "POST", "/api/chat", of("ann", "nothing"), "", "", 404, unknown},
			{"a session that can not be", "POST", "/api/chat", of("ann", "\x00"), "", "", 404, unknown},
			{"a long session", "POST", "/api/chat", of("ann", strings.Repeat("x", 600)), "", "", 404, unknown},
			{"another user's", "POST", "/api/chat", of("bob", anns), "", "", 404, unknown},
			{"nobody's", "POST", "/api/chat", of("", anns), "", "", 404, unknown},
			{"another caller's", "POST", "/api/chat", of("ann", anns), "", "mallory", 404, unknown},
			{"another's messages", "GET", "/api/sessions/" + anns + "?user_id=bob", "", "", "", 404, unknown},
			{"another's to delete", "DELETE", "/api/sessions/" + anns + "?user_id=bob", "", "", "", 404, unknown},
			{"no user to list", "GET", "/api/sessions?user_id=" + strings.Repeat("x", 513), "", "", "", 400, "user_id may"},
			{"no address", "GET", "/api/nothing", "", "", "", 404, "no path"},
			{"of another site", "POST", "/api/chat", `{"message":"x"}`, "Origin: https://evil.example", "", 403, "evil.example"},
			{"no scheme", "POST", "/api/chat", `{"message":"x"}`, "Authorization: secret", "", 401, "Bearer"},
			{"another scheme", "POST", "/api/chat", `{"message":"x"}`, "Authorization: Token secret", "", 401, "Bearer"},
			{"a password", "POST", "/api/chat", `{"message":"x"}`, "Authorization: Basic YTpi", "", 401, "Bearer"},
			{"no token", "POST", "/api/chat", `{"message":"x"}`, "Authorization: Bearer ", "", 401, "Bearer"},
		}
		for _, tt := range tests {
			var headers []string
			if tt.header != "" {
				headers = append(headers, tt.header)
			}
			if r := a.as(tt.token).do(tt.method, tt.path, tt.body, headers...); r.status != tt.status || !strings.Contains(r.body, tt.want) {
				t.Errorf("%s: got %d %s", tt.name, r.status, r.body)
			}
		}
		if got := a.said("ann", anns); got != before {
			t.Errorf("the session is now %s", got)
		}
	})
}

// If the model is not available, the status is 503, and the message stays in the conversation for the next
// turn.
func TestModelIsAway(t *testing.T) {
	t.Parallel()
	a := start(t, sqlite(t), scripted(llmtest.NewScript(llmtest.Fail(llm.ErrRateLimit), llmtest.Say("Hello, both."))))
	id := a.begin().ID
	r := a.do("POST", "/api/chat", asJSON(t, map[string]string{"message": "hello", "session_id": id}))
	if r.status != http.StatusServiceUnavailable || r.header.Get("Retry-After") != "2" || !strings.Contains(r.body, "cannot answer now") {
		t.Errorf("got %d %s", r.status, r.body)
	}
	a.ask("", id, "again")
	if got := a.said("", id); got != "user: hello\nuser: again\nassistant: Hello, both." {
		t.Errorf("got %s", got)
	}
}

// The server refuses a second request to a busy session, and the first one completes.
func TestBusy(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, c store.Config) {
		model := newGate()
		a := start(t, c, scripted(model))
		s := a.begin()
		body := asJSON(t, map[string]string{"message": "hello", "session_id": s.ID})
		first := make(chan reply)
		go func() { first <- a.do("POST", "/api/chat", body) }()
		<-model.begun
		for route, body := range map[string]string{"POST /api/chat": body, "DELETE /api/sessions/" + s.ID: ""} {
			method, path, _ := strings.Cut(route, " ")
			r := a.do(method, path, body)
			if r.status != http.StatusConflict || r.body != `{"detail":"This session is busy with another request."}`+"\n" {
				t.Errorf("%s: got %d %s", route, r.status, r.body)
			}
		}
		close(model.open)
		if r := into[api.Reply](t, <-first, http.StatusOK); r.Reply != "Done at last." {
			t.Errorf("got %+v", r)
		}
		if got := a.said("", s.ID); got != "user: hello\nassistant: Done at last." {
			t.Errorf("got %s", got)
		}
	})
}

// If a client hangs up, its run stops, its message stays in the conversation for the next run, and no
// model call keeps running.
func TestHangUp(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, c store.Config) {
		model := newGate()
		a := start(t, c, scripted(model))
		s := a.begin()
		for _, text := range []string{"hello", "are you there?"} {
			a.hangUp(s.ID, text, model)
		}
		close(model.open)
		r := a.patiently("POST", "/api/chat", asJSON(t, map[string]string{"message": "well?", "session_id": s.ID}))
		if got := into[api.Reply](t, r, http.StatusOK); got.Reply != "Done at last." {
			t.Fatalf("got %+v", got)
		}
		if got := a.said("", s.ID); got != "user: hello\nuser: are you there?\nuser: well?\nassistant: Done at last." {
			t.Errorf("got %s", got)
		}
		a.end()
		if n := model.running.Load(); n != 0 {
			t.Errorf("%d calls of the model are running", n)
		}
	})
}

// patiently repeats a request while the session is busy: a run ends shortly after its client hangs up.
func (a *app) patiently(method, path, body string) (r reply) {
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); {
		if r = a.do(method, path, body); !strings.Contains(r.body, "is busy") {
			break
		}
	}
	return r
}

// hangUp sends a message, cancels the request when the reply begins, and waits until the model call has
// stopped.
func (a *app) hangUp(session, text string, model *gate) {
	a.t.Helper()
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); {
		ctx, cancel := context.WithCancel(a.t.Context())
		r := a.request(ctx, "POST", "/api/chat", asJSON(a.t, map[string]string{"message": text, "session_id": session}))
		var met sync.WaitGroup
		met.Go(func() {
			select {
			case <-model.begun:
				cancel()
			case <-ctx.Done():
			}
		})
		res, err := a.client.Do(r)
		busy := err == nil && res.StatusCode == http.StatusConflict
		if err == nil && !busy {
			_, err = io.Copy(io.Discard, res.Body)
		}
		if res != nil {
			_ = res.Body.Close() // the body is read, or the request failed
		}
		cancel()
		met.Wait()
		if busy {
			continue
		}
		if !errors.Is(err, context.Canceled) {
			a.t.Fatalf("got %v", err)
		}
		<-model.stopped
		return
	}
	a.t.Fatal("the session is busy for ever")
}

// At shutdown, a request to /api/chat completes, and the learner learns its turn.
func TestShutdownFinishes(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, c store.Config) {
		o := rules()
		model := newGate()
		o.Model = model
		a := start(t, c, o)
		got := make(chan reply)
		go func() { got <- a.do("POST", "/api/chat", `{"message":"I live in Oslo.","user_id":"ann"}`) }()
		<-model.begun
		a.stop()
		a.stop = nil
		for { // until the server accepts no connection; the run continues
			r, err := a.client.Get(a.url + "/openapi.json")
			if err != nil {
				break
			}
			if err := r.Body.Close(); err != nil {
				t.Fatal(err)
			}
			a.client.CloseIdleConnections()
		}
		close(model.open)
		r := into[api.Reply](t, <-got, http.StatusOK)
		a.client.CloseIdleConnections()
		if err := <-a.stopped; err != nil {
			t.Fatal(err)
		}
		b := start(t, c, chat.Options{Model: rules().Model}) // it has no extractor
		if said := b.said("ann", r.SessionID); said != "user: I live in Oslo.\nassistant: Done at last." {
			t.Errorf("got %s", said)
		}
		if answer := b.ask("ann", "", "Where do I live?").Reply; answer != "You told me:\n- you live in Oslo" {
			t.Errorf("got %s", answer)
		}
	})
}

// At shutdown, a run of the server stops after its superstep, and the next program continues it.
func TestShutdownDrains(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, c store.Config) {
		model := newGate()
		a := start(t, c, scripted(model))
		thread := a.thread()
		run := into[struct {
			ID string `json:"run_id"`
		}](t, a.do("POST", "/threads/"+thread+"/runs", input("hello")), http.StatusOK).ID
		<-model.begun
		stopped := make(chan struct{})
		go func() {
			defer close(stopped)
			a.end()
		}()
		for a.do("GET", "/readyz", "").status == http.StatusOK { // until the shutdown begins
		}
		close(model.open)
		<-stopped
		b := start(t, c, chat.Options{Model: llmtest.NewScript()})
		b.do("GET", "/threads/"+thread+"/runs/"+run+"/join", "")
		if got := b.said("", thread); got != "user: hello\nassistant: Done at last." {
			t.Errorf("got %s", got)
		}
	})
}

// A program that ends closes its files and connections.
func TestNothingLeaks(t *testing.T) {
	open := func() int {
		entries, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(entries)
	}
	eachOnce := func(c store.Config) {
		model := newGate()
		a := start(t, c, scripted(model))
		s := a.begin()
		for range 5 {
			a.hangUp(s.ID, "hello", model)
			a.do("POST", "/api/chat", `{`)
		}
		a.end()
	}
	c, p := sqlite(t), postgres(t)
	eachOnce(c) // a first run may open files that stay open
	eachOnce(p)
	before := open()
	eachOnce(c)
	eachOnce(p)
	if after := open(); after > before {
		t.Errorf("%d files are open, and were %d", after, before)
	}
}
