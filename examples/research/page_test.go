package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"strings"
	"testing"

	"github.com/weft-go/weft/examples/internal/page"
	"github.com/weft-go/weft/examples/research/internal/account"
)

// Who opens the page on this machine is signed in; by another name of it, nobody is.
func TestPageSignsIn(t *testing.T) {
	t.Parallel()
	p := onSQLite(t, newOffline())
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Jar: jar, Transport: http.DefaultTransport}
	get := func(path, host string) (int, string, []*http.Cookie) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.url+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Host = host
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
	if status, _, _ := get("/api/sessions", ""); status != 401 {
		t.Errorf("before: got %d want 401", status)
	}
	if status, _, cookies := get("/", "evil.example"); status != 200 || len(cookies) != 0 {
		t.Errorf("by another name: got %d and the cookies %v", status, cookies)
	}
	status, text, cookies := get("/", "")
	if status != 200 || !strings.Contains(text, "<main>") || len(cookies) != 1 || !cookies[0].HttpOnly || cookies[0].SameSite != http.SameSiteStrictMode {
		t.Fatalf("got %d, cookies %v", status, cookies)
	}
	if status, text, _ := get("/api/sessions", ""); status != 200 || strings.TrimSpace(text) != "[]" {
		t.Errorf("after: got %d %s", status, text)
	}
	if _, text, _ := get("/page.json", ""); !strings.Contains(text, `"name":"solutionSought"`) || !strings.Contains(text, `"token":false`) {
		t.Errorf("got settings %s", text)
	}
}

// The cookies of Supabase's libraries are as good as a bearer token, whole or in pieces.
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
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.url+"/api/sessions", nil)
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

// What the page does: a session, a document, a question, and the session opened again.
func TestConversation(t *testing.T) {
	inPlaces(t, nil, func(t *testing.T, p *place) {
		u := p.newUser()
		id := into[page.Session](t, u.post("/api/sessions", struct{}{}), 201).ID
		at := "/api/sessions/" + id
		same(t, "before", u.get(at+"/resources"), 200, "[]")
		file := into[page.Resource](t, u.upload(at+"/resources", "ferry.md", rfp), 201)
		if file.OriginalName != "ferry.md" || file.Note == "" {
			t.Errorf("got %+v", file)
		}
		if all := into[[]page.Resource](t, u.get(at+"/resources"), 200); len(all) != 1 || all[0] != file {
			t.Errorf("got %+v", all)
		}
		for i, question := range []string{"How much money is there?", "When are answers due?"} {
			a := u.post(at+"/messages", map[string]string{"message": question})
			ids := events(t, bufio.NewScanner(strings.NewReader(a.body)), func(int) bool { return true })
			if want := []int{8, 1}[i]; len(ids) != want || a.header.Get("Content-Type") != "text/event-stream; charset=utf-8" {
				t.Fatalf("%s: got %d messages want %d: %d %s", question, len(ids), want, a.status, a.body)
			}
		}
		shown := into[page.Thread](t, u.get(at), 200)
		if shown.Title != "ferry.md" || shown.Unfinished || len(shown.Messages) != 11 {
			t.Fatalf("got %+v", shown)
		}
		var said bytes.Buffer
		for _, m := range shown.Messages {
			_ = json.NewEncoder(&said).Encode([]string{string(m.Role), m.Text})
		}
		for _, want := range []string{
			`["user","How much money is there?"]`, `["user","When are answers due?"]`,
			`["assistant","- The budget is 180,000 EUR including tax. [18]"]`, `["assistant","- Proposals are due on 2027-04-02 at noon. [14]"]`,
		} {
			if !strings.Contains(said.String(), want) {
				t.Errorf("got %s\nwant %s", said.String(), want)
			}
		}
		if strings.Contains(said.String(), "What is said about money?") {
			t.Error("a question of the program's own is shown as the user's")
		}
		all := into[[]page.Session](t, u.get("/api/sessions"), 200)
		if len(all) != 1 || all[0].ID != id || all[0].Title != "ferry.md" {
			t.Errorf("got sessions %+v", all)
		}
		// Another document begins anew.
		into[page.Resource](t, u.upload(at+"/resources", "other.md", "The boat is red."), 201)
		r := into[result](t, u.post("/api/research", map[string]string{"threadId": id}), 200)
		if r.State.RFPDocument.Text != "The boat is red." || len(r.State.Findings) != 6 || strings.Contains(r.State.Solution, "ferr") {
			t.Errorf("got %+v", r.State)
		}
	})
}
