package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// in runs the program in this process, with its data in a folder.
func in(t *testing.T, dir string, args ...string) (status int, out, errs string) {
	t.Helper()
	var o, e bytes.Buffer
	status = run(t.Context(), append([]string{"-data", filepath.Join(dir, "data")}, args...), strings.NewReader(""), &o, &e)
	return status, o.String(), e.String()
}

func TestBadCommands(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	mine, broken := file("mine.ics", soon()), file("broken.ics", "BEGIN:VCALENDAR\nhello\n")
	if status, _, errs := in(t, dir, "-calendar", mine, "delete my meeting with John"); status != 0 {
		t.Fatal(errs)
	}
	for _, test := range []struct {
		want string
		args []string
	}{
		{"flag provided but not defined", []string{"-x"}},
		{"the message is empty", []string{" "}},
		{"-history, -draw and -serve take no message", []string{"-history", "hello"}},
		{"-drop goes with a message", []string{"-drop"}},
		{"-history, -draw and -serve take no message", []string{"-serve", "127.0.0.1:0", "hello"}},
		{"-thread and -data need a value", []string{"-thread", "", "hello"}},
		{"has 20000 bytes; it may have 16384", []string{strings.Repeat("x", 20000)}},
		{"no such file", []string{"-calendar", filepath.Join(dir, "none.ics"), "hello"}},
		{"not an iCalendar file: line 2", []string{"-calendar", broken, "hello"}},
		{"it is no file of at most", []string{"-calendar", dir, "hello"}},
		{"is about " + mine, []string{"yes"}},
		{"0 checkpoints of the conversation end in zzz", []string{"-calendar", mine, "-at", "zzz"}},
		{"what is your request?", []string{"-calendar", mine, "-thread", "new"}},
		{"listen", []string{"-calendar", mine, "-serve", "nowhere"}},
	} {
		status, _, errs := in(t, dir, test.args...)
		if status != 2 || !strings.Contains(errs, test.want) {
			t.Errorf("%q: status %d: %s, want %s", test.args, status, errs, test.want)
		}
	}
	if text, err := os.ReadFile(mine); err != nil || string(text) != soon() {
		t.Errorf("the calendar was changed: %v", err)
	}
	file("data/conversations.db", strings.Repeat("no database ", 100))
	if status, _, errs := in(t, dir, "-calendar", mine, "hello"); status != 2 || !strings.Contains(errs, "conversations can not be kept") {
		t.Errorf("status %d: %s", status, errs)
	}
}

// A conversation continues from an earlier checkpoint, with and without another request.
func TestGoBack(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	must := func(args ...string) string {
		t.Helper()
		status, out, errs := in(t, dir, args...)
		if status != 0 || errs != "" {
			t.Fatalf("%q: status %d: %s", args, status, errs)
		}
		return out
	}
	question := last(must("delete my meeting with John"))
	line := regexp.MustCompile(`(?m)^(\S+) .* confirm_actions `).FindStringSubmatch(must("-history"))
	if line == nil {
		t.Fatal("the history has no confirm_actions")
	}
	must("no")
	if got := last(must("-at", line[1])); got != question {
		t.Errorf("got %s, want %s", got, question)
	}
	if got := must("-at", line[1], "when is the dentist?"); !strings.Contains(got, "\n  - Wednesday") || last(got) != question {
		t.Errorf("got %s", got) // the question was open at that checkpoint, and stays open
	}
	// -drop abandons the open question.
	must("cancel the dentist")
	if got := last(must("-drop", "what are my tasks?")); got != "  - Prepare the slides for John" {
		t.Errorf("got %s", got)
	}
	if out := must("-draw"); !strings.Contains(out, "confirm_actions") {
		t.Errorf("got %s", out)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var errs bytes.Buffer
	if status := run(ctx, []string{"-data", filepath.Join(dir, "data"), "help"}, strings.NewReader(""), &bytes.Buffer{}, &errs); status == 0 {
		t.Errorf("a run that was stopped ends with %d", status)
	}
}

// A second run of a conversation fails while the first one is active.
func TestBusyConversation(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	cmd := f.command("-calendar", "mine.ics", "-verbose", "-pace", "1h", "add a task to rest")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for said, buf := "", make([]byte, 4096); !strings.Contains(said, "create_task"); {
		n, err := out.Read(buf)
		said += string(buf[:n])
		if err != nil {
			t.Fatalf("it ended: %s", said)
		}
	}
	if status, _, errs := f.start("-calendar", "mine.ics", "hello"); status != 2 || !strings.Contains(errs, "run it without a message") && !strings.Contains(errs, "in use") {
		t.Errorf("status %d: %s", status, errs)
	}
	if status, _, errs := f.start("-calendar", "mine.ics"); status != 2 || !strings.Contains(errs, "in use by another run") {
		t.Errorf("status %d: %s", status, errs)
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil || cmd.ProcessState.ExitCode() != 130 {
		t.Errorf("it ended with %v", err)
	}
	if got := last(f.mine()); got != "I've added the task 'rest'." {
		t.Errorf("got %s", got)
	}
}
