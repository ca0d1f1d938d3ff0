package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weft-go/weft/examples/calendar/internal/desk"
	"github.com/weft-go/weft/examples/calendar/internal/ics"
	"github.com/weft-go/weft/internal/pgtest"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/tools"
)

// folder is the working directory of the program in a test.
type folder struct {
	t   *testing.T
	dir string
	env []string
}

// soon returns the calendar johns with its events moved to two days from now.
func soon() string {
	day := time.Now().AddDate(0, 0, 2).Format("20060102")
	return strings.NewReplacer("20261124", day, "20261125", day).Replace(johns)
}

func newFolder(t *testing.T) *folder {
	t.Helper()
	f := &folder{t: t, dir: t.TempDir(), env: []string{"DATABASE_URL="}}
	f.write("mine.ics", soon())
	return f
}

func (f *folder) write(name, text string) {
	f.t.Helper()
	if err := os.WriteFile(filepath.Join(f.dir, name), []byte(text), 0o600); err != nil {
		f.t.Fatal(err)
	}
}

func (f *folder) command(args ...string) *exec.Cmd {
	cmd := exec.CommandContext(f.t.Context(), os.Args[0], args...)
	cmd.Dir = f.dir
	cmd.Env = append(append(os.Environ(), f.env...), asProgram+"=1", "TZ=UTC")
	return cmd
}

// start runs the program in a process of its own, to its end.
func (f *folder) start(args ...string) (status int, out, errs string) {
	f.t.Helper()
	cmd := f.command(args...)
	var o, e bytes.Buffer
	cmd.Stdout, cmd.Stderr = &o, &e
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		f.t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), o.String(), e.String()
}

// mine runs the program on the calendar of the test. The test fails if the program does.
func (f *folder) mine(args ...string) string {
	f.t.Helper()
	status, out, errs := f.start(append([]string{"-calendar", "mine.ics"}, args...)...)
	if status != 0 || errs != "" {
		f.t.Fatalf("%q: status %d: %s", args, status, errs)
	}
	return out
}

// last returns the last line of an output.
func last(out string) string {
	lines := strings.Split(strings.TrimSpace(out), "\n")
	return lines[len(lines)-1]
}

// left returns the titles of the events, and the number of sent mails.
func (f *folder) left() (titles string, sent int) {
	f.t.Helper()
	file, err := ics.Open(filepath.Join(f.dir, "mine.ics"), time.UTC)
	if err != nil {
		f.t.Fatal(err)
	}
	events, err := file.Between(time.Now(), time.Now().AddDate(0, 0, 7))
	if err != nil {
		f.t.Fatal(err)
	}
	var all []string
	for _, e := range events {
		all = append(all, e.Title)
	}
	d, err := desk.Open(f.t.Context(), file, filepath.Join(f.dir, "calendar-data", "desk.db"), time.Now)
	if err != nil {
		f.t.Fatal(err)
	}
	defer d.Close()
	set, err := d.Tools()
	if err != nil {
		f.t.Fatal(err)
	}
	m, err := set.Call(f.t.Context(), llm.ToolCall{ID: "c", Name: "list_mail_messages", Arguments: json.RawMessage(`{"folder":"sent"}`)}, tools.Options{})
	if err != nil {
		f.t.Fatal(err)
	}
	return strings.Join(all, ", "), strings.Count(m.Text(), "mail_id")
}

