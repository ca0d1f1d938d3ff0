package main

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/weft-go/weft/examples/csvanalyst/internal/api"
	"github.com/weft-go/weft/internal/pgtest"
)

// childFolder names the variable that passes the folder of a test to its child process.
const childFolder = "CSVANALYST_TEST_FOLDER"

// child starts the program as a process of its own and returns its address, and a
// function that kills it.
func child(t *testing.T, folder, pace string, more ...string) (*app, func()) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], append([]string{"-addr", "127.0.0.1:0", "-data", folder, "-pace", pace}, more...)...)
	cmd.Env = append(os.Environ(), childFolder+"="+folder, "DATABASE_URL=")
	for _, m := range more {
		if strings.HasPrefix(m, "-schema=") {
			cmd.Env = append(cmd.Env, "DATABASE_URL="+pgtest.DirectURL(t))
		}
	}
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	a := &app{t: t, client: &http.Client{Transport: &http.Transport{}}, folder: folder}
	for lines := bufio.NewScanner(out); a.url == "" && lines.Scan(); {
		if page, ok := strings.CutPrefix(lines.Text(), "chat:   "); ok {
			a.url = strings.TrimSuffix(page, "/chat/")
		}
	}
	kill := func() {
		a.client.CloseIdleConnections()
		_ = cmd.Process.Kill() // it may have ended
		_ = cmd.Wait()         // the error says that the process was killed
	}
	t.Cleanup(kill)
	if a.url == "" {
		t.Fatal("the program did not start")
	}
	return a, kill
}

// A program that is killed in the middle of an answer can resume the run when it is started again.
func TestKilled(t *testing.T) {
	t.Parallel()
	for name, more := range map[string]func(t *testing.T) []string{
		"sqlite":   func(*testing.T) []string { return nil },
		"postgres": func(t *testing.T) []string { return []string{"-schema=" + pgtest.Schema(t)} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder, flags := t.TempDir(), more(t)
			first, kill := child(t, folder, "300ms", flags...)
			id := first.withFile("sales.csv", sales)
			r, err := http.NewRequestWithContext(t.Context(), "POST", first.url+"/api/sessions/"+id+"/messages", strings.NewReader(`{"message":"total amount in Athens"}`))
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Content-Type", "application/json")
			res, err := first.client.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			// Kill the program after the tool result, while it streams the answer.
			word := make([]byte, 3)
			if _, err := io.ReadFull(res.Body, word); err != nil {
				t.Fatal(err)
			}
			kill()
			_, _ = io.Copy(io.Discard, res.Body)
			res.Body.Close()

			second, _ := child(t, folder, "0s", flags...)
			var session api.Session
			if err := json.Unmarshal([]byte(second.do("GET", "/api/sessions/"+id, "").body), &session); err != nil || !session.Unfinished {
				t.Fatalf("the session is %+v, %v", session, err)
			}
			const answer = "The total amount is 50, in sales.csv where city is Athens."
			if got := second.resume(id); got != answer {
				t.Errorf("the rest of the run says %q", got)
			}
			all := second.do("GET", "/api/sessions/"+id+"/messages", "").body
			if strings.Count(all, `"role"`) != 2 || !strings.Contains(all, answer) {
				t.Errorf("stored are %s", all)
			}
			if got := second.ask(id, "how many rows?"); got != "There are 5 rows in sales.csv." {
				t.Errorf("then it answers %q", got)
			}
		})
	}
}

// resume resumes a run. In PostgreSQL it waits until the lease of the killed process has expired.
func (a *app) resume(id string) string {
	a.t.Helper()
	for {
		r := a.do("POST", "/api/sessions/"+id+"/resume", "")
		if r.status == http.StatusOK {
			return r.body
		}
		if r.status != http.StatusConflict {
			a.t.Fatalf("resume: %d %s", r.status, r.body)
		}
		<-time.After(50 * time.Millisecond)
	}
}
