// Command knowledge stores a folder of documents and searches them. It shows the best
// passages, their places and their scores.
//
//	go run ./examples/knowledge ingest docs
//	go run ./examples/knowledge ask "how do I resume a run?"
//
// It needs no key and no server. Read ingest.go and ask.go for the use of package
// knowledge, and store.go for the variables of the environment.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/knowledge"
)

const usage = `Stores documents and searches them.

  go run ./examples/knowledge [flags] ingest FOLDER   store new and changed documents
  go run ./examples/knowledge [flags] ask "QUESTION"  show the best passages and their scores
  go run ./examples/knowledge [flags] list            list the documents
  go run ./examples/knowledge [flags] remove PREFIX   remove the documents with this prefix

  -db PATH      the database file (default knowledge.db); DATABASE_URL overrides it
  -tenant NAME  the owner of the documents (default "default")
  -limit N      the number of passages that ask shows (default 3)
  -prune        ingest removes documents that are no longer in the folder
  -prune-all    like -prune, also if the folder has no documents

The name of a document is its absolute path. Ingest reads text, Markdown, HTML and JSON files.
It lists other files and links, and ignores names that begin with a dot. Run ingest again to
resume it after a stop.
With EMBEDDING_MODEL and a key, such as OPENAI_API_KEY, ask also finds passages by meaning.
EMBEDDING_DIM sets the length of vectors. Ingest again after a change of either.
Exit status: 0 done, 1 failure, 2 bad input, 130 stopped by Ctrl-C.
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	context.AfterFunc(ctx, stop)
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// A command is a parsed command line.
type command struct {
	name, argument string
	db, tenant     string
	limit          int
	prune          bool
	pruneAll       bool
	out, trouble   io.Writer
}

var errUsage = errors.New("bad usage")

func run(ctx context.Context, args []string, out, trouble io.Writer) int {
	c := command{out: out, trouble: trouble}
	err := c.parse(args)
	if err == nil {
		err = c.do(ctx)
	}
	switch {
	case err == nil:
		return 0
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprint(out, usage)
		return 0
	case ctx.Err() != nil, errors.Is(err, context.Canceled):
		fmt.Fprintln(trouble, "knowledge: stopped; run the command again to resume it")
		return 130
	}
	fmt.Fprintln(trouble, "knowledge:", quoted(err.Error()))
	if errors.Is(err, errUsage) {
		fmt.Fprintln(trouble, "try: go run ./examples/knowledge -help")
		return 2
	}
	return 1
}

var commands = []string{"ingest", "ask", "list", "remove"}

func (c *command) parse(args []string) error {
	set := flag.NewFlagSet("knowledge", flag.ContinueOnError)
	set.SetOutput(io.Discard)
	set.StringVar(&c.db, "db", "knowledge.db", "")
	set.StringVar(&c.tenant, "tenant", "default", "")
	set.IntVar(&c.limit, "limit", 3, "")
	set.BoolVar(&c.prune, "prune", false, "")
	set.BoolVar(&c.pruneAll, "prune-all", false, "")
	if err := set.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return err
		}
		return fmt.Errorf("%w: %w", errUsage, err)
	}
	c.name, c.argument = set.Arg(0), strings.TrimSpace(strings.Join(set.Args()[min(1, set.NArg()):], " "))
	switch {
	case c.name == "":
		return fmt.Errorf("%w: no command; use %s", errUsage, strings.Join(commands, ", "))
	case !slices.Contains(commands, c.name):
		return fmt.Errorf("%w: %.40q is not a command; use %s", errUsage, c.name, strings.Join(commands, ", "))
	case c.name != "ask" && slices.ContainsFunc(set.Args()[1:], func(a string) bool { return strings.HasPrefix(a, "-") }):
		return fmt.Errorf("%w: flags must come before %s", errUsage, c.name)
	case c.name != "list" && c.argument == "":
		return fmt.Errorf("%w: %s needs an argument", errUsage, c.name)
	case c.limit < 1 || c.limit > 100:
		return fmt.Errorf("%w: the limit is %d; use 1 to 100", errUsage, c.limit)
	}
	return nil
}

func (c *command) do(ctx context.Context) error {
	do := map[string]func(context.Context, *knowledge.Base) error{
		"ingest": c.ingest, "ask": c.ask, "list": c.list, "remove": c.remove,
	}[c.name]
	if c.name == "ingest" { // do not create a database if the folder is missing
		if info, err := os.Stat(c.argument); err != nil || !info.IsDir() {
			return fmt.Errorf("%w: %s is not a folder", errUsage, c.argument)
		}
	} else if err := known(c.db); err != nil {
		return err
	}
	store, closeStore, err := openStore(ctx, c.db)
	if err != nil {
		return err
	}
	defer closeStore()
	base, err := openBase(ctx, store)
	if err != nil {
		return err
	}
	return do(ctx, base)
}

func (c *command) scope() memory.Scope { return memory.Scope{Tenant: c.tenant} }

func (c *command) list(ctx context.Context, base *knowledge.Base) error {
	n := 0
	for s, err := range base.Sources(ctx, knowledge.Query{Reach: c.scope().Only()}) {
		if err != nil {
			return err
		}
		n++
		fmt.Fprintf(c.out, "%s  %s  %d chunks, %d bytes, %s\n", quoted(s.URI), quoted(s.Title), s.Chunks, s.Size, s.UpdatedAt.Format("2006-01-02 15:04"))
	}
	fmt.Fprintf(c.out, "%d documents\n", n)
	return nil
}

// quoted escapes the characters of a text that are not printable, such as a newline in the
// name of a file, so that a name cannot change a terminal.
func quoted(text string) string {
	var b strings.Builder
	for _, r := range text {
		if strconv.IsPrint(r) {
			b.WriteRune(r)
		} else {
			spelled := strconv.QuoteRune(r)
			b.WriteString(spelled[1 : len(spelled)-1])
		}
	}
	return b.String()
}

func (c *command) remove(ctx context.Context, base *knowledge.Base) error {
	n, err := base.Delete(ctx, knowledge.Query{Reach: c.scope().Only(), Prefix: c.argument})
	if err != nil {
		return err
	}
	if n == 0 {
		fmt.Fprintf(c.out, "no document's name begins with %s; list shows them\n", quoted(c.argument))
		return nil
	}
	fmt.Fprintf(c.out, "%d documents removed\n", n)
	return nil
}
