package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
	"time"
)

// A call is one call of a command: its flags and arguments.
type call struct {
	*streams
	flags  *flag.FlagSet
	about  string // the usage text
	args   []string
	json   bool
	source source
}

// newCall returns a call of the command with this usage text.
func newCall(std *streams, about string) *call {
	c := &call{streams: std, flags: flag.NewFlagSet("weft", flag.ContinueOnError), about: about}
	c.flags.SetOutput(io.Discard)
	return c
}

// ofDatabase adds the flags that name a database.
func (c *call) ofDatabase() *call {
	a := &c.source.address
	c.flags.StringVar(&a.db, "db", "", "the path of a SQLite `FILE`, or the URL of a PostgreSQL database, such as that of a\nSupabase project (default $DATABASE_URL, or else $SUPABASE_DB_URL)")
	c.flags.StringVar(&a.schema, "schema", "", "`NAME` of the schema of a PostgreSQL store (default weft)")
	c.flags.StringVar(&a.tenant, "tenant", "", "`NAME` of the tenant of a PostgreSQL store; the id of the user of a Supabase project")
	c.flags.StringVar(&c.source.keys, "keys", "", "`FILE` with the keys of a store of checkpoint.Encrypted: a line ID BASE64 for each")
	return c
}

// ofServer adds the flags that name a server.
func (c *call) ofServer() *call {
	c.flags.StringVar(&c.source.server, "server", "", "`URL` of a running server (default $WEFT_SERVER)")
	c.flags.StringVar(&c.source.tokenFile, "token-file", "", "`FILE` with the token for the server (default: the token in $WEFT_TOKEN)")
	return c
}

// asJSON adds the flag for JSON output.
func (c *call) asJSON() *call {
	c.flags.BoolVar(&c.json, "json", false, "print JSON")
	return c
}

// parse reads the command line. names describes the arguments: "NAME" is required, "[NAME]" can
// be left out, and "[NAME...]" stands for any number of arguments. Flags may follow arguments.
func (c *call) parse(args []string, names ...string) error {
	for {
		err := c.flags.Parse(args)
		switch {
		case errors.Is(err, flag.ErrHelp):
			c.help()
			return err
		case err != nil:
			return c.unknown(err)
		}
		rest := c.flags.Args()
		if consumed := len(args) - len(rest); consumed > 0 && args[consumed-1] == "--" {
			c.args = append(c.args, rest...)
			break
		}
		if len(rest) == 0 {
			break
		}
		c.args, args = append(c.args, rest[0]), rest[1:]
	}
	if c.flags.Lookup("db") == nil && c.flags.Lookup("server") == nil {
		return c.count(names)
	}
	return errors.Join(c.count(names), c.complete())
}

// unknown returns the error for a flag that the command does not have. For -db and -server, the error names the other one.
func (c *call) unknown(err error) error {
	switch text := err.Error(); {
	case strings.HasSuffix(text, "not defined: -db"):
		return fmt.Errorf("%w: this needs the nodes of the graph, or the process of the run: give -server with the URL of the running server instead of -db", errUsage)
	case strings.HasSuffix(text, "not defined: -server"):
		return fmt.Errorf("%w: this works on the database itself: give -db instead of -server", errUsage)
	}
	return fmt.Errorf("%w: %w", errUsage, err)
}

// count checks the number of arguments.
func (c *call) count(names []string) error {
	for i, name := range names {
		if !strings.HasPrefix(name, "[") && (len(c.args) <= i || c.args[i] == "") {
			return fmt.Errorf("%w: the argument %s is missing", errUsage, name)
		}
	}
	if len(c.args) > len(names) && (len(names) == 0 || !strings.HasSuffix(names[len(names)-1], "...]")) {
		return fmt.Errorf("%w: the argument %q is one too many", errUsage, c.args[len(names)])
	}
	return nil
}

// complete sets the store from the environment if no flag names one. It returns an error if flags conflict or no store is named.
func (c *call) complete() error {
	s := &c.source
	s.getenv = c.getenv
	db, server := c.flags.Lookup("db") != nil, c.flags.Lookup("server") != nil
	given := s.db != "" || s.server != ""
	if s.db != "" && s.server != "" {
		return fmt.Errorf("%w: give -db or -server, and not both", errUsage)
	}
	if server && !given {
		s.server = c.getenv("WEFT_SERVER")
	}
	if db && !given && s.server == "" {
		s.db = cmp.Or(c.getenv("DATABASE_URL"), c.getenv("SUPABASE_DB_URL"))
	}
	if s.server != "" && (s.schema != "" || s.tenant != "" || s.keys != "") {
		return fmt.Errorf("%w: -schema, -tenant and -keys are for -db", errUsage)
	}
	if s.db == "" && s.server == "" {
		return noSource(db, server)
	}
	return nil
}

// noSource returns the error for a call that names no store. The arguments report whether the command has -db and -server.
func noSource(db, server bool) error {
	switch {
	case db && server:
		return fmt.Errorf("%w: no store: give -db with a SQLite file or the URL of a PostgreSQL database, or -server with the URL of a server", errUsage)
	case server:
		return fmt.Errorf("%w: no server: give -server with its URL", errUsage)
	}
	return fmt.Errorf("%w: no store: give -db with the path of a SQLite file or the URL of a PostgreSQL database", errUsage)
}

// help prints the usage text and the flags.
func (c *call) help() {
	_, _ = fmt.Fprint(c.out, c.about+"\nFlags:\n")
	c.flags.SetOutput(c.out)
	c.flags.PrintDefaults()
}

// ago returns how long ago a time was, such as 5m or 3d.
func (c *call) ago(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return short(c.now().Sub(t))
}

// short returns a duration in one unit.
func short(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", max(int(d.Seconds()), 0))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
	return fmt.Sprintf("%dd", int(d.Hours()/24))
}

// A span is a duration that may also be in days, such as 30d.
type span time.Duration

func (s *span) String() string { return time.Duration(*s).String() }

// Set parses the value of a flag.
func (s *span) Set(text string) error {
	days, isDays := strings.CutSuffix(text, "d")
	if isDays {
		text = days + "h"
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return errors.New("it is a duration such as 90s, 12h or 30d")
	}
	if isDays {
		d *= 24
	}
	*s = span(d)
	return nil
}
