package main

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/examples/research/internal/account"
	doc "github.com/weft-go/weft/examples/research/internal/document"
	"github.com/weft-go/weft/examples/research/internal/offline"
)

// The program signs in a browser that opens the page on this machine, but not under another host name or through a
// proxy.
func TestPageSignsIn(t *testing.T) {
	t.Parallel()
	p := onSQLite(t, newOffline())
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Jar: jar, Transport: http.DefaultTransport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	forwarded := http.Header{}
	get := func(path, host string) (int, string, []*http.Cookie) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.url+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Host, r.Header = host, forwarded.Clone()
		reply, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer reply.Body.Close()
		text, err := io.ReadAll(reply.Body)
		if err != nil {
			t.Fatal(err)
		}
		return reply.StatusCode, string(text), reply.Cookies()
	}
	if status, _, _ := get("/threads/x/state", ""); status != 401 {
		t.Errorf("before: got %d want 401", status)
	}
	if status, _, cookies := get("/", "evil.example"); status != 303 || len(cookies) != 0 {
		t.Errorf("by another name: got %d and the cookies %v", status, cookies)
	}
	if status, _, cookies := get("/login?return=/chat/", "evil.example"); status != 403 || len(cookies) != 0 {
		t.Errorf("by another name: got %d and the cookies %v", status, cookies)
	}
	forwarded.Set("X-Forwarded-For", "203.0.113.9")
	if status, _, cookies := get("/", ""); status != 303 || len(cookies) != 0 {
		t.Errorf("through a proxy: got %d and the cookies %v", status, cookies)
	}
	forwarded.Del("X-Forwarded-For")
	for _, path := range []string{"/", "/login?return=http%3A%2F%2Fevil.example%2Fstudio%2F"} {
		status, _, cookies := get(path, "")
		if status != 303 || len(cookies) != 1 || !cookies[0].HttpOnly || cookies[0].SameSite != http.SameSiteStrictMode {
			t.Fatalf("%s: got %d, cookies %v", path, status, cookies)
		}
	}
	if status, _, _ := get("/threads/x/state", ""); status != 404 && status != 422 {
		t.Errorf("after: got %d", status)
	}
	if status, text, _ := get("/chat/", ""); status != 200 || !strings.Contains(text, "<title>Research</title>") || !strings.Contains(text, `"login":"/login"`) {
		t.Errorf("got %d %s", status, text)
	}
}

// The sign-in leads back to a page of this server only.
func TestSignInLeadsBack(t *testing.T) {
	t.Parallel()
	p := onSQLite(t, newOffline())
	client := &http.Client{Transport: http.DefaultTransport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	for to, want := range map[string]string{
		"": "/chat/", "https://evil.example/": "/chat/", "//evil.example/chat/": "/chat/", p.url + "/studio/#/threads": "/studio/#/threads",
		"https://evil.example/chat/": "/chat/", "/api/research": "/chat/", "/chat/../login": "/chat/",
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.url+"/login?return="+url.QueryEscape(to), nil)
		if err != nil {
			t.Fatal(err)
		}
		reply, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		reply.Body.Close()
		if got := reply.Header.Get("Location"); got != want {
			t.Errorf("%s: got %s want %s", to, got, want)
		}
	}
}

// A cookie of Supabase's libraries is accepted in place of a bearer token, also if it is split into pieces.
func TestCookies(t *testing.T) {
	t.Parallel()
	p := onSupabase(t, newOffline())
	u := p.newUser()
	session := account.Cookie(u.token)
	for what, c := range map[string]struct {
		cookies map[string]string
		want    int
	}{
		"whole":                 {map[string]string{"sb-127-auth-token": session}, 200},
		"in pieces":             {map[string]string{"sb-127-auth-token.1": session[100:], "sb-127-auth-token.0": session[:100]}, 200},
		"escaped":               {map[string]string{"sb-127-auth-token": "%7B%22access_token%22%3A%22" + u.token + "%22%7D"}, 200},
		"of another project":    {map[string]string{"sb-other-auth-token": session}, 401},
		"a piece is missing":    {map[string]string{"sb-127-auth-token.1": session[100:]}, 401},
		"no session":            {map[string]string{"sb-127-auth-token": "base64-!"}, 401},
		"a session of nobody's": {map[string]string{"sb-127-auth-token": "base64-e30"}, 401},
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.url+"/threads/search", strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		for name, value := range c.cookies {
			r.AddCookie(&http.Cookie{Name: name, Value: value})
		}
		reply, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		reply.Body.Close()
		if reply.StatusCode != c.want {
			t.Errorf("%s: got %d want %d", what, reply.StatusCode, c.want)
		}
	}
}

