package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/weft-go/weft/examples/internal/page"
)

// program is the program in a process of its own.
type program struct {
	t    *testing.T
	cmd  *exec.Cmd
	url  string
	errs bytes.Buffer
}

func command(t *testing.T, folder string, env map[string]string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Dir = folder
	cmd.Env = append(environ(), asProgram+"=1", "DATABASE_URL=")
	for name, value := range env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	return cmd
}

// begin starts the program and waits until it serves.
func begin(t *testing.T, folder string, env map[string]string, args ...string) *program {
	t.Helper()
	p := &program{t: t, cmd: command(t, folder, env, append([]string{"-addr", "127.0.0.1:0"}, args...)...)}
	p.cmd.Stderr = &p.errs
	out, err := p.cmd.StdoutPipe()
	if err == nil {
		err = p.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "http://") {
			p.url = lines.Text()
			return p
		}
	}
	t.Fatalf("it did not serve: %v: %s", p.cmd.Wait(), p.errs.String())
	return nil
}

// end ends the program, by a signal, and returns what it wrote to its log.
func (p *program) end(s os.Signal) string {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatal(err)
	}
	if err := p.cmd.Wait(); (err == nil) != (s == os.Interrupt) {
		p.t.Errorf("%v: got %v: %s", s, err, p.errs.String())
	}
	return p.errs.String()
}

// events reads server-sent events: the id of each message, in order, and calls a function
// after each message that is complete.
func events(t *testing.T, lines *bufio.Scanner, complete func(n int) bool) (ids []string) {
	t.Helper()
	name := ""
	for lines.Scan() {
		text, isName := strings.CutPrefix(lines.Text(), "event: ")
		if isName {
			name = text
		}
		data, isData := strings.CutPrefix(lines.Text(), "data: ")
		if name != "usage" || !isData {
			if name == "error" && isData {
				t.Errorf("got the error %s", data)
			}
			continue
		}
		var c struct {
			ID string `json:"message_id"`
		}
		if err := json.Unmarshal([]byte(data), &c); err != nil {
			t.Fatal(err)
		}
		if ids = append(ids, c.ID); !complete(len(ids)) {
			return ids
		}
	}
	return ids
}

// A program that is killed in the middle of a run goes on when it is started again, and
// asks nothing that it has an answer to.
func TestKilled(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(*testing.T) (user, map[string]string){
		"SQLite": func(t *testing.T) (user, map[string]string) { return user{place: &place{t: t}}, nil },
		"Supabase": func(t *testing.T) (user, map[string]string) {
			p := onSupabase(t, nil)
			return p.newUser(), projectEnv(t, p.database)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u, env := open(t)
			folder := t.TempDir()
			if env == nil {
				out, err := command(t, folder, nil, "-token").Output()
				if err != nil {
					t.Fatal(err)
				}
				u.token = strings.TrimSpace(string(out))
			}
			first := begin(t, folder, env, "-migrated", "-pace", "10ms")
			u.place = &place{t: t, url: first.url}
			thread, ids := u.untilKilled(first, map[string]string{"proposalId": u.proposal(), "documentId": u.document(rfp)})

			second := begin(t, folder, env, "-migrated", "-pace", "0")
			u.url = second.url
			if w := into[page.Thread](t, u.get("/api/sessions/"+thread), 200); !w.Unfinished {
				t.Errorf("got %+v, want it unfinished", w)
			}
			// The lease of who was killed runs out.
			var later []string
			a := patiently(t, func() answer { return u.post("/api/sessions/"+thread+"/resume", struct{}{}) })
			later = events(t, bufio.NewScanner(strings.NewReader(a.body)), func(int) bool { return true })
			if len(ids) != 2 || len(later) != 5 {
				t.Fatalf("got %d answers, then %d: %d %s", len(ids), len(later), a.status, a.body)
			}
			shown := into[page.Thread](t, u.get("/api/sessions/"+thread), 200)
			if shown.Unfinished || len(shown.Messages) != 7 {
				t.Fatalf("got %+v", shown)
			}
			for i, id := range append(ids, later...) {
				if shown.Messages[i].ID != id {
					t.Errorf("message %d is %s want %s", i, shown.Messages[i].ID, id)
				}
			}
			if said := second.end(os.Interrupt); said != "" {
				t.Errorf("it logged %s", said)
			}
		})
	}
}