// One process asks the question and another one receives the answer, with each store.
func TestAnswerInAnotherProcess(t *testing.T) {
	t.Parallel()
	for name, env := range map[string]string{"SQLite": "DATABASE_URL=", "PostgreSQL": "DATABASE_URL=" + pgtest.Database(t, nil)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFolder(t)
			f.env = []string{env}
			question := last(f.mine("Delete my meeting with John"))
			if !strings.HasPrefix(question, "This will delete the calendar event: 'Meeting with John' on ") {
				t.Fatalf("got %s", question)
			}
			if again := last(f.mine()); again != question {
				t.Errorf("asked again it says %s", again)
			}
			if titles, _ := f.left(); titles != "Dentist, Meeting with John" {
				t.Errorf("before the yes the calendar has %s", titles)
			}
			if got := last(f.mine("yes")); !strings.HasPrefix(got, "I've deleted your meeting with John that was scheduled for ") {
				t.Errorf("got %s", got)
			}
			if titles, _ := f.left(); titles != "Dentist" {
				t.Errorf("the calendar has %s", titles)
			}
		})
	}
}

// The test kills the program after some lines of its output, during planning and during execution; with WEFT_FAULTS,
// after each line. When the program is started again, it resumes, and no destructive action runs twice.
func TestKilled(t *testing.T) {
	t.Parallel()
	for name, env := range map[string]string{"SQLite": "DATABASE_URL=", "PostgreSQL": "DATABASE_URL=" + pgtest.Database(t, nil)} {
		step := map[string]int{"SQLite": 3, "PostgreSQL": 6}[name] // with PostgreSQL, each kill costs the time of a lease
		if os.Getenv("WEFT_FAULTS") != "" {
			step = 1
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFolder(t)
			f.env = []string{env}
			kills := 0
			for at := 0; ; at += step {
				f.write("mine.ics", soon())
				_, before := f.left2(at)
				thread := fmt.Sprint("t", at)
				planned := f.killed(at, thread, "delete the meeting with John and then send a mail to ann@example.com saying sorry")
				question := f.settle(thread)
				if !strings.Contains(question, "Confirm? (yes/no)") && planned {
					// The program was killed before it stored anything: send the request again.
					question = f.mine("-thread", thread, "-drop", "delete the meeting with John and then send a mail to ann@example.com saying sorry")
				}
				if !strings.Contains(question, "Confirm? (yes/no)") {
					t.Fatalf("killed at line %d it asks nothing: %s", at, question)
				}
				executed := f.killed(at, thread, "yes")
				out := f.settle(thread)
				if strings.Contains(out, "Confirm? (yes/no)") { // killed before the yes was stored
					out = f.mine("-thread", thread, "yes")
				}
				titles, sent := f.left()
				if titles != "Dentist" || sent != before+1 || executed && !strings.Contains(out, "nothing is unfinished") && !strings.Contains(out, "I've sent your mail") {
					t.Fatalf("killed at line %d: the calendar has %s, %d mails were sent; it says %s", at, titles, sent-before, out)
				}
				if !planned && !executed {
					t.Logf("killed %d times", kills)
					return
				}
				kills++
			}
		})
	}
}

// left2 returns the result of left before a round, or nothing in the first round, which has no database yet.
func (f *folder) left2(round int) (string, int) {
	if round == 0 {
		return "", 0
	}
	return f.left()
}

// killed runs the program and kills it at a line of its output. It reports
// whether there was such a line.
func (f *folder) killed(line int, thread, text string) bool {
	f.t.Helper()
	cmd := f.command("-calendar", "mine.ics", "-verbose", "-thread", thread, text)
	out, err := cmd.StdoutPipe()
	if err != nil {
		f.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		f.t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for range line + 1 {
		if !lines.Scan() {
			_ = cmd.Wait() // the program ended before that line
			return false
		}
	}
	if err := cmd.Process.Kill(); err != nil {
		f.t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, out)
	_ = cmd.Wait() // the error only says that it was killed
	return true
}

// settle starts the program without a message, as a user does to resume a killed run.
func (f *folder) settle(thread string) string {
	f.t.Helper()
	status, out, errs := f.start("-calendar", "mine.ics", "-thread", thread)
	if status == 2 && strings.Contains(errs, "what is your request?") {
		return "nothing is unfinished"
	}
	if status != 0 {
		f.t.Fatalf("status %d: %s", status, errs)
	}
	return out
}
