// Command calendar is an assistant for a person's calendar, mail and tasks. It plans a request. It asks before it
// changes or deletes an event or a task, and before it sends or deletes a mail. The user can answer in the same process
// or in another one.
//
//	go run ./examples/calendar "delete my meeting with John"
//	go run ./examples/calendar yes
//
// Read internal/assistant/graph.go first: it builds the graph. Then read state.go in the same folder, which has the
// questions and answers, and internal/terminal, which starts and resumes runs.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/examples/calendar/internal/offline"
	"github.com/weft-go/weft/examples/calendar/internal/terminal"
	"github.com/weft-go/weft/examples/internal/command"
	"github.com/weft-go/weft/examples/internal/models"
	"github.com/weft-go/weft/llm"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the program at once
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// options has the parsed command line, and the address of the database from the environment.
type options struct {
	terminal.Request
	dir, calendar, serve string
	database             string // the address of PostgreSQL
	draw, offline        bool
	pace                 time.Duration
}

const usage = `calendar [flags] [MESSAGE]

Without a message it goes on with what was not finished, or, on a terminal,
talks with you. While it waits for an answer, "yes" and "no" are the answer, and
any other message is another request.

`

func parse(args []string, out io.Writer) (o options, err error) {
	set := flag.NewFlagSet("calendar", flag.ContinueOnError)
	set.SetOutput(out)
	set.Usage = func() { fmt.Fprint(out, usage); set.PrintDefaults() }
	set.StringVar(&o.dir, "data", "calendar-data", "the `folder` that mail, tasks and conversations are kept in")
	set.StringVar(&o.calendar, "calendar", "", "your calendar, an iCalendar `file`; without it a sample in the folder")
	set.StringVar(&o.Thread, "thread", "default", "the `name` of the conversation")
	set.StringVar(&o.At, "at", "", "go back to a `checkpoint`, and go on from there")
	set.StringVar(&o.serve, "serve", "", "serve a page and an API at an `address`, such as 127.0.0.1:8044")
	set.BoolVar(&o.History, "history", false, "list the checkpoints of the conversation")
	set.BoolVar(&o.draw, "draw", false, "print the graph as a Mermaid diagram")
	set.BoolVar(&o.Drop, "drop", false, "leave what was not finished, or not answered, and ask the message")
	set.BoolVar(&o.Verbose, "verbose", false, "show the nodes and the calls of a run")
	set.BoolVar(&o.offline, "offline", false, "use the offline model also where the environment names another")
	set.DurationVar(&o.pace, "pace", 0, "how long the offline model waits before each word")
	if err := set.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return o, err
		}
		return o, command.Wrong("%v", err)
	}
	o.database = os.Getenv("DATABASE_URL")
	o.Message = strings.TrimSpace(strings.Join(set.Args(), " "))
	return o, o.check(set.NArg() > 0)
}

// check returns an error if the flags and the message are invalid or cannot be combined. said reports whether the
// command line has a message.
func (o options) check(said bool) error {
	alone := o.History || o.draw || o.serve != ""
	switch {
	case said && o.Message == "":
		return command.Wrong("the message is empty")
	case o.Thread == "" || o.dir == "":
		return command.Wrong("-thread and -data need a value")
	case o.Drop && (o.Message == "" || o.At != ""):
		return command.Wrong("-drop goes with a message, and without -at")
	case alone && (o.Message != "" || o.At != ""):
		return command.Wrong("-history, -draw and -serve take no message and no -at")
	case len(o.Message) > maxMessage:
		return command.Wrong("the message has %d bytes; it may have %d", len(o.Message), maxMessage)
	}
	return nil
}

// maxMessage is the maximum size of a message, in bytes.
const maxMessage = 16 << 10

// run executes the program and returns its exit status. SIGTERM cancels ctx.
func run(ctx context.Context, args []string, in io.Reader, out, errs io.Writer) int {
	o, err := parse(args, out)
	if err == nil {
		err = o.do(ctx, in, out)
	}
	switch m, ok := errors.AsType[*command.Mistake](err); {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return 0
	case ok:
		fmt.Fprintln(errs, "calendar:", m)
		return 2
	case errors.Is(err, checkpoint.ErrConflict):
		fmt.Fprintf(errs, "calendar: the conversation %q is in use by another run; wait for it, or begin another one with -thread\n", o.Thread)
		return 2
	case ctx.Err() != nil, errors.Is(err, context.Canceled):
		fmt.Fprintln(errs, "calendar: stopped; run it without a message to go on")
		return 130
	}
	fmt.Fprintln(errs, "calendar:", err)
	return 1
}

// model opens the model that the environment names, or the offline model if it names none. The offline model needs no
// key and no network.
func (o options) model(ctx context.Context) (llm.Model, string, error) {
	byRules := offline.New(o.pace)
	if o.offline || o.History || o.draw {
		return byRules, models.Offline, nil
	}
	model, name, err := models.Open(ctx, os.Getenv, byRules)
	if err != nil {
		err = command.Wrong("%v; or use the offline model with -offline", err)
	}
	return model, name, err
}
