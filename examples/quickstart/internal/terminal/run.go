// Package terminal is the command line of the quickstart: it starts, resumes and forks
// runs of the agent of package reader, and shows their events. Read session.go first,
// then watch.go.
package terminal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/llm"
)

// A Program is a command that talks with the agent.
type Program struct {
	// Command is the folder of the command in the module, such as "examples/quickstart".
	Command string
	// Models is the paragraph of the usage that says which model answers.
	Models string
	// Model opens the model, and returns a description. Pace is the wait before each word.
	Model func(ctx context.Context, pace time.Duration) (model llm.Model, description string, err error)
	// Hint is shown after the first answer about a file.
	Hint string
}

// The exit statuses.
const (
	done    = 0
	failed  = 1
	refused = 2
	stopped = 130
)

// Main runs the program of this process and exits.
func (p Program) Main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	// The first Ctrl-C cancels the run, a second one ends the process.
	context.AfterFunc(ctx, stop)
	os.Exit(p.Run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// Run executes a command line and returns the exit status. Cancelling ctx stops it.
func (p Program) Run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	o, err := parse(args)
	switch {
	case errors.Is(err, errHelp):
		fmt.Fprint(stdout, p.usage())
		return done
	case err == nil:
		err = p.do(ctx, o, &console{in: stdin, out: stdout})
	}
	if err == nil {
		return done
	}
	status, text := explain(ctx, err, o)
	if text != "" {
		fmt.Fprintln(stderr, "quickstart: "+strings.Join(strings.Fields(text), " "))
	}
	return status
}

// A mistake is an error in the input of the user.
type mistake struct{ text string }

func (m *mistake) Error() string { return m.text }

func wrong(format string, args ...any) error { return &mistake{fmt.Sprintf(format, args...)} }

// A stoppedError is returned for a run that was cancelled.
type stoppedError struct{ text string }

func (e *stoppedError) Error() string { return e.text }

// explain turns an error into an exit status and one line.
func explain(ctx context.Context, err error, o options) (status int, text string) {
	if m, ok := errors.AsType[*mistake](err); ok {
		return refused, m.text
	}
	if s, ok := errors.AsType[*stoppedError](err); ok {
		return stopped, s.Error()
	}
	switch {
	case ctx.Err() != nil, errors.Is(err, context.Canceled):
		return stopped, "stopped"
	case errors.Is(err, checkpoint.ErrConflict):
		return refused, fmt.Sprintf("conversation %q is in use by another run; wait for its end, or start another conversation with -thread", o.thread)
	case errors.Is(err, graph.ErrNoQuestion):
		return refused, "another process has answered the question; nothing was done"
	case errors.Is(err, checkpoint.ErrInvalid):
		return refused, err.Error()
	case errors.Is(err, checkpoint.ErrFormat), errors.Is(err, checkpoint.ErrCorrupt):
		return refused, fmt.Sprintf("%s does not hold conversations that this program can read; name another file with -db (%v)", o.db, err)
	}
	return failed, err.Error()
}