// untilKilled starts a session and kills the program after two answers.
func (u user) untilKilled(p *program, body any) (thread string, ids []string) {
	u.t.Helper()
	data, err := json.Marshal(body)
	if err != nil {
		u.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(u.t.Context())
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, u.url+"/api/research", bytes.NewReader(data))
	if err != nil {
		u.t.Fatal(err)
	}
	for k, v := range map[string]string{"Authorization": "Bearer " + u.token, "Content-Type": "application/json", "Accept": "text/event-stream"} {
		r.Header.Set(k, v)
	}
	reply, err := http.DefaultClient.Do(r)
	if err != nil {
		u.t.Fatal(err)
	}
	defer reply.Body.Close()
	lines := bufio.NewScanner(reply.Body)
	ids = events(u.t, lines, func(n int) bool { return n < 2 })
	// The second answer counts once it is stored, and then the third begins.
	for lines.Scan() && lines.Text() != "event: text" {
	}
	p.end(os.Kill)
	return reply.Header.Get("X-Thread-Id"), ids
}

var shell = regexp.MustCompile("(?s)<!-- a test runs these lines -->\n```sh\n(.*?)```")

// The lines of the README work as they are printed.
func TestReadme(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	m := shell.FindStringSubmatch(string(text))
	if m == nil {
		t.Fatal("the README has no lines to run")
	}
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "README.md"), []byte("# Tasks\n\nA task that finished does not run again.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := begin(t, folder, nil, "-pace", "0")
	at, err := url.Parse(p.url)
	if err != nil {
		t.Fatal(err)
	}
	script := "set -eu\n" + strings.NewReplacer("go run ./examples/research", `"$PROGRAM"`, "127.0.0.1:8084", at.Host, "curl ", "curl --fail-with-body ").Replace(m[1])
	cmd := exec.CommandContext(t.Context(), "bash", "-c", script)
	cmd.Dir = folder
	cmd.Env = append(environ(), asProgram+"=1", "DATABASE_URL=", "PROGRAM="+os.Args[0])
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, want := range []string{
		`{"success":true,"state":{"rfpDocument":{"id":"`, `"threadId":"research_`, `"solutionSought":true`,
		"\"finished \"}\n", "event: end\n",
	} {
		if !strings.Contains(string(out), want) {
			t.Errorf("got %s\nwant %q in it", out, want)
		}
	}
	if n := strings.Count(string(out), `{"success":true,`); n != 2 {
		t.Errorf("got %d results want 2", n)
	}
	if said := p.end(os.Interrupt); said != "" {
		t.Errorf("it logged %s", said)
	}
}

func TestWrongStart(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		env  map[string]string
		args []string
		want string
	}{
		"a token of a project": {map[string]string{"SUPABASE_URL": project}, []string{"-token"}, "research: a Supabase project gives its users their tokens\n"},
		"two providers":        {map[string]string{"OPENAI_API_KEY": "sk-x", "MISTRAL_API_KEY": "y"}, nil, "LLM_PROVIDER"},
		"no place":             {nil, []string{"-addr", "127.0.0.1:99999"}, "invalid port"},
		"no folder":            {nil, []string{"-addr", "127.0.0.1:0", "-data", "/dev/null/x"}, "not a directory"},
		"no database":          {map[string]string{"DATABASE_URL": "postgres://u:pa55word@[/x"}, []string{"-addr", "127.0.0.1:0"}, "research: "},
	} {
		cmd := command(t, t.TempDir(), c.env, c.args...)
		out, err := cmd.CombinedOutput()
		if err == nil || !strings.Contains(string(out), c.want) || strings.Contains(string(out), "pa55word") {
			t.Errorf("%s: got %v, %s want %q", what, err, out, c.want)
		}
	}
}
