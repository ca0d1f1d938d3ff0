package mcptools

import (
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"time"
)

// Options configures a [Client]. Its zero value works.
type Options struct {
	// Name is what the server is called in errors, in the log, and as the
	// category of its tools. Empty means the name of its program or its host.
	Name string
	// Prefix stands before the names of the tools, with two underscores: with
	// "files", read is called files__read. It keeps the tools of two servers
	// apart. It is 1 to 24 letters, digits, dashes and single underscores, the
	// last not being an underscore. Empty means that there is none.
	Prefix string
	// Only are the names, as the server has them, of the tools to take. Nil
	// means all.
	Only []string
	// TrustHints believes what the server says of its own tools: that one is
	// read-only, not destructive, idempotent or of a closed world. Set it for
	// servers that are as trusted as the program.
	TrustHints bool
	// ConnectTimeout is how long it may take until the server has started and
	// told its tools. Zero means 30 seconds.
	ConnectTimeout time.Duration
	// MaxAge is how old the list of tools may be, for servers that do not tell
	// when it changes. Zero means 5 minutes; a negative duration means no limit.
	MaxAge time.Duration
	// Logger is told of connections that are lost and lists that can not be
	// renewed. Nil means nobody is.
	Logger *slog.Logger
}

const (
	// maxDescription is the longest description, in characters, that every
	// provider takes.
	maxDescription = 1024
	// maxSchema is how many bytes the schema of one tool may have.
	maxSchema = 64 << 10
	// maxTools is how many tools a server may have, and maxPages in how many
	// pages it may list them: a list that has no end is not read for ever.
	maxTools, maxPages = 1000, 200
	// maxMessage is how long, in bytes, an error or a progress message of a
	// server may be.
	maxMessage = 4 << 10
	// maxFrame is how long one message of a server may be on its way here.
	maxFrame = 16 << 20
)

var validPrefix = regexp.MustCompile(`^[a-zA-Z0-9-]+(_[a-zA-Z0-9-]+)*$`)

// complete checks the options and fills in what is not set.
func (o Options) complete(name string) (Options, error) {
	var mistakes []error
	if o.Prefix != "" && (!validPrefix.MatchString(o.Prefix) || len(o.Prefix) > 24) {
		mistakes = append(mistakes, fmt.Errorf("mcptools: prefix %q: want 1 to 24 letters, digits, dashes and single underscores", o.Prefix))
	}
	if o.ConnectTimeout < 0 {
		mistakes = append(mistakes, errors.New("mcptools: ConnectTimeout is negative"))
	}
	o.Name = or(strings.TrimSpace(o.Name), name)
	o.ConnectTimeout = or(o.ConnectTimeout, 30*time.Second)
	o.MaxAge = or(o.MaxAge, 5*time.Minute)
	o.Logger = or(o.Logger, slog.New(slog.DiscardHandler))
	return o, errors.Join(mistakes...)
}

func or[T comparable](value, otherwise T) T {
	var zero T
	if value == zero {
		return otherwise
	}
	return value
}
