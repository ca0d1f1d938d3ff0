package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/weft-go/weft/checkpoint/supacheckpoint"
	"github.com/weft-go/weft/examples/research/internal/account"
)

// user is somebody who has signed up.
type user struct {
	*place
	id, token string
}

func (p *place) claims(id string) jwt.MapClaims {
	return jwt.MapClaims{"iss": p.issuer, "aud": "authenticated", "role": "authenticated", "sub": id, "exp": time.Now().Add(time.Hour).Unix()}
}

func (p *place) newUser() user {
	p.t.Helper()
	id := strings.TrimPrefix(supacheckpoint.ThreadID("", ""), "-")
	if p.server.Secret == nil {
		p.sql(`INSERT INTO auth.users (id) VALUES ($1)`, id)
	}
	return user{p, id, signed(p.t, p.secret, p.claims(id))}
}

// answer is the response to a request.
type answer struct {
	status int
	body   string
	header http.Header
}

func (u user) send(method, path, kind string, body io.Reader) answer {
	u.t.Helper()
	a, err := u.try(u.t.Context(), method, path, kind, body)
	if err != nil {
		u.t.Fatal(err)
	}
	return a
}

func (u user) try(ctx context.Context, method, path, kind string, body io.Reader) (answer, error) {
	r, err := http.NewRequestWithContext(ctx, method, u.url+path, body)
	if err != nil {
		return answer{}, err
	}
	if u.token != "" {
		r.Header.Set("Authorization", "Bearer "+u.token)
	}
	if kind != "" {
		r.Header.Set("Content-Type", kind)
	}
	reply, err := http.DefaultClient.Do(r)
	if err != nil {
		return answer{}, err
	}
	defer reply.Body.Close()
	text, err := io.ReadAll(reply.Body)
	return answer{reply.StatusCode, string(text), reply.Header}, err
}

func (u user) post(path string, body any) answer {
	u.t.Helper()
	data, err := json.Marshal(body)
	if err != nil {
		u.t.Fatal(err)
	}
	return u.send(http.MethodPost, path, "application/json", bytes.NewReader(data))
}

func (u user) get(path string) answer {
	u.t.Helper()
	return u.send(http.MethodGet, path, "", nil)
}

func (u user) upload(path, name, text string) answer {
	u.t.Helper()
	var b bytes.Buffer
	form := multipart.NewWriter(&b)
	part, err := form.CreateFormFile("file", name)
	if err == nil {
		_, err = io.WriteString(part, text)
	}
	if err = errors.Join(err, form.Close()); err != nil {
		u.t.Fatal(err)
	}
	return u.send(http.MethodPost, path, form.FormDataContentType(), &b)
}

// into checks the status of an answer, and decodes its JSON.
func into[T any](t *testing.T, a answer, status int) T {
	t.Helper()
	var v T
	if a.status != status {
		t.Fatalf("got %d %s want %d", a.status, a.body, status)
	}
	if err := json.Unmarshal([]byte(a.body), &v); err != nil {
		t.Fatalf("%v: %s", err, a.body)
	}
	return v
}

// same checks the status and the exact body of an answer.
func same(t *testing.T, what string, a answer, status int, body string) {
	t.Helper()
	if a.status != status || strings.TrimSpace(a.body) != body {
		t.Errorf("%s: got %d %s want %d %s", what, a.status, strings.TrimSpace(a.body), status, body)
	}
}

// document adds a document.
func (u user) document(text string) string {
	u.t.Helper()
	return into[map[string]any](u.t, u.upload("/api/documents", "rfp.md", text), 201)["documentId"].(string)
}

func (u user) proposal() string {
	u.t.Helper()
	return into[map[string]string](u.t, u.post("/api/proposals", struct{}{}), 201)["proposalId"]
}

// result is the response of /api/research.
type result struct {
	Success  bool
	ThreadID string
	Error    string
	State    struct {
		RFPDocument struct {
			ID, Text string
			Metadata map[string]string
		}
		Status   struct{ DocumentLoaded, ResearchComplete, SolutionSought bool }
		Messages []map[string]any
		Findings []struct{ Topic, Answer string }
		Solution string
		Errors   []string
	}
}

// start researches a document of the user's.
func (u user) start(text string) result {
	u.t.Helper()
	body := map[string]string{"proposalId": u.proposal(), "documentId": u.document(text)}
	return into[result](u.t, u.post("/api/research", body), 200)
}

// A message, as a page reads it.
type message struct {
	ID, Type string
	Content  any
	More     map[string]any `json:"response_metadata"`
}

// A thread of the server, as a page reads it.
type thread struct {
	Next   []string
	Values struct {
		Messages    []message
		RFPDocument struct{ ID, Text string }
		Findings    []struct{ Topic string }
		Solution    string
	}
}

// newThread begins a thread of the server, with a document unless the text is empty.
func (u user) newThread(text string) string {
	u.t.Helper()
	id := into[map[string]any](u.t, u.post("/threads", struct{}{}), 200)["thread_id"].(string)
	if text != "" {
		into[map[string]any](u.t, u.upload("/api/documents?thread="+id, "ferry.md", text), 201)
	}
	return id
}

func question(text string) map[string]any {
	return map[string]any{"assistant_id": "research", "input": map[string]any{"messages": []map[string]string{{"type": "human", "content": text}}}}
}

// asks runs a thread of the server with a question, and returns its state.
func (u user) asks(id, text string) thread {
	u.t.Helper()
	if a := u.post("/threads/"+id+"/runs/wait", question(text)); a.status != 200 || strings.Contains(a.body, "__error__") {
		u.t.Fatalf("got %d %s; the log has %s", a.status, a.body, u.said)
	}
	return into[thread](u.t, u.get("/threads/"+id+"/state"), 200)
}

// threads returns the user's threads on the server.
func (u user) threads() answer {
	u.t.Helper()
	return u.post("/threads/search", struct{}{})
}

// sessionsOf returns the sessions of a user, newest first.
func (p *place) sessionsOf(u user) []account.Session {
	p.t.Helper()
	all, err := p.account(u).Sessions(p.t.Context())
	if err != nil {
		p.t.Fatal(err)
	}
	return all
}
