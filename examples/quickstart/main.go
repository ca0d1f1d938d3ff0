// Command quickstart is an agent that answers questions about a text file. The next
// run of the program continues the conversation.
//
//	go run ./examples/quickstart -file PATH "what is a checkpoint?"
//
// Read agent.go first: it is the agent. Then read session.go, which starts, resumes
// and forks runs, and watch.go, which shows their events.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/graph"
)

// The exit statuses.
const (
	done    = 0
	failed  = 1
	refused = 2
	stopped = 130
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	// The first Ctrl-C cancels the run, a second one ends the process.
	context.AfterFunc(ctx, stop)
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run executes the program and returns its exit status. Cancelling ctx stops it.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	o, err := parse(args)
	switch {
	case errors.Is(err, errHelp):
		fmt.Fprint(stdout, usage)
		return done
	case err == nil:
		err = o.do(ctx, console{stdin, stdout})
	}
	if err == nil {
		return done
	}
	status, text := explain(err, o)
	fmt.Fprintln(stderr, "quickstart: "+strings.Join(strings.Fields(text), " "))
	return status
}

// A mistake is an error in the input of the user.
type mistake struct{ text string }

func (m *mistake) Error() string { return m.text }

func wrong(format string, args ...any) error { return &mistake{fmt.Sprintf(format, args...)} }

// explain turns an error into an exit status and one line.
func explain(err error, o options) (status int, text string) {
	if m, ok := errors.AsType[*mistake](err); ok {
		return refused, m.text
	}
	if s, ok := errors.AsType[*stoppedError](err); ok {
		return stopped, s.Error()
	}
	switch {
	case errors.Is(err, context.Canceled):
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
