// Command weft manages threads and the servers that run them.
//
//	weft threads list -db FILE
//	weft runs list -server URL
//	weft doctor -db "$DATABASE_URL"
//	weft studio -db FILE
//
// weft help COMMAND describes a command. docs/operating.md describes the tasks of an operator.
//
// The exit status is 0 if the command has succeeded, 1 if it has failed or weft doctor has found a
// fault, and 2 if its arguments are wrong. A command with wrong arguments changes nothing.
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

	"github.com/weft-go/weft/checkpoint/pgcheckpoint"
	"github.com/weft-go/weft/server/runs/pgruns"
)

const (
	exitDone = iota
	exitFailed
	exitUsage
)

// A command is a subcommand, or a group of subcommands. The function run returns an error that wraps [errUsage] if the
// arguments are wrong.
type command struct {
	name, about string
	run         func(ctx context.Context, args []string, std *streams) error
	sub         []command
}

// streams has the environment, the standard streams and the clock of a command.
type streams struct {
	getenv   func(string) string
	in       io.Reader
	out, err io.Writer
	now      func() time.Time
}

var commands = []command{
	{"threads", "list, read, answer and copy threads", nil, threadCommands},
	{"runs", "list, follow and cancel the runs of a server", nil, runCommands},
	{"queue", "count the runs that wait", runQueue, nil},
	{"doctor", "look for faults of a store", runDoctor, nil},

	{"studio", "open the studio over a store", runStudio, nil},
	{"version", "print the version of this command and of its stores", runVersion, nil},
}

// errUsage is wrapped by errors about wrong arguments.
var errUsage = errors.New("usage")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], &streams{os.Getenv, os.Stdin, os.Stdout, os.Stderr, time.Now})
	stop()
	os.Exit(code)
}

func run(ctx context.Context, args []string, std *streams) int {
	if len(args) > 0 && args[0] == "help" {
		args = append(args[1:], "-h")
	}
	return dispatch(ctx, "weft", commands, args, std)
}

// dispatch calls the command that the first argument names.
func dispatch(ctx context.Context, path string, list []command, args []string, std *streams) int {
	if len(args) > 0 && (args[0] == "-h" || args[0] == "-help" || args[0] == "--help") {
		usage(std.out, path, list)
		return exitDone
	}
	if len(args) == 0 {
		usage(std.err, path, list)
		return exitUsage
	}
	for _, c := range list {
		switch {
		case c.name != args[0]:
		case c.sub != nil:
			return dispatch(ctx, path+" "+c.name, c.sub, args[1:], std)
		default:
			return exitOf(path+" "+c.name, c.run(ctx, args[1:], std), std)
		}
	}
	say(std.err, "%s: there is no command %q", path, args[0])
	usage(std.err, path, list)
	return exitUsage
}

// exitOf prints an error and returns the exit status.
func exitOf(path string, err error, std *streams) int {
	switch {
	case err == nil || errors.Is(err, flag.ErrHelp):
		return exitDone
	case errors.Is(err, errFaults): // the command has printed the faults
		return exitFailed
	}
	text := err.Error()
	if errors.Is(err, errUsage) {
		text = strings.TrimPrefix(text, errUsage.Error()+": ")
	}
	say(std.err, "%s: %s", path, text)
	if errors.Is(err, errUsage) {
		say(std.err, "%s -h prints the flags.", path)
		return exitUsage
	}
	if errors.Is(err, pgcheckpoint.ErrNotMigrated) || errors.Is(err, pgruns.ErrNotMigrated) {
		say(std.err, "weft threads migrate makes the tables: give it -db and -schema as here, and -runs and -queue for a server.")
	}
	return exitFailed
}

func usage(w io.Writer, path string, list []command) {
	say(w, "usage: %s COMMAND [flags]\n\nCommands:", path)
	for _, c := range list {
		say(w, "  %-10s %s", c.name, c.about)
	}
	say(w, "\n%s COMMAND -h prints what a command does, and its flags.", path)
	if path == "weft" {
		say(w, "The exit status is 0 if the command has done its work, 1 if it has failed or weft doctor has found a\n"+
			"fault, and 2 if its arguments are wrong.")
	}
}

// say writes a line. It ignores an error, because there is nothing left to report the error to.
func say(w io.Writer, format string, args ...any) { _, _ = fmt.Fprintf(w, format+"\n", args...) }
