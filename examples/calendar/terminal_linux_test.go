package main

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// A person is the user's side of a terminal in which the program runs.
type person struct {
	t      *testing.T
	screen *os.File
	seen   string
	ended  chan error
}

// sit starts the program at a terminal.
func (f *folder) sit(args ...string) *person {
	f.t.Helper()
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	require.NoError(f.t, err)
	f.t.Cleanup(func() { _ = screen.Close() })
	require.NoError(f.t, unix.IoctlSetPointerInt(int(screen.Fd()), unix.TIOCSPTLCK, 0))
	n, err := unix.IoctlGetInt(int(screen.Fd()), unix.TIOCGPTN)
	require.NoError(f.t, err)
	tty, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	require.NoError(f.t, err)
	defer tty.Close()
	require.NoError(f.t, unix.IoctlSetWinsize(int(tty.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 60}))
	cmd := f.command(args...)
	cmd.Env = append(cmd.Env, "TERM=xterm")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	require.NoError(f.t, cmd.Start())
	p := &person{t: f.t, screen: screen, ended: make(chan error, 1)}
	go func() { p.ended <- cmd.Wait() }()
	return p
}

// types waits until the screen shows when, after the previous match, and then types text.
func (p *person) types(when, text string) {
	p.t.Helper()
	for buf := make([]byte, 4096); !strings.Contains(p.seen, when); {
		n, err := p.screen.Read(buf)
		require.NoError(p.t, err, "the screen shows %q, and not %q", p.seen, when)
		p.seen += string(buf[:n])
	}
	_, p.seen, _ = strings.Cut(p.seen, when)
	_, err := p.screen.WriteString(text)
	require.NoError(p.t, err)
}

const (
	ctrlC  = "\x03"
	prompt = "\x1b[1m> \x1b[0m"
)

// Ctrl-C ends a turn, and the program if no turn is under way.
func TestCtrlC(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	p := f.sit("-calendar", "mine.ics", "-pace", "1h")
	p.types(prompt, "what are my tasks?\n")
	p.types("· Look at the tasks", ctrlC)
	p.types("Stopped.", "")
	p.types(prompt, ctrlC)
	assert.NoError(t, <-p.ended)
}

// If Ctrl-C stops a request, an earlier question stays open.
func TestAStoppedRequestLeavesTheQuestionOpen(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	p := f.sit("-calendar", "mine.ics")
	p.types(prompt, "delete my meeting with John\n")
	p.types("Confirm? (yes/no)", "")
	p.types(prompt, ctrlC)
	assert.NoError(t, <-p.ended)
	p = f.sit("-calendar", "mine.ics", "-pace", "1h") // only Ctrl-C ends the turn
	p.types(prompt, "what are my tasks?\n")
	p.types("· Look at the tasks", ctrlC)
	p.types("Stopped.", "")
	p.types(prompt, ctrlC)
	assert.NoError(t, <-p.ended)
	p = f.sit("-calendar", "mine.ics")
	p.types(prompt, "any mail?\n")
	p.types("Confirm? (yes/no)", "yes\n")
	p.types("deleted", "")
	p.types(prompt, ctrlC)
	assert.NoError(t, <-p.ended)
	titles, _ := f.left()
	assert.Equal(t, "Dentist", titles)
}

// The program writes colours to a terminal only, and not if NO_COLOR is set. It breaks long lines between words.
func TestColours(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	p := f.sit("-calendar", "mine.ics")
	p.types(prompt, "delete my meeting with John\n")
	p.types("\x1b[1mThis will delete the calendar event: 'Meeting with John' on \r\n", "")
	p.types(prompt, ctrlC)
	assert.NoError(t, <-p.ended)
	f.env = append(f.env, "NO_COLOR=1")
	p = f.sit("-calendar", "mine.ics", "-thread", "plain", "any mail?")
	p.types("There is no such mail.", "")
	assert.NoError(t, <-p.ended)
	assert.NotContains(t, p.seen, "\x1b")
	assert.NotContains(t, f.mine("any mail?"), "\x1b")
}

// The title of an invitation cannot write to the terminal, in a question or in a list.
func TestTitlesAreShownEscaped(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	f.env = append(f.env, onDay+"=2026-11-22T09:00:00Z") // the events are in the week after this day
	f.write("mine.ics", strings.Replace(johns, "SUMMARY:Dentist", "SUMMARY:Dentist \x1b[2K\x1b[1A\u202egnp.exe\u202c\u009b2K", 1))
	shown := `Dentist \u001b[2K\u001b[1A\u202egnp.exe\u202c\u009b2K`
	for _, said := range []string{"when is the dentist?", "cancel the dentist", "no", "what's on my calendar next week?", "cancel the dentist", "yes"} {
		out := f.mine(said)
		assert.NotRegexp(t, "[\x1b\u009b\u202e\u202c]", out, said)
		if said != "no" {
			assert.Contains(t, strings.ToLower(out), strings.ToLower(shown), said)
		}
	}
}