// The page makes a thread, adds a document, asks a question, and opens the thread again.
func TestConversation(t *testing.T) {
	inPlaces(t, nil, func(t *testing.T, p *place) {
		u := p.newUser()
		id := u.newThread("")
		if said := u.asks(id, "hello").Values.Messages; len(said) != 2 || !strings.Contains(fmt.Sprint(said[1].Content), "Attach a document first") {
			t.Errorf("without a document: got %v", said)
		}
		file := into[map[string]any](t, u.upload("/api/documents?thread="+id, "ferry.md", rfp), 201)
		if file["name"] != "ferry.md" || file["note"] != "62 words" {
			t.Errorf("got %v", file)
		}
		address := fmt.Sprint(file["url"])
		if a := u.get(address); a.status != 200 || a.body != rfp || a.header.Get("Content-Type") != "text/plain; charset=utf-8" || a.header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("the text of the document: got %d %v %s", a.status, a.header, a.body)
		}
		for _, a := range []answer{p.newUser().get(address), u.get("/api/documents/none")} {
			same(t, "another's document", a, 404, `{"error":"This document is not kept any more."}`)
		}
		u.asks(id, "What is the budget?")
		shown := u.asks(id, "When are proposals due?").Values
		if len(shown.Findings) != 6 || !strings.Contains(shown.Solution, "I found no passage about: evaluation") {
			t.Errorf("got %+v", shown)
		}
		said := ""
		for _, m := range shown.Messages {
			if m.Type != "system" && m.More["step"] == nil {
				said += fmt.Sprintf("%s: %v\n", m.Type, m.Content)
			}
		}
		for _, want := range []string{
			"human: What is the budget?\nai: - The budget is 180,000 EUR including tax. [18]\n\n" + offline.Note + "\nhuman: ",
			"human: When are proposals due?\nai: - Proposals are due on 2027-04-02 at noon. [14]\n",
		} {
			if !strings.Contains(said, want) {
				t.Errorf("got %s\nwant %s", said, want)
			}
		}
		if strings.Contains(said, "What is said about money?") {
			t.Error("a question of the program's own is shown as the user's")
		}
		// The thread is also a session of the user.
		all := p.sessionsOf(u)
		if len(all) != 1 && p.server.Secret != nil || p.server.Secret != nil && (all[0].Thread != id || all[0].Title != "ferry.md" || all[0].Status != account.Completed) {
			t.Errorf("got sessions %+v", all)
		}
		// Another document starts the research again.
		into[map[string]any](t, u.upload("/api/documents?thread="+id, "other.md", "The boat is red."), 201)
		r := into[result](t, u.post("/api/research", map[string]string{"threadId": id}), 200)
		if r.State.RFPDocument.Text != "The boat is red." || len(r.State.Findings) != 6 || strings.Contains(r.State.Solution, "ferr") {
			t.Errorf("got %+v", r.State)
		}
	})
}

// The deletion of a thread also removes its session, its proposal, its document and its published state.
func TestDeletedThread(t *testing.T) {
	inPlaces(t, nil, func(t *testing.T, p *place) {
		u, other := p.newUser(), p.newUser()
		id := u.newThread(rfp)
		u.asks(id, "When are answers due?")
		document := into[thread](t, u.get("/threads/"+id+"/state"), 200).Values.RFPDocument.ID
		session, err := p.account(u).Session(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if a := other.send(http.MethodDelete, "/threads/"+id, "", nil); a.status != 404 {
			t.Errorf("another user deletes it: %d", a.status)
		}
		if a := u.send(http.MethodDelete, "/threads/"+id, "", nil); a.status != 204 {
			t.Fatalf("got %d %s", a.status, a.body)
		}
		if _, err := p.account(u).Session(t.Context(), id); !errors.Is(err, account.ErrNotFound) {
			t.Errorf("the session: %v", err)
		}
		if has, err := p.account(u).HasProposal(t.Context(), session.Proposal); has || err != nil {
			t.Errorf("the proposal: %t, %v", has, err)
		}
		if _, err := p.Documents.Load(u.id, document); !errors.Is(err, doc.ErrNotFound) {
			t.Errorf("the document: %v", err)
		}
		store, name := p.account(u).Thread(id)
		if _, err := store.Get(t.Context(), checkpoint.Key{Thread: name}); !errors.Is(err, checkpoint.ErrNotFound) {
			t.Errorf("the checkpoints: %v", err)
		}
		if p.server.Secret == nil {
			if n := ask[int](p, `SELECT count(*)::int FROM proposal_checkpoints WHERE thread_id = $1`, id); n != 0 {
				t.Errorf("%d documents are published", n)
			}
		}
	})
}
