package mcptools

import (
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"time"
)

// Options configures a [Client]. The zero value is valid.
type Options struct {
	// Name is the name of the server in errors, in the log, and as the category of its
	// tools. Empty means the name of the program or the host, or "server" for a [Dial].
	Name string
	// Prefix is put before the names of the tools, followed by two underscores: with
	// "files", the tool read is named files__read. It distinguishes the tools of two
	// servers. It has 1 to 24 letters, digits, dashes and single underscores, and neither
	// begins nor ends with an underscore. Empty means no prefix.
	Prefix string
	// Only has the names of the tools to accept, as the server lists them. Nil means all.
	Only []string
	// TrustHints makes the client use the server's annotations of its tools. Set it for
	// servers that are as trusted as the program. Otherwise all tools are annotated as
	// destructive and open-world.
	TrustHints bool
	// ConnectTimeout limits the time until the server has started and has listed its tools.
	// Zero means 30 seconds.
	ConnectTimeout time.Duration
	// MaxAge is the maximum age of the list of tools, for servers that do not announce
	// changes. Zero means 5 minutes. A negative duration means no limit.
	MaxAge time.Duration
	// Logger logs lost connections, failed renewals of the list, and tools that were not
	// accepted. Nil means no log.
	Logger *slog.Logger
}

const (
	// maxDescription is the maximum length of a description, in characters, that all
	// providers accept.
	maxDescription = 1024
	// maxSchema is the maximum size of the schema of a tool, in bytes.
	maxSchema = 64 << 10
	// maxTools is the maximum number of tools of a server, and maxPages the maximum number
	// of pages of its list, because a server may send an endless list.
	maxTools, maxPages = 1000, 200
	// maxMessage is the maximum length of an error of a server, in bytes, and of a progress
	// message, in characters.
	maxMessage = 4 << 10
	// maxFrame is the maximum size of one message of a server, in bytes.
	maxFrame = 16 << 20
)

var validPrefix = regexp.MustCompile(`^[a-zA-Z0-9-]+(_[a-zA-Z0-9-]+)*$`)

// complete checks the options and sets the defaults. The argument name is the default name.
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
