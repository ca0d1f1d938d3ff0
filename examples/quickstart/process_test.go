package main

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// begun is a program that was started, and has written a line.
type begun struct {
	folder
	cmd  *exec.Cmd
	errs bytes.Buffer
	rest *bufio.Reader
}

// start starts the program and reads what it writes up to a line.
func (f folder) start(until string, args ...string) *begun {
	f.t.Helper()
	b := &begun{folder: f, cmd: f.program(f.args(args)...)}
	pipe, err := b.cmd.StdoutPipe()
	if err != nil {
		f.t.Fatal(err)
	}
	b.cmd.Stderr = &b.errs
	if err := b.cmd.Start(); err != nil {
		f.t.Fatal(err)
	}
	b.rest = bufio.NewReader(pipe)
	for {
		line, err := b.rest.ReadString('\n')
		if strings.Contains(line, until) {
			return b
		}
		if err != nil {
			f.t.Fatalf("the program ended before it wrote %q: %v, %s", until, b.cmd.Wait(), b.errs.String())
		}
	}
}

// end signals the program and waits for it.
func (b *begun) end(sig os.Signal) outcome {
	b.t.Helper()
	if err := b.cmd.Process.Signal(sig); err != nil {
		b.t.Fatal(err)
	}
	out, err := io.ReadAll(b.rest)
	if err != nil {
		b.t.Fatal(err)
	}
	// What it ended with is in ProcessState.
	if err := b.cmd.Wait(); err != nil && b.cmd.ProcessState == nil {
		b.t.Fatal(err)
	}
	return outcome{b.cmd.ProcessState.ExitCode(), string(out), b.errs.String()}
}

func TestApprovalInAnotherProcess(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	f.write("README.md", text)
	// All defaults: the README, the database and the notes are in the folder.
	o := f.finish(f.program("save a note that looms are big"))
	if o.status != done || !strings.Contains(o.out, "-resume yes") || !strings.Contains(o.out, "README.md (9 lines)") {
		t.Fatalf("got %+v", o)
	}
	f.check(f.finish(f.program("hello")), refused, "waits for your answer")
	o = f.finish(f.program("-resume", "yes"))
	if o.status != done || !strings.Contains(o.out, "Saved in ") || !strings.HasPrefix(f.read(notesFile), "- looms are big\n") {
		t.Errorf("got %+v and notes %q", o, f.read(notesFile))
	}
	f.check(f.finish(f.program("-resume", "yes")), refused, "waits for no answer")
}

func TestBusy(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	// It waits an hour for the first word of its answer.
	b := f.start("call ", "-pace", "1h", "how many lines?")
	f.refuse("is in use by another run", "hello")
	f.refuse("is in use by another run")
	wantAll(t, f.ask("-history"), "user: how many lines?")
	wantAll(t, f.ask("-thread", "other", "-file", f.path("text.md"), "how many lines?"), "The file has 9 lines")
	b.end(os.Kill)
	out := f.ask()
	wantAll(t, out, "The file has 9 lines")
	if got := len(f.ids()); got != 4 {
		t.Errorf("there are %d checkpoints, want 4", got)
	}
	f.refuse("nothing is unfinished")
}

// A question behind a killed run leaves that as it is.
func TestKilledThenAsked(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	f.start("result ", "-pace", "1h", "how many lines?").end(os.Kill)
	wantAll(t, f.ask("what is a loom?"), "stays unfinished", "A loom is a frame")
	wantAll(t, f.ask("-history"), "user: how many lines?", "calls count_words")
}

func TestInterrupted(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	o := f.start("result ", "-pace", "1h", "how many lines?").end(os.Interrupt)
	f.check(o, stopped, "stopped; to go on: ")
	wantNone(t, o.out, "failed")
	out := f.ask()
	wantAll(t, out, "The file has 9 lines")
	wantNone(t, out, "call ")
}
