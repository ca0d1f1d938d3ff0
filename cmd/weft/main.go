// Command weft works with stores of threads.
//
//	weft studio -db FILE [flags]
//
// weft help COMMAND prints the flags of a command.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

const (
	exitDone = iota
	exitFailed
	exitUsage
)

// A command is a subcommand. Its function returns an error of [errUsage] for wrong arguments.
type command struct {
	name, about string
	run         func(ctx context.Context, args []string, std *streams) error
}

// streams are what a command reads and writes.
type streams struct {
	getenv   func(string) string
	out, err io.Writer
}

var commands = []command{
	{"studio", "open the studio over a store", runStudio},
}

// errUsage wraps the errors of arguments.
var errUsage = errors.New("usage")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], &streams{os.Getenv, os.Stdout, os.Stderr})
	stop()
	os.Exit(code)
}

func run(ctx context.Context, args []string, std *streams) int {
	if len(args) > 1 && args[0] == "help" {
		args = []string{args[1], "-h"}
	}
	if len(args) == 0 || args[0] == "help" || args[0] == "-h" || args[0] == "--help" {
		usage(std.err)
		return exitUsage
	}
	for _, c := range commands {
		if c.name != args[0] {
			continue
		}
		err := c.run(ctx, args[1:], std)
		switch {
		case err == nil:
			return exitDone
		case errors.Is(err, flag.ErrHelp): // the flag set has printed its message
			return exitUsage
		}
		say(std.err, "weft %s: %v", c.name, err)
		if errors.Is(err, errUsage) {
			return exitUsage
		}
		return exitFailed
	}
	say(std.err, "weft: there is no command %q", args[0])
	usage(std.err)
	return exitUsage
}

func usage(w io.Writer) {
	say(w, "usage: weft COMMAND [flags]\n\nCommands:")
	for _, c := range commands {
		say(w, "  %-10s %s", c.name, c.about)
	}
	say(w, "\nweft help COMMAND prints the flags of a command.")
}

// say writes a line. There is nobody to report an error to if that fails.
func say(w io.Writer, format string, args ...any) { _, _ = fmt.Fprintf(w, format+"\n", args...) }
