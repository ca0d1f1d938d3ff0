package main

import (
	"bufio"
	"bytes"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/weft-go/weft/examples/chatapi/internal/offline"
	"github.com/weft-go/weft/examples/chatapi/internal/store"
	"github.com/weft-go/weft/memory"
)

// program is the example in its own process.
type program struct {
	app
	cmd  *exec.Cmd
	errs *bytes.Buffer
}

// launch starts the program and waits until it listens.
func launch(t *testing.T, c store.Config, args ...string) *program {
	t.Helper()
	args = append([]string{"-addr", "127.0.0.1:0", "-data", c.Folder, "-schema", c.Schema, "-lease", "1s", "-drain", "2s"}, args...)
	p := &program{cmd: exec.CommandContext(t.Context(), os.Args[0], args...), errs: &bytes.Buffer{}}
	p.cmd.Env = append(os.Environ(), asProgram+"=1", "DATABASE_URL="+c.Database)
	p.cmd.Stderr = p.errs
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "http://") {
			p.app = app{t: t, url: lines.Text(), client: &http.Client{Transport: &http.Transport{}}}
			return p
		}
	}
	t.Fatalf("the program ended with %v: %s", p.cmd.Wait(), p.errs)
	return nil
}

// finish signals the program and returns how it ended.
func (p *program) finish(sig os.Signal) *os.ProcessState {
	p.t.Helper()
	p.client.CloseIdleConnections()
	if err := p.cmd.Process.Signal(sig); err != nil {
		p.t.Fatal(err)
	}
	if err := p.cmd.Wait(); err != nil && p.cmd.ProcessState == nil {
		p.t.Fatal(err)
	}
	return p.cmd.ProcessState
}

// sayUntil sends a message to a thread, and kills the program after the given number of events or at the
// end of the stream. It returns the number of events.
func (p *program) sayUntil(thread, message string, most int) int {
	p.t.Helper()
	res, err := p.client.Do(p.request(p.t.Context(), "POST", "/threads/"+thread+"/runs/stream", input(message)))
	if err != nil || res.StatusCode != http.StatusOK {
		p.t.Fatalf("got %v, %v, %s", res, err, p.errs)
	}
	defer res.Body.Close()
	n := 0
	for lines := bufio.NewScanner(res.Body); n < most && lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "event: ") {
			n++
		}
	}
	p.finish(syscall.SIGKILL)
	return n
}

// If the program is killed during a run, the next process continues the run. The message, the answer and
// the fact are stored once.
func TestKilled(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, c store.Config) {
		var threads []string
		for most := 1; ; most += 5 {
			p := launch(t, c, "-pace", "1ms")
			id := p.thread()
			threads = append(threads, id)
			message, want := spoken(most)
			had := p.sayUntil(id, message, most)
			p = launch(t, c, "-pace", "0")
			runs := into[[]struct {
				ID string `json:"run_id"`
			}](t, p.do("GET", "/threads/"+id+"/runs", ""), http.StatusOK)
			r := p.do("GET", "/threads/"+id+"/runs/"+runs[0].ID+"/join", "")
			if got := p.said("", id); got != "user: "+message+"\nassistant: "+want {
				t.Errorf("killed after %d events, and continued with %d %s: got %s", most, r.status, r.body, got)
			}
			if state := p.finish(syscall.SIGTERM); state.ExitCode() != 0 || strings.Contains(p.errs.String(), "ERROR") {
				t.Errorf("the program ended with %v: %s", state, p.errs)
			}
			if had < most { // the run ended before the kill
				break
			}
		}
		checkOnce(t, c, threads)
	})
}

// spoken returns a message and its answer. For an odd n, the learner stores the fact. For an even n, the
// tool stores it, and runs again if the program was killed before the result was stored.
func spoken(n int) (message, answer string) {
	fact := fmt.Sprintf("locker is number %d", n)
	if n%2 == 1 {
		message = "My " + fact + "."
		return message, fmt.Sprintf("You said: %q. Rules answer here, and no language model (set a key in the environment to choose one). %s", message, offline.Forms)
	}
	return "Remember that my " + fact + ".", "I will remember that your " + fact + "."
}

// checkOnce checks that each session has a prompt, a message and an answer, and that there are as many
// facts as sessions.
func checkOnce(t *testing.T, c store.Config, sessions []string) {
	t.Helper()
	stores, err := store.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	a := startOn(t, stores, rules())
	local := memory.Scope{}
	for _, id := range sessions {
		if s, err := a.service.Session(t.Context(), local, id); err != nil || s.Messages != 3 {
			t.Errorf("got %+v, %v", s, err)
		}
	}
	a.learned()
	facts, err := memory.New(stores.Memory, memory.Options{})
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for f, err := range facts.List(t.Context(), memory.FactQuery{Reach: local.Only(), Closed: true, Limit: -1}) {
		if err != nil || !strings.HasPrefix(strings.ToLower(f.Content), "my locker is number ") {
			t.Errorf("got %+v, %v", f, err)
		}
		n++
	}
	if n != len(sessions) || n < 6 {
		t.Errorf("%d facts after %d sessions", n, len(sessions))
	}
}

// The program reports wrong arguments and environment variables, and ends with an error status. The
// message has no password.
func TestBadUsage(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		env, args string
		status    int
		want      string
	}{
		{"", "ingest", 2, "take documents in"},
		{"", "serve it", 2, "take documents in"},
		{"", "-pace x", 2, "invalid value"},
		{"", "ingest /nothing/here", 1, "/nothing/here"},
		{"", "-addr 127.0.0.1:99999", 1, "99999"},
		{"SUPABASE_DB_URL=postgres://127.0.0.1/x", "", 1, "SUPABASE_URL and SUPABASE_SERVICE_ROLE_KEY have to be"},
		{"DATABASE_URL=postgres://u:secret@127.0.0.1:none/x", "", 1, "chatapi:"},
		{"LLM_PROVIDER=nobody", "", 1, "LLM_PROVIDER"},
		{"EMBEDDING_MODEL=e", "", 1, "chatapi:"},
	} {
		cmd := exec.CommandContext(t.Context(), os.Args[0], strings.Fields(tt.args)...)
		cmd.Dir = t.TempDir()
		cmd.Env = []string{asProgram + "=keep", "PATH=" + os.Getenv("PATH"), tt.env}
		out, err := cmd.CombinedOutput()
		if err == nil || cmd.ProcessState.ExitCode() != tt.status || !strings.Contains(string(out), tt.want) || strings.Contains(string(out), "secret") {
			t.Errorf("%s %s: got %v: %s", tt.env, tt.args, cmd.ProcessState, out)
		}
	}
}
