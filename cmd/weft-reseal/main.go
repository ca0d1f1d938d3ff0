// Command weft-reseal encrypts the checkpoints of a store again, with the active key
// and in the newest form, so that the other keys can be thrown away.
//
//	weft-reseal [flags] STORE
//
// STORE is the path of a SQLite database or the URL of a PostgreSQL database. Without STORE,
// the command uses the environment variable DATABASE_URL, which keeps a password out of the
// list of processes. The database must exist.
//
//	-key ID=file:PATH | ID=env:NAME
//	             a key of the store; repeat it for each. A key is 32 bytes, or its
//	             64 hexadecimal digits, or its base64 form.
//	-active ID   the key to encrypt with; the first -key unless given
//	-prefix TEXT only threads whose id begins with TEXT
//	-dry-run     change nothing; report the threads that would be encrypted again, and
//	             check that each of them can be decrypted
//	-schema NAME the schema of the PostgreSQL store; "weft" unless given
//	-tenant NAME the tenant of the PostgreSQL store
//
// Stop the runs that use the store first. Threads that a run holds are skipped. If the
// command is interrupted, run it again: no data is lost, but one thread may be missing
// until the next run. The command writes its progress to standard error.
//
// The exit code is 0 when every thread has the active key and the newest form, 1 when a thread
// could not be encrypted again or the store could not be used, 2 for wrong usage, and 3
// when threads were skipped only because runs held or changed them. With -dry-run it
// is 0 when every thread can be decrypted.
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

	"github.com/weft-go/weft/checkpoint"
)

const (
	exitDone = iota
	exitFailed
	exitUsage
	exitBusy
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Getenv, os.Stderr)
	stop()
	os.Exit(code)
}

// A command is the parsed command line.
type command struct {
	address string
	schema  string
	tenant  string
	keys    checkpoint.KeyRing
	options checkpoint.ResealOptions
}

func run(ctx context.Context, args []string, getenv func(string) string, stderr io.Writer) int {
	c, err := parse(args, getenv, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return exitUsage
	}
	if err != nil {
		say(stderr, "%v", err)
		return exitUsage
	}
	result, err := c.reseal(ctx, stderr)
	summary := "encrypted again"
	if c.options.DryRun {
		summary = "to be encrypted again"
	}
	say(stderr, "%d threads, %d %s, %d busy, %d failed", result.Threads, result.Resealed, summary, result.Busy, result.Failed)
	if err == nil {
		return exitDone
	}
	say(stderr, "%v", err)
	if result.Busy > 0 && result.Failed == 0 && errors.Is(err, checkpoint.ErrConflict) {
		return exitBusy
	}
	return exitFailed
}

// say writes a line. It ignores an error, because there is nothing left to report the error to.
func say(w io.Writer, format string, args ...any) {
	_, _ = fmt.Fprintf(w, "weft-reseal: "+format+"\n", args...)
}

func parse(args []string, getenv func(string) string, stderr io.Writer) (*command, error) {
	c := &command{keys: checkpoint.KeyRing{Keys: map[string][]byte{}}}
	flags := flag.NewFlagSet("weft-reseal", flag.ContinueOnError)
	flags.SetOutput(stderr)
	// Read the keys after parsing: if the function of a flag returns an error, the flag
	// package prints the value, which may be a key.
	var keys []string
	flags.Func("key", "`ID=file:PATH` or ID=env:NAME of a key; repeat it for each key", func(text string) error {
		keys = append(keys, text)
		return nil
	})
	flags.StringVar(&c.keys.Active, "active", "", "`ID` of the key to encrypt with (default the first -key)")
	flags.StringVar(&c.options.Prefix, "prefix", "", "only threads whose id begins with `TEXT`")
	flags.BoolVar(&c.options.DryRun, "dry-run", false, "change nothing, and report what would be done")
	flags.StringVar(&c.schema, "schema", "", "`NAME` of the schema of a PostgreSQL store (default weft)")
	flags.StringVar(&c.tenant, "tenant", "", "`NAME` of the tenant of a PostgreSQL store")
	flags.Usage = func() {
		_, _ = fmt.Fprintln(stderr, "usage: weft-reseal [flags] STORE\n\nSTORE is the path of a SQLite database or the URL of a PostgreSQL database (default $DATABASE_URL).")
		flags.PrintDefaults()
	}
	if err := flags.Parse(args); err != nil {
		return nil, flag.ErrHelp // the flag set has printed the error
	}
	c.address = flags.Arg(0)
	if c.address == "" {
		c.address = getenv("DATABASE_URL")
	}
	switch {
	case flags.NArg() > 1:
		return nil, fmt.Errorf("got %d stores; give one, after the flags", flags.NArg())
	case c.address == "":
		return nil, errors.New("no store; give the path of a SQLite database or the URL of a PostgreSQL database")
	}
	return c, c.readKeys(keys, getenv)
}

func (c *command) readKeys(texts []string, getenv func(string) string) error {
	for _, text := range texts {
		id, key, err := readKey(text, getenv)
		if err != nil {
			return err
		}
		if c.keys.Keys[id] != nil {
			return fmt.Errorf("key %q is given twice", id)
		}
		c.keys.Keys[id] = key
		if c.keys.Active == "" {
			c.keys.Active = id
		}
	}
	if len(texts) == 0 {
		return errors.New("no key; give at least one -key ID=file:PATH or -key ID=env:NAME")
	}
	if c.keys.Keys[c.keys.Active] == nil {
		return fmt.Errorf("the active key %q is not among the keys; add -key %s=…", c.keys.Active, c.keys.Active)
	}
	return nil
}

func (c *command) reseal(ctx context.Context, stderr io.Writer) (checkpoint.ResealResult, error) {
	inner, closeStore, err := c.open(ctx)
	if err != nil {
		return checkpoint.ResealResult{}, err
	}
	store, err := checkpoint.Encrypted(inner, c.keys)
	if err != nil {
		return checkpoint.ResealResult{}, errors.Join(err, closeStore())
	}
	c.options.Progress = func(p checkpoint.ResealProgress) {
		switch {
		case p.Err != nil:
			say(stderr, "%d/%d thread %q remains as it was: %v", p.Done, p.Total, p.Thread, p.Err)
		case !p.Resealed:
		case c.options.DryRun:
			say(stderr, "%d/%d thread %q, %d checkpoints, would be encrypted again", p.Done, p.Total, p.Thread, p.Checkpoints)
		default:
			say(stderr, "%d/%d thread %q, %d checkpoints, encrypted again", p.Done, p.Total, p.Thread, p.Checkpoints)
		}
	}
	result, err := store.Reseal(ctx, c.options)
	return result, errors.Join(err, closeStore())
}
