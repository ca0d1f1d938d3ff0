package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// block matches a block of commands or of output in README.md.
var block = regexp.MustCompile("(?s)```(sh|text)\n(.*?)```")

// TestReadme runs the commands of README.md in a new folder, and compares their last line with the output that
// README.md shows. It skips commands that need a key or another server.
func TestReadme(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	f := newFolder(t)
	// Replace the command go by a script that runs the test binary as the program.
	self, err := filepath.Abs(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	f.write("go", "#!/bin/sh\n[ \"$1 $2\" = 'run ./examples/calendar' ] || exit 99\nshift 2\nexec '"+self+"' \"$@\"\n")
	if err := os.Chmod(filepath.Join(f.dir, "go"), 0o700); err != nil {
		t.Fatal(err)
	}
	f.write("calendar.ics", soon())
	f.env = append(f.env, "PATH="+f.dir+":"+os.Getenv("PATH"), "HOME="+f.dir, asProgram+"=1")
	ran, out := 0, ""
	for _, m := range block.FindAllStringSubmatch(string(text), -1) {
		if m[1] == "text" {
			// In README.md, Tuesday is the day of the event. On a Tuesday, the program prints a date instead.
			want := strings.TrimSpace(m[2])
			if now := time.Now(); now.Weekday() == time.Tuesday {
				want = strings.ReplaceAll(want, "Tuesday", now.AddDate(0, 0, 7).Format("Monday 2 January"))
			}
			if last(out) != want {
				t.Errorf("got %s\nwant %s", last(out), want)
			}
			continue
		}
		switch {
		case strings.Contains(m[2], "…"):
			continue
		case strings.Contains(m[2], "-serve"):
			stop := f.serve(m[2])
			defer stop()
			continue
		}
		cmd := exec.CommandContext(t.Context(), "sh", "-e", "-c", m[2])
		cmd.Dir, cmd.Env = f.dir, append(os.Environ(), f.env...)
		all, err := cmd.CombinedOutput()
		if err != nil || len(all) == 0 {
			t.Fatalf("%s: %v\n%s", m[2], err, all)
		}
		out = string(all)
		ran++
		for part, want := range map[string]string{
			"next week": "Stand-up", "Wednesday?": "Dentist", "help": "I am a set of rules", "-calendar": "calendar", "curl": "Ann Lee", "-history": "confirm_actions",
		} {
			if strings.Contains(m[2], part) && !strings.Contains(out, want) {
				t.Errorf("%s\nhas no %s:\n%s", m[2], want, out)
			}
		}
	}
	if ran != 5 {
		t.Errorf("%d blocks were run", ran)
	}
}

// serve starts a command, and waits until it serves. The returned function stops it.
func (f *folder) serve(command string) (stop func()) {
	f.t.Helper()
	cmd := exec.CommandContext(f.t.Context(), "sh", "-c", "exec "+command)
	cmd.Dir, cmd.Env = f.dir, append(os.Environ(), f.env...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		f.t.Fatal(err)
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		f.t.Fatal(err)
	}
	said := ""
	for buf := make([]byte, 4096); !strings.Contains(said, "page "); {
		n, err := out.Read(buf)
		said += string(buf[:n])
		if err != nil {
			f.t.Fatalf("it does not serve: %s", said)
		}
	}
	return func() {
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			f.t.Error(err)
		}
		ended := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
		defer ended.Stop()
		if err := cmd.Wait(); err != nil {
			f.t.Errorf("it ended with %v", err)
		}
	}
}
