package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
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
			p.url = strings.TrimSuffix(lines.Text(), "/chat/")
			return p
		}
	}
	t.Fatalf("it did not serve: %v: %s", p.cmd.Wait(), p.errs.String())
	return nil
}

// end ends the program by a signal. It returns the log of the program without its first line and without the lines that
// drain matches.
func (p *program) end(s os.Signal) string {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatal(err)
	}
	if err := p.cmd.Wait(); (err == nil) != (s == os.Interrupt) {
		p.t.Errorf("%v: got %v: %s", s, err, p.errs.String())
	}
	_, said, _ := strings.Cut(p.errs.String(), "\n") // the first line says that it listens
	return drain.ReplaceAllString(said, "")
}

// drain matches the two log lines of a clean shutdown: the program drains, and has drained with no run unfinished.
var drain = regexp.MustCompile(`(?m)^\S+ level=INFO msg="server: (?:draining" runs=\d+|drained" ended=\d+ handed_over=0 unfinished=0 took=\S+)\n`)

// replies reads the events of a run. It returns the id of each complete message, in order. It stops after most messages,
// or at the end of the run.
func replies(t *testing.T, lines *bufio.Scanner, most int) (ids []string) {
	t.Helper()
	for name := ""; len(ids) < most && lines.Scan(); {
		if text, ok := strings.CutPrefix(lines.Text(), "event: "); ok {
			name = text
		}
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok || name == "error" {
			if ok {
				t.Errorf("got the error %s", data)
			}
			continue
		}
		var chunk []struct {
			ID       string
			Position string `json:"chunk_position"`
		}
		if name == "messages" && json.Unmarshal([]byte(data), &chunk) == nil && chunk[0].Position == "last" {
			ids = append(ids, chunk[0].ID)
		}
	}
	return ids
}

// A program that is killed in the middle of a run resumes the run when it is started again, and repeats no stored
// model call.
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
			id := u.newThread(rfp)
			ids := u.untilKilled(first, id)

			second := begin(t, folder, env, "-migrated", "-pace", "0")
			u.url = second.url
			// The server resumes the run itself, when the lease of the killed process has expired.
			var shown thread
			for tick := time.NewTicker(50 * time.Millisecond); len(shown.Next) > 0 || shown.Values.Solution == ""; <-tick.C {
				shown = into[thread](t, u.get("/threads/"+id+"/state"), 200)
			}
			said := shown.Values.Messages[2:] // after those of the system and the user
			if len(said) != 8 {
				t.Fatalf("got %+v", said)
			}
			for i, id := range ids {
				if said[i].ID != id {
					t.Errorf("message %d is %s want %s", i, said[i].ID, id)
				}
			}
			// POST /api/research finds the research done.
			a := patiently(t, func() answer { return u.post("/api/research", map[string]string{"threadId": id}) })
			if r := into[result](t, a, 200); !r.Success || !r.State.Status.SolutionSought || len(r.State.Findings) != 6 || len(r.State.Messages) != 10 {
				t.Errorf("got %+v", r)
			}
			if said := second.end(os.Interrupt); said != "" {
				t.Errorf("it logged %s", said)
			}
		})
	}
}

// untilKilled begins a run and kills the program after two answers.
func (u user) untilKilled(p *program, id string) (ids []string) {
	u.t.Helper()
	body := question("When are answers due?")
	body["stream_mode"] = []string{"messages-tuple"}
	data, err := json.Marshal(body)
	if err != nil {
		u.t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(u.t.Context(), http.MethodPost, u.url+"/threads/"+id+"/runs/stream", bytes.NewReader(data))
	if err != nil {
		u.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+u.token)
	reply, err := http.DefaultClient.Do(r)
	if err != nil {
		u.t.Fatal(err)
	}
	defer reply.Body.Close()
	lines := bufio.NewScanner(reply.Body)
	ids = replies(u.t, lines, 2)
	// The third message begins after the second answer is stored.
	for lines.Scan() && !strings.HasPrefix(lines.Text(), "data: ") {
	}
	p.end(os.Kill)
	return ids
}

var shell = regexp.MustCompile("(?s)<!-- a test runs these lines -->\n```sh\n(.*?)```")

// The commands of the README work.
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
		"does not run again",
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
